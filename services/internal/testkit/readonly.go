package testkit

import (
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
)

// SmallDisk mounts an empty disk of so many bytes (in memory) at a folder, until the test ends. The test is skipped where that is not
// allowed (TSUMUGI_NEED=mount: fails).
func SmallDisk(t testing.TB, dir string, bytes int) {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "mount", "-t", "tmpfs", "-o", fmt.Sprintf("size=%d", bytes), "tmpfs", dir).CombinedOutput()
	if err != nil && Need("mount") {
		t.Fatalf("mount: %v: %s", err, out)
	} else if err != nil {
		t.Skipf("nothing may be mounted here: run this as root: %v: %s", err, out)
	}
	t.Cleanup(func() { _ = exec.Command("umount", "-l", dir).Run() }) //nolint:noctx // The test's context has ended.
}

// ReadOnly makes a folder one that this process cannot write to, until release is called or the test ends: by a mount where that is
// allowed, as for root, whom permissions do not keep out; else by permissions. The test is skipped where neither works
// (TSUMUGI_NEED=mount: fails).
func ReadOnly(t testing.TB, dir string) (release func()) {
	t.Helper()
	if os.Geteuid() != 0 {
		return withoutWriting(t, dir)
	}
	t.Cleanup(func() { _ = exec.Command("umount", "-l", dir).Run() }) //nolint:noctx // The test's context has ended.
	for _, args := range [][]string{{"--bind", dir, dir}, {"-o", "remount,ro,bind", dir}} {
		out, err := exec.CommandContext(t.Context(), "mount", args...).CombinedOutput()
		if err != nil && Need("mount") {
			t.Fatalf("mount %q: %v: %s", args, err, out)
		} else if err != nil {
			t.Skipf("root may mount nothing here, and permissions do not keep it out: run this as another user: %v: %s", err, out)
		}
	}
	return sync.OnceFunc(func() { // Also who has the folder open can write then.
		if out, err := exec.CommandContext(t.Context(), "mount", "-o", "remount,rw,bind", dir).CombinedOutput(); err != nil {
			t.Errorf("mount it to be written: %v: %s", err, out)
		}
	})
}

// withoutWriting takes the right to write from all that is in a folder.
func withoutWriting(t testing.TB, dir string) (release func()) {
	t.Helper()
	change := func(set fs.FileMode) {
		err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			info, err := e.Info()
			if err != nil {
				return err
			}
			return os.Chmod(path, info.Mode().Perm()&^0o222|set)
		})
		if err != nil {
			t.Error(err)
		}
	}
	change(0)
	release = sync.OnceFunc(func() { change(0o200) })
	t.Cleanup(release)
	return release
}
