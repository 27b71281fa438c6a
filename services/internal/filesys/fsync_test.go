package filesys_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tsumugi-dev/tsumugi/services/internal/filesys"
	"github.com/tsumugi-dev/tsumugi/services/internal/testkit"
)

// syncedKey names, to the process that strace watches, the folder to work in.
const syncedKey = "TSUMUGI_TEST_SYNCED"

// TestDirSyncs: the power-cut double sees a missing call of SyncDir, and this that the call reaches the disk: the system
// calls are counted, where strace is there.
func TestDirSyncs(t *testing.T) {
	if dir := os.Getenv(syncedKey); dir != "" {
		sync(t, dir)
		return
	}
	t.Parallel()
	dir := t.TempDir()
	log := testkit.SyncCalls(t, syncedKey, dir)
	for _, path := range []string{dir, dir + "/a", dir + "/a/b", dir + "/a/b/folder", dir + "/a/b/file"} {
		if !strings.Contains(log, "<"+path+">") {
			t.Errorf("%s is not synced:\n%s", path, log)
		}
	}
	if d := open(t, dir); d.SyncAll() == nil && !strings.Contains(log, "syncfs(") {
		t.Errorf("SyncAll made no call of syncfs:\n%s", log)
	}
}

// sync makes a folder whose parents are not there, a folder in it and a file.
func sync(t *testing.T, dir string) {
	t.Helper()
	d, err := filesys.Open(filepath.Join(dir, "a", "b"))
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	if err := d.Mkdir("folder"); err != nil {
		t.Fatal(err)
	}
	f, err := d.Create("file")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Write([]byte("x")); err != nil {
		t.Fatal(err)
	}
	if err := f.Sync(); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{".", "folder"} {
		if err := d.SyncDir(name); err != nil {
			t.Fatal(err)
		}
	}
	if err := d.SyncAll(); err != nil && !errors.Is(err, errors.ErrUnsupported) {
		t.Fatal(err)
	}
}
