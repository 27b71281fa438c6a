package durable

import (
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
)

func tables(d *DB) error {
	return d.Transaction(func() error { return d.Exec("CREATE TABLE IF NOT EXISTS t (n INTEGER PRIMARY KEY, body BLOB)") })
}

func open(t *testing.T, path string) *DB {
	t.Helper()
	d, err := Open(path, tables)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.Close() })
	return d
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func add(d *DB, bytes int) error {
	return d.Transaction(func() error { return d.Exec("INSERT INTO t (body) VALUES (zeroblob(?))", bytes) })
}

func count(t *testing.T, d *DB) (n int) {
	t.Helper()
	must(t, d.Row("SELECT count(*) FROM t").Scan(&n))
	return n
}

// TestTransactions: what returned is there after a reopening, what failed is not, and a full disk is told as one.
func TestTransactions(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "a.db")
	d := open(t, path)
	must(t, add(d, 10))
	mine := errors.New("mine")
	if err := d.Transaction(func() error { return errors.Join(d.Exec("INSERT INTO t (body) VALUES ('')"), mine) }); !errors.Is(err, mine) {
		t.Errorf("error %v", err)
	}
	must(t, d.Exec("PRAGMA max_page_count = 1")) // No more pages than there are.
	if err := add(d, 1<<20); !errors.Is(err, ErrFull) {
		t.Errorf("error %v", err)
	}
	must(t, d.Exec("PRAGMA max_page_count = 1000000"))
	must(t, add(d, 10))
	must(t, d.Close())
	d = open(t, path)
	if n := count(t, d); n != 2 {
		t.Errorf("%d rows", n)
	}
	must(t, d.Rewrite())
	must(t, d.Checkpoint())
	if info, err := os.Stat(path); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
}

// TestPrepared: statements give what they are asked for, and rows are closed.
func TestPrepared(t *testing.T) {
	t.Parallel()
	d, err := OpenMemory(func(*sql.Conn) error { return nil }, tables)
	must(t, err)
	t.Cleanup(func() { _ = d.Close() })
	const put, get, all = "INSERT INTO t (n, body) VALUES (?, ?)", "SELECT body FROM t WHERE n = ?", "SELECT n FROM t ORDER BY n"
	const again = "INSERT INTO t (n, body) VALUES (?, ?) ON CONFLICT DO NOTHING"
	s, err := d.Prepare(put, get, all, again)
	must(t, err)
	must(t, s.Run(put, 1, "a"))
	must(t, s.Run(put, 2, "b"))
	for n, want := range map[int]int64{2: 0, 3: 1} {
		if changed, err := s.Changed(again, n, "c"); changed != want || err != nil {
			t.Errorf("%d: %d changed, %v", n, changed, err)
		}
	}
	var body string
	must(t, s.Row(get, 2).Scan(&body))
	list, err := List(s, all, func(scan Scanner) (n int, err error) {
		err = scan(&n)
		return n, err
	})
	if err != nil || body != "b" || len(list) != 3 {
		t.Errorf("%q, %v, %v", body, list, err)
	}
	if err := s.Row(get, 9).Scan(&body); !errors.Is(err, sql.ErrNoRows) {
		t.Errorf("a row that is not there: %v", err)
	}
	if err := s.Run(put, 1, "again"); err == nil {
		t.Error("a key is there twice")
	}
	must(t, s.Close())
	if _, err := d.Prepare("SELECT nothing FROM nowhere"); err == nil {
		t.Error("a statement about nothing is prepared")
	}
}

func TestItIsDurable(t *testing.T) {
	t.Parallel()
	d := open(t, filepath.Join(t.TempDir(), "a.db"))
	for pragma, want := range map[string]string{
		"synchronous": strconv.Itoa(Synchronous), "journal_mode": "wal", "wal_autocheckpoint": "0", "secure_delete": "1", "fullfsync": "1",
		"checkpoint_fullfsync": "1",
	} {
		var got string
		must(t, d.Row("PRAGMA "+pragma).Scan(&got))
		if got != want {
			t.Errorf("%s is %s, not %s", pragma, got, want)
		}
	}
	if runtime.GOOS == "linux" { // else SQLite syncs
		must(t, d.wal.Close())
		if err := add(d, 1); err == nil || errors.Is(err, ErrFull) {
			t.Errorf("a commit that cannot be synced: error %v", err)
		}
		d.wal = nil
	}
	must(t, d.Exec("PRAGMA synchronous = OFF"))
	if err := d.AssertDurable(); err == nil || !strings.Contains(err.Error(), "power cut") {
		t.Errorf("error %v", err)
	}
}

// What stands in SQLite's way is not the disk: it may go, and then the database is opened.
func TestWhatCannotBeOpenedCanBeWritten(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.db")
	must(t, os.Mkdir(path+"-wal", 0o700))
	d, err := Open(path, tables)
	if err == nil || CannotWrite(err) {
		t.Fatalf("opened %v: %v", d != nil, err)
	}
	if left, err := filepath.Glob(filepath.Join(filepath.Dir(path), ".try-*")); err != nil || len(left) > 0 {
		t.Errorf("left %q: %v", left, err)
	}
	must(t, os.Remove(path+"-wal"))
	open(t, path)
}

// TestARelativePath: the name of a file may be one that is relative to where the process runs.
func TestARelativePath(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.Mkdir("data", 0o700); err != nil {
		t.Fatal(err)
	}
	db, err := Open("data/a.db", tables)
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat("data/a.db"); err != nil {
		t.Error(err)
	}
}
