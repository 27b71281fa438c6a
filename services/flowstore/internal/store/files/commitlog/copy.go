package commitlog

import (
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"runtime"

	"github.com/tsumugi-dev/tsumugi/services/internal/durable"

	"modernc.org/sqlite"
)

// OpenCopy opens a copy of local.db in memory, with all that was committed, for a volume that cannot be written. It takes as much
// memory as the file has bytes. Where there is no local.db the copy is empty. What is applied to it is gone when it is closed.
func OpenCopy(path string) (*Log, error) {
	db, err := durable.OpenMemory(func(conn *sql.Conn) error {
		if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
			return nil
		} else if err != nil {
			return err
		}
		return conn.Raw(func(conn any) error { return restore(conn, path) })
	}, migrate)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	return newLog(db)
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
