package token

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/tsumugi-dev/tsumugi/services/internal/filesys"
	"github.com/tsumugi-dev/tsumugi/services/internal/obs"
)

// SecretName is the file in a data folder that holds the one token of a server without a file of tokens.
const SecretName = "approver.token"

// Secret is a token that a server makes for whoever may read its data folder: a file of its own that holds nothing but what is to be
// shown, mode 0600. It is read once, at the start.
type Secret struct {
	path   string
	tokens set
	// broken is why there is none.
	broken error
}

// OpenSecret reads the secret of a data folder, for the bearer that t describes, and makes it where there is none: 256 random bits, durably. made says
// that it did. With an error, too, there is a Secret, one that nobody has.
func OpenSecret(folder string, t Token) (s *Secret, made bool, err error) {
	s = &Secret{path: filepath.Join(folder, SecretName)}
	defer func() { s.broken = err }()
	if s.path, err = filepath.Abs(s.path); err != nil {
		return s, false, err
	}
	info, err := os.Stat(s.path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if made, err = makeSecret(s.path); err != nil {
			return s, false, err
		}
	case err != nil:
		return s, false, err
	case !info.Mode().IsRegular(): // opening a pipe would wait for its writer
		return s, false, fmt.Errorf("%s is not a file", s.path)
	}
	shown, err := ReadSecret(s.path)
	if err != nil {
		return s, false, err
	}
	id, secret, err := split(shown)
	if err != nil {
		return s, false, err
	}
	Mint(&t) // for the salt
	t.ID, t.hash = id, digest(t.salt, secret)
	s.tokens = set{id: &t}
	return s, made, nil
}

// makeSecret writes a new secret. Of two processes that do so at once one does; both then read the same.
func makeSecret(path string) (made bool, err error) {
	dir, err := filesys.Open(filepath.Dir(path))
	if err != nil {
		return false, err
	}
	defer dir.Close() //nolint:errcheck // what it wrote is synced
	var t Token
	shown := Mint(&t)
	return filesys.First(dir, SecretName, "."+SecretName+"."+t.ID, []byte(shown+"\n"))
}

// Path is where the secret stands.
func (s *Secret) Path() string { return s.path }

// Verify finds out whether somebody shows the secret. The error is ErrForm or ErrUnknown.
func (s *Secret) Verify(shown string) (Token, error) {
	id, secret, err := split(shown)
	if err == nil {
		t, ok := s.tokens.match(id, secret)
		if ok {
			return *t, nil
		}
		err = ErrUnknown
	}
	return Token{}, fmt.Errorf("%w. This server has no file of tokens: it knows the one in %s of its data folder, and answers calls without a token", err, SecretName)
}

// Still says whether the secret holds yet: as long as the process runs.
func (s *Secret) Still(Token) bool { return s.broken == nil }

// Ready tells whether the secret is as it should be. It is never fatal: without it nobody can decide.
func (s *Secret) Ready(context.Context) obs.Check {
	c := obs.Check{Name: "approver_secret", OK: true}
	switch info, err := os.Stat(s.path); {
	case s.broken != nil:
		c.OK, c.Message = false, fmt.Sprintf("there is no approver secret, so nobody can decide what an agent may do: %v", s.broken)
	case err == nil && (readable(info) || writable(info)):
		c.OK, c.Message = false, fmt.Sprintf("the approver secret %s may be read or written by others than its owner: chmod 600", s.path)
	}
	return c
}
