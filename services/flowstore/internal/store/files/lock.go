package files

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/tsumugi-dev/tsumugi/services/internal/durable"

	"github.com/gofrs/flock"
)

// LockedError says that another process owns the data. The lock is the operating system's: it goes with its owner.
type LockedError struct {
	// Data is the folder, Owner what the owner wrote about itself: its process, host and start.
	Data, Owner string
}

func (e *LockedError) Error() string {
	return fmt.Sprintf("the data folder %s is in use by %s; stop it first", e.Data, e.Owner)
}

// own takes the data for this process and writes down who it is. Where there is no file to lock and none can be made
// (durable.CannotWrite), the data are nobody's: whoever goes on all the same only reads, also when they can be written later, since
// another process may own them by then.
func own(data string, now time.Time) (*flock.Flock, error) {
	path := filepath.Join(data, localFolder, "lock")
	lock := flock.New(path, flock.SetPermissions(0o600))
	held := false
	err := os.MkdirAll(filepath.Dir(path), 0o700)
	if err == nil {
		held, err = lock.TryLock()
	}
	if err != nil {
		return lock, fmt.Errorf("lock %s: %w", path, err)
	}
	if !held {
		return lock, &LockedError{Data: data, Owner: ownerIn(path)}
	}
	host, err := os.Hostname()
	if err != nil {
		host = "an unknown host"
	}
	about := fmt.Sprintf("process %d on %s since %s\n", os.Getpid(), host, now.Format(time.RFC3339))
	if err := os.WriteFile(path, []byte(about), 0o600); err != nil && !durable.CannotWrite(err) {
		return lock, fmt.Errorf("write %s: %w", path, err)
	}
	return lock, nil
}

func ownerIn(path string) string {
	if f, err := os.OpenFile(path, os.O_WRONLY, 0); durable.CannotWrite(err) {
		return "another process, which could not write here which one it is" // What stands there is of an earlier one.
	} else if err == nil {
		_ = f.Close()
	}
	about, err := os.ReadFile(path)
	if text := strings.TrimSpace(string(about)); err == nil && text != "" {
		return text
	}
	return "another process"
}
