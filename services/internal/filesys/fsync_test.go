package filesys_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tsumugi-dev/tsumugi/services/internal/filesys"
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
	strace, err := exec.LookPath("strace")
	if err != nil {
		t.Skip("strace is not installed: nothing counts system calls")
	}
	dir := t.TempDir()
	calls := filepath.Join(dir, "calls")
	cmd := exec.Command(strace, "-f", "-y", "-o", calls, "-e", "trace=fsync,fdatasync", os.Args[0], "-test.run=^TestDirSyncs$")
	cmd.Env = append(os.Environ(), syncedKey+"="+dir)
	if out, err := cmd.CombinedOutput(); strings.Contains(string(out), "ptrace") {
		t.Skipf("strace may not watch a process here: %s", out)
	} else if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	log, err := os.ReadFile(calls)
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{dir, dir + "/a", dir + "/a/b", dir + "/a/b/folder", dir + "/a/b/file"} {
		if !strings.Contains(string(log), "<"+path+">") {
			t.Errorf("%s is not synced:\n%s", path, log)
		}
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
}
