package durable

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// CannotWrite says that an error of Open, or of the first transaction, is of a place that nobody can write to, and not of what stands
// there. SQLite tells a full disk in several ways (https://sqlite.org/rescode.html): its shared memory is a file that has to have room, too.
func CannotWrite(err error) bool {
	for _, cause := range []error{syscall.EROFS, syscall.ENOSPC, fs.ErrPermission} {
		if errors.Is(err, cause) {
			return true
		}
	}
	var e *sqlite.Error
	if !errors.As(err, &e) {
		return false
	}
	switch e.Code() {
	case sqlite3.SQLITE_IOERR_WRITE, sqlite3.SQLITE_IOERR_SHMOPEN, sqlite3.SQLITE_IOERR_SHMSIZE, sqlite3.SQLITE_IOERR_SHMMAP:
		return true
	}
	code := e.Code() & 0xff
	return code == sqlite3.SQLITE_READONLY || code == sqlite3.SQLITE_FULL
}

// whyNotOpen adds to SQLite's "unable to open" the reason that it keeps to itself, which may be one that passes: whether a file can
// be made beside the database, where SQLite needs two.
func whyNotOpen(path string, err error) error {
	var e *sqlite.Error
	if !errors.As(err, &e) || e.Code()&0xff != sqlite3.SQLITE_CANTOPEN {
		return err
	}
	f, cause := os.CreateTemp(filepath.Dir(path), ".try-")
	if cause != nil {
		return errors.Join(err, cause)
	}
	return errors.Join(err, f.Close(), os.Remove(f.Name()))
}
