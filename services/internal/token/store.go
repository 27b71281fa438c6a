package token

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"go.uber.org/zap"

	"github.com/tsumugi-dev/tsumugi/services/internal/obs"
)

// again is how long a file that could not be read, or was written a moment ago, stays as it was seen: its next change may
// have the time of the one before.
const again = time.Second

// Store is a file of tokens that is followed: each look-up asks the system whether the file is another one (BenchmarkVerify),
// so that what was revoked is refused from the next call on. Its methods may be called at once.
type Store struct {
	path string
	log  *zap.Logger
	now  func() time.Time

	reading sync.Mutex
	seen    atomic.Pointer[seen]
}

// seen is the file as it was read last.
type seen struct {
	tokens set
	text   []byte
	// info is of that file; nil where there was none.
	info os.FileInfo
	at   time.Time
	// broken is why the file as it is now cannot be used; tokens are those of before.
	broken error
}

// Open reads a file of tokens. What is wrong in it is a *yamlx.Error.
func Open(path string, log *zap.Logger) (*Store, error) {
	s := &Store{path: path, log: log, now: time.Now}
	text, info, err := readFile(path)
	if err != nil {
		return nil, fmt.Errorf("the file of tokens %s: %w", path, cause(err))
	}
	all, err := Parse(text)
	if err != nil {
		return nil, err
	}
	s.publish(&seen{tokens: byID(all), text: text, info: info, at: s.now()})
	return s, nil
}

func byID(all []Token) set {
	tokens := make(set, len(all))
	for i := range all {
		tokens[all[i].ID] = &all[i]
	}
	return tokens
}

// Verify finds the token that somebody shows. The error is ErrForm, ErrUnknown or ErrExpired.
func (s *Store) Verify(shown string) (Token, error) {
	id, secret, err := split(shown)
	if err != nil {
		return Token{}, err
	}
	t, ok := s.look().tokens.match(id, secret)
	switch {
	case !ok:
		return Token{}, ErrUnknown
	case t.expired(s.now()):
		return Token{}, fmt.Errorf("%w since %s", ErrExpired, t.Expires.UTC().Format(time.RFC3339))
	}
	return *t, nil
}

// Still says whether a token that was verified holds yet: it may have been revoked or changed, or its time be over.
func (s *Store) Still(t Token) bool {
	now, known := s.look().tokens[t.ID]
	return known && bytes.Equal(now.hash, t.hash) && now.equal(t) && !now.expired(s.now())
}

// equal says whether two tokens of one secret let their bearers do the same.
func (t Token) equal(o Token) bool {
	return t.Name == o.Name && t.Namespace == o.Namespace && t.Session == o.Session && join(t.Roles) == join(o.Roles)
}

// look gives the tokens of the file as it is now, or where that is broken those of before.
func (s *Store) look() *seen {
	was := s.seen.Load()
	if info, err := os.Stat(s.path); !s.differs(was, info, err) {
		return was
	}
	s.reading.Lock()
	defer s.reading.Unlock()
	if now := s.seen.Load(); now != was { // somebody else has read it
		return now
	}
	return s.read(was)
}

// differs says whether the file has to be read again.
func (s *Store) differs(was *seen, info os.FileInfo, err error) bool {
	unsure := was.broken != nil || was.at.Sub(was.info.ModTime()) < 2*again
	if unsure && s.now().Sub(was.at) >= again {
		return true
	}
	if err != nil || was.info == nil {
		return (err != nil) != (was.info == nil)
	}
	return !os.SameFile(was.info, info) || was.info.Size() != info.Size() || !was.info.ModTime().Equal(info.ModTime()) || was.info.Mode() != info.Mode()
}

func (s *Store) read(was *seen) *seen {
	text, info, err := readFile(s.path)
	now := &seen{tokens: was.tokens, text: was.text, info: info, at: s.now()}
	if err == nil && (was.broken != nil || !bytes.Equal(text, was.text)) {
		var all []Token
		if all, err = Parse(text); err == nil {
			now.tokens, now.text = byID(all), text
			s.log.Info("the tokens were read again", zap.String("file", s.path), zap.Int("tokens", len(all)))
		}
	}
	if err != nil {
		now.broken = cause(err)
		if was.broken == nil || was.broken.Error() != now.broken.Error() {
			s.log.Error("the file of tokens cannot be used; the tokens of before hold on", zap.String("file", s.path), zap.Error(now.broken))
		}
	}
	s.publish(now)
	return now
}

func (s *Store) publish(now *seen) {
	was := s.seen.Swap(now)
	if now.broken == nil && now.info != nil && readable(now.info) && (was == nil || was.info == nil || !readable(was.info)) {
		s.log.Warn("the file of tokens may be read by others than its owner; chmod 600", zap.String("file", s.path))
	}
}

// Ready tells whether the file is as it should be. It is never fatal: the tokens of before hold on.
func (s *Store) Ready(context.Context) obs.Check {
	now := s.look()
	c := obs.Check{Name: "tokens", OK: true}
	switch {
	case now.broken != nil:
		c.OK, c.Message = false, fmt.Sprintf("the file %s cannot be used, and the tokens of before hold on: %v", s.path, now.broken)
	case readable(now.info):
		c.OK, c.Message = false, fmt.Sprintf("the file %s may be read by others than its owner: chmod 600", s.path)
	case len(now.tokens) == 0:
		c.OK, c.Message = false, fmt.Sprintf("the file %s has no token, so nobody can call; `tsumugi token add` makes one", s.path)
	}
	return c
}

// maxSecretFile bounds a file that holds one token.
const maxSecretFile = 1 << 10

// ReadSecret reads a file that holds one token and nothing else but space around it. The error never holds what is in it.
func ReadSecret(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close() //nolint:errcheck // only read
	text := make([]byte, maxSecretFile)
	n, err := f.Read(text)
	if err != nil && n == 0 {
		return "", fmt.Errorf("%s holds no token: %w", path, cause(err))
	}
	shown := string(bytes.TrimSpace(text[:n]))
	if _, _, err := split(shown); err != nil {
		return "", fmt.Errorf("%s must hold a token and nothing else: %w", path, err)
	}
	return shown, nil
}

// CheckShown says what is wrong with how a token looks; nil: nothing.
func CheckShown(shown string) error {
	_, _, err := split(shown)
	return err
}
