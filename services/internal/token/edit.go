package token

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/gofrs/flock"

	"github.com/tsumugi-dev/tsumugi/services/internal/filesys"
	"github.com/tsumugi-dev/tsumugi/services/internal/yamlx"
)

// lockPatience is how long Add and Revoke wait for another one that writes the same file.
const lockPatience = 10 * time.Second

// Add makes a token with a new id and secret, adds it to the file, which need not be there yet, and returns what its bearer
// shows. Of t it takes all but id, salt and hash. The error names everything that is wrong with t.
func Add(path string, t Token) (Token, string, error) {
	var wrong yamlx.Error
	add := func(key, format string, args ...any) {
		wrong.Problems = append(wrong.Problems, yamlx.Problem{Path: key, Message: fmt.Sprintf(format, args...)})
	}
	t.ID = "none"
	t.check(add)
	if t.expired(t.Created) {
		add("expires", "must be later than now")
	}
	if len(wrong.Problems) > 0 {
		return Token{}, "", &wrong
	}
	var shown string
	err := edit(path, true, func(all []Token) ([]Token, error) {
		if len(all) == MaxTokens {
			return nil, fmt.Errorf("%s holds %d tokens, which is the limit; revoke some first", path, MaxTokens)
		}
		shown = Mint(&t)
		return append(all, t), nil
	})
	return t, shown, err
}

// Revoke takes the token with an id out of the file, and returns it. A service that follows the file refuses it from its
// next call on.
func Revoke(path, id string) (Token, error) {
	var gone Token
	err := edit(path, false, func(all []Token) ([]Token, error) {
		kept := all[:0]
		for _, t := range all {
			if t.ID == id {
				gone = t
				continue
			}
			kept = append(kept, t)
		}
		if gone.ID == "" {
			return nil, fmt.Errorf("%s has no token with this id; `tsumugi token list` shows all ids", path)
		}
		return kept, nil
	})
	return gone, err
}

// edit changes a file in one step, and durably; fresh says that it need not be there. Two at once wait for each other, or one would undo what the other did.
func edit(path string, fresh bool, change func([]Token) ([]Token, error)) error {
	path, err := behind(path)
	if err != nil {
		return err
	}
	dir, err := filesys.Open(filepath.Dir(path))
	if err != nil {
		return err
	}
	defer dir.Close() //nolint:errcheck // nothing is written through it
	lock := flock.New(filepath.Join(filepath.Dir(path), "."+filepath.Base(path)+".lock"), flock.SetPermissions(0o600))
	ctx, cancel := context.WithTimeout(context.Background(), lockPatience)
	defer cancel()
	if _, err := lock.TryLockContext(ctx, 20*time.Millisecond); err != nil {
		return fmt.Errorf("another program is writing %s: %w", path, err)
	}
	defer lock.Unlock() //nolint:errcheck // it ends with the program
	before, err := os.Stat(path)
	var all []Token
	switch {
	case err == nil:
		if all, err = Read(path); err != nil {
			return fmt.Errorf("the file of tokens %s is left as it is: %w", path, err)
		}
	case !fresh || !errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("the file of tokens: %w", err)
	}
	if all, err = change(all); err != nil {
		return err
	}
	return write(dir, path, before, all)
}

// behind is the path behind symbolic links: the name would else be replaced, and the file behind it stay.
func behind(path string) (string, error) {
	file, err := filepath.EvalSymlinks(path)
	if errors.Is(err, fs.ErrNotExist) {
		return filepath.Abs(path)
	}
	if err != nil {
		return "", fmt.Errorf("the file of tokens: %w", err)
	}
	return filepath.Abs(file)
}

func write(dir *filesys.Dir, path string, before os.FileInfo, all []Token) error {
	text, err := format(all)
	if err != nil {
		return err
	}
	if err := filesys.Replace(dir, filepath.Base(path), text); err != nil {
		return err
	}
	if before != nil {
		if err := keepOwner(path, before); err != nil {
			return fmt.Errorf("%s is written, but the service may not be able to read it: %w", path, err)
		}
	}
	return dir.SyncDir(".")
}
