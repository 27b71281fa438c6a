// Package durable is a SQLite database (pure Go) whose transactions are on the disk when they return, one fdatasync each.
//
// It has one connection, of one goroutine at a time: whoever shares it lines its callers up, so that many of them share one
// transaction. Nothing here knows what is stored.
package durable

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"sync"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// ErrFull says that the disk is full: nothing is broken, and writing works again when there is room.
var ErrFull = errors.New("the disk is full")

// DB is an open database.
type DB struct {
	db   *sql.DB
	conn *sql.Conn
	// say are the statements of a transaction.
	say Statements
	// wal is synced behind each commit, where SQLite does not do it (Synchronous); else nil.
	wal *os.File
}

// Open opens a database and makes it where it is not there, for its owner alone. It fails where SQLite would not keep what it
// acknowledges. What migrate does is durable when Open returns.
func Open(path string, migrate func(*DB) error) (*DB, error) {
	path, err := filepath.Abs(path) // a relative one would be the host of the address of the file
	if err != nil {
		return nil, err
	}
	if path, err = private(path); err != nil {
		return nil, err
	}
	db, err := sql.Open("sqlite", dataSource(path))
	if err != nil {
		return nil, err
	}
	d := &DB{db: db}
	if err := d.start(path, migrate); err != nil {
		return nil, errors.Join(fmt.Errorf("open %s: %w", path, whyNotOpen(path, err)), d.Close())
	}
	return d, nil
}

// OpenMemory opens a database in memory, which is gone when it is closed. fill fills its connection first.
func OpenMemory(fill func(conn *sql.Conn) error, migrate func(*DB) error) (*DB, error) {
	db, err := sql.Open("sqlite", ":memory:")
	if err != nil {
		return nil, err
	}
	d := &DB{db: db}
	if err = d.connect(); err == nil {
		err = fill(d.conn)
	}
	if err == nil {
		err = migrate(d)
	}
	if err != nil {
		return nil, errors.Join(err, d.Close())
	}
	return d, nil
}

// private makes the database readable for its owner alone, as what it holds is of nobody else's business. SQLite gives the
// files that it makes beside it the mode of the database; those that are there may be older than this rule. A database that is there is not opened:
// it may be in use here, and POSIX ends all locks that a process has on a file when it closes the file, however often it has it open. Without its lock
// the next program that looks into the database takes itself for the only one, and takes the write-ahead log away as it leaves
// (https://sqlite.org/howtocorrupt.html, 2.2). A link may lead to where no file is yet, and that file is made.
// It gives the path without links: there SQLite has the files beside it.
func private(path string) (string, error) {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		err = create(path)
	case err == nil && info.IsDir():
		return "", fmt.Errorf("%s is a folder, and must be the file of a database", path)
	}
	if err == nil {
		path, err = filepath.EvalSymlinks(path)
	}
	if err != nil {
		return "", err
	}
	err = os.Chmod(path, 0o600)
	for _, beside := range []string{path + "-wal", path + "-shm"} {
		if e := os.Chmod(beside, 0o600); e != nil && !errors.Is(e, fs.ErrNotExist) {
			err = errors.Join(err, e)
		}
	}
	return path, err
}

// create makes a file that is not there, also at the end of links.
func create(path string) error {
	const most = 40 // Links in a row, as many as Linux follows.
	for range most {
		f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600) // Opens nothing that somebody else made meanwhile.
		if err == nil {
			return f.Close()
		}
		if !errors.Is(err, fs.ErrExist) {
			return err
		}
		to, err := os.Readlink(path)
		if err != nil {
			return nil //nolint:nilerr // It is no link: somebody else has made the file.
		}
		if !filepath.IsAbs(to) {
			to = filepath.Dir(path) + string(filepath.Separator) + to // Not cleaned: ".." behind a link leads elsewhere.
		}
		path = to
	}
	return fmt.Errorf("%s: too many links", path)
}

// dataSource is the file and how it is used: each commit is synced, by SQLite or by us (Synchronous), checkpoints come when they are
// asked for, what is deleted is overwritten, and macOS is told to mean it when it syncs.
func dataSource(path string) string {
	query := url.Values{"_pragma": {
		"busy_timeout(5000)", "journal_mode(WAL)", fmt.Sprintf("synchronous(%d)", Synchronous), "wal_autocheckpoint(0)",
		"secure_delete(ON)", "fullfsync(ON)", "checkpoint_fullfsync(ON)",
	}}
	return (&url.URL{Scheme: "file", Path: filepath.ToSlash(path), RawQuery: query.Encode()}).String()
}

const begin, commit, rollback = "BEGIN IMMEDIATE", "COMMIT", "ROLLBACK"

func (d *DB) connect() (err error) {
	if d.conn, err = d.db.Conn(context.Background()); err != nil {
		return err
	}
	d.say, err = d.Prepare(begin, commit, rollback)
	return err
}

func (d *DB) start(path string, migrate func(*DB) error) (err error) {
	if err := d.connect(); err != nil {
		return err
	}
	if err := d.AssertDurable(); err != nil {
		return err
	}
	if err := migrate(d); err != nil {
		return err
	}
	if d.wal, err = openWAL(path); err != nil {
		return err
	}
	return d.sync() // what migrate did
}

// AssertDurable checks what SQLite made of the settings: on some file systems it cannot do WAL and says so only here.
func (d *DB) AssertDurable() error {
	var level int
	var journal string
	if err := d.Row("PRAGMA synchronous").Scan(&level); err != nil {
		return err
	}
	if err := d.Row("PRAGMA journal_mode").Scan(&journal); err != nil {
		return err
	}
	if level != Synchronous || journal != "wal" {
		return fmt.Errorf("SQLite runs with synchronous=%d and journal_mode=%s instead of %d and wal: a power cut could lose "+
			"what was acknowledged; use a local disk", level, journal, Synchronous)
	}
	return nil
}

// Migrate brings the tables to a version, which stands in the database as its user_version. from has, for each older version and for 0,
// a new database, the statements that do it, the setting of user_version among them.
func (d *DB) Migrate(version int, from map[int]string) error {
	var found int
	if err := d.Row("PRAGMA user_version").Scan(&found); err != nil {
		return err
	}
	if found == version {
		return nil
	}
	statements, known := from[found]
	if !known {
		return fmt.Errorf("it was written by a newer version of Tsumugi (schema %d, this one knows %d)", found, version)
	}
	return d.Transaction(func() error { return d.Exec(statements) })
}

// Row is the one row of a query.
func (d *DB) Row(query string, args ...any) *sql.Row {
	return d.conn.QueryRowContext(context.Background(), query, args...)
}

// Rows are those of a query. Collect reads and closes them.
func (d *DB) Rows(query string, args ...any) (*sql.Rows, error) {
	return d.conn.QueryContext(context.Background(), query, args...)
}

// Exec runs statements.
func (d *DB) Exec(query string, args ...any) error {
	_, err := d.conn.ExecContext(context.Background(), query, args...)
	return err
}

// Transaction runs fn and makes what it did durable, or undoes it. ErrFull where the disk is full; after any other error of the
// database it is not known what is on the disk, and nothing more should be acknowledged.
func (d *DB) Transaction(fn func() error) error {
	return d.TransactionIf(func() (bool, error) { return true, fn() }, &sync.Mutex{})
}

// TransactionIf is a Transaction that is undone without an error where fn says that it wrote nothing. publish is held from before others
// could read what it did until that is durable.
func (d *DB) TransactionIf(fn func() (wrote bool, err error), publish sync.Locker) error {
	if err := d.say.Run(begin); err != nil {
		return full(err)
	}
	wrote, err := fn()
	if err == nil && wrote {
		err = d.commit(publish)
	}
	if err != nil || !wrote {
		// After some errors SQLite has rolled back by itself, and says that there is nothing to roll back.
		_ = d.say.Run(rollback)
	}
	return full(err)
}

func (d *DB) commit(publish sync.Locker) error {
	publish.Lock()
	defer publish.Unlock()
	if err := d.say.Run(commit); err != nil {
		return err
	}
	return d.sync()
}

// sync makes what was committed durable.
func (d *DB) sync() error {
	if d.wal == nil {
		return nil
	}
	return syncData(d.wal)
}

// full adds ErrFull to SQLite's word for it.
func full(err error) error {
	var e *sqlite.Error
	if errors.As(err, &e) && e.Code()&0xff == sqlite3.SQLITE_FULL && !errors.Is(err, ErrFull) {
		return fmt.Errorf("%w: %w", ErrFull, err)
	}
	return err
}

// Checkpoint moves what was committed from the write-ahead log into the database, as far as nobody reads it. It takes some
// milliseconds for each 4 MiB and is not needed for durability.
func (d *DB) Checkpoint() error { return d.Exec("PRAGMA wal_checkpoint(PASSIVE)") }

// Rewrite writes the database anew, and makes the write-ahead log a file of no bytes, so that neither holds anything that was
// deleted: SQLite overwrites what it deletes (secure_delete), but not what it moved from one page to another before that. It
// takes about a second for 100 MB, and as much room on the disk meanwhile. ErrFull.
func (d *DB) Rewrite() error {
	if err := d.Exec("VACUUM"); err != nil {
		return full(err)
	}
	var busy, pages, moved int
	if err := d.Row("PRAGMA wal_checkpoint(TRUNCATE)").Scan(&busy, &pages, &moved); err != nil {
		return err
	}
	if busy != 0 {
		return errors.New("the database is in use by another program; its write-ahead log cannot be emptied")
	}
	return nil
}

// Close empties the write-ahead log, where the database is whole, and closes it.
func (d *DB) Close() error {
	var errs []error
	if d.wal != nil {
		errs = append(errs, d.Exec("PRAGMA wal_checkpoint(TRUNCATE)"), d.wal.Close())
	}
	if d.conn != nil {
		errs = append(errs, d.say.Close(), d.conn.Close())
	}
	return errors.Join(append(errs, d.db.Close())...)
}
