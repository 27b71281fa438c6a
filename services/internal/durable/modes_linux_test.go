package durable

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestModes: what a database keeps is readable for its owner alone, also where the files were made before by somebody else's rule.
func TestModes(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "a.db")
	first := open(t, path)
	must(t, add(first, 10))
	files := []string{path, path + "-wal", path + "-shm"}
	for _, name := range files {
		must(t, os.Chmod(name, 0o644)) //nolint:gosec // what is tested
	}
	second := open(t, path)
	for _, name := range files {
		if info, err := os.Stat(name); err != nil || info.Mode() != 0o600 {
			t.Errorf("%s: %v, %v", name, info, err)
		}
	}
	must(t, second.Close())
}

// TestAFolderInItsPlace is told as what it is, and stays as it was.
func TestAFolderInItsPlace(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "a.db")
	must(t, os.Mkdir(path, 0o700))
	if _, err := Open(path, tables); err == nil || !strings.Contains(err.Error(), "a.db is a folder") {
		t.Errorf("error %v", err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("%v, %v", info, err)
	}
}

// TestALink: a database is made where a link leads, for its owner alone; one that leads to itself is an error.
func TestALink(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	must(t, os.Mkdir(filepath.Join(dir, "data"), 0o700))
	must(t, os.Symlink("b.db", filepath.Join(dir, "a.db")))
	must(t, os.Symlink("data/c.db", filepath.Join(dir, "b.db")))
	d := open(t, filepath.Join(dir, "a.db"))
	must(t, add(d, 10))
	must(t, d.Close())
	if info, err := os.Lstat(filepath.Join(dir, "data", "c.db")); err != nil || info.Mode() != 0o600 || info.Size() == 0 {
		t.Errorf("%v, %v", info, err)
	}
	loop := filepath.Join(dir, "loop.db")
	must(t, os.Symlink(loop, loop))
	if _, err := Open(loop, tables); err == nil {
		t.Error("a link to itself is a database")
	}
}
