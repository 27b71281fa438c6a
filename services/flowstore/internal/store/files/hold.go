package files

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/gofrs/flock"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store/files/commitlog"
)

// Hold is a data folder that no store has open, and none opens meanwhile: what tools for the text files take before they
// write.
type Hold struct {
	data  string
	owner *flock.Flock
}

// Take takes a data folder that is there. *LockedError when a process owns it; an error where nobody can.
func Take(data string, now time.Time) (*Hold, error) {
	data, err := filepath.Abs(data)
	if err != nil {
		return nil, err
	}
	if _, err := os.Stat(data); err != nil {
		return nil, err
	}
	owner, err := own(data, now)
	if err != nil {
		return nil, err
	}
	return &Hold{data, owner}, nil
}

// Pending says how many acknowledged changes of a namespace local.db has that the text files have not: after a process was
// killed, until the store is opened again. Whoever changes their files before parts them from the files that they were made
// for.
func (h *Hold) Pending(ns string) (n int, err error) {
	if err := store.CheckNamespace(ns); err != nil {
		return 0, err
	}
	file := filepath.Join(h.data, ns, localFolder, localName)
	if _, err := os.Stat(file); errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	log, err := commitlog.Open(file)
	if err != nil {
		return 0, fmt.Errorf("namespace %s: %w", ns, err)
	}
	records, err := log.Records()
	return len(records), errors.Join(err, log.Close())
}

// Release lets the folder go.
func (h *Hold) Release() error { return h.owner.Unlock() }
