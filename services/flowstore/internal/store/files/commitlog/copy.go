package commitlog

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"syscall"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// CannotWrite says that an error of Open, or of the first Apply, is of a place that nobody can write to, and not of what stands there.
// SQLite tells a full disk in several ways (https://sqlite.org/rescode.html): its shared memory is a file that has to have room, too.
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
// be made beside local.db, where SQLite needs two.
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

// OpenCopy opens a copy of local.db in memory, with all that was committed, for a volume that cannot be written. It takes as much
// memory as the file has bytes. Where there is no local.db the copy is empty. What is applied to it is gone when it is closed.
func OpenCopy(path string) (*Log, error) {
	db, err := sql.Open("sqlite", ":memory:")
	if err != nil {
		return nil, err
	}
	l := &Log{db: db}
	if err := l.startCopy(path); err != nil {
		return nil, errors.Join(fmt.Errorf("read %s: %w", path, err), l.Close())
	}
	return l, nil
}

func (l *Log) startCopy(path string) (err error) {
	if l.conn, err = l.db.Conn(context.Background()); err != nil {
		return err
	}
	if _, err := os.Stat(path); err == nil {
		err = l.conn.Raw(func(conn any) error { return restore(conn, path) })
		if err != nil {
			return err
		}
	} else if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := l.migrate(); err != nil {
		return err
	}
	l.stmts, err = prepare(l.conn)
	return err
}

// restore reads a database into a connection.
func restore(conn any, path string) error {
	memory, ok := conn.(interface {
		NewRestore(source string) (*sqlite.Backup, error)
	})
	if !ok {
		return errors.New("this SQLite cannot copy a database")
	}
	b, err := memory.NewRestore(unwritable(path))
	if err != nil {
		return err
	}
	_, err = b.Step(-1)
	return errors.Join(err, b.Finish())
}

// vfsWithoutLocks is SQLite's name for files that it does not lock. (nolock=1 would do that, too, and forbid write-ahead logs.)
var vfsWithoutLocks = map[bool]string{true: "win32-none", false: "unix-none"}[runtime.GOOS == "windows"]

// unwritable is a database that is read where nothing can be written. SQLite wants to write even to read a write-ahead log, unless
// it believes that nobody else is there (EXCLUSIVE, and no locks, which ask for a file that can be written); and where there is no
// such log it wants to make one, unless nothing ever changes (immutable).
func unwritable(path string) string {
	query := url.Values{"mode": {"ro"}}
	if info, err := os.Stat(path + "-wal"); err == nil && info.Size() > 0 {
		query.Set("vfs", vfsWithoutLocks)
		query.Set("_pragma", "locking_mode(EXCLUSIVE)")
	} else {
		query.Set("immutable", "1")
	}
	return (&url.URL{Scheme: "file", Path: filepath.ToSlash(path), RawQuery: query.Encode()}).String()
}
