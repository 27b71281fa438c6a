package filesys

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

func TestReleases(t *testing.T) {
	for text, want := range map[release]bool{
		"5.8.0": true, "5.8": true, "6.1.0-18-amd64": true, "10.0.1": true, "5.10-rc1": true,
		"5.7.19": false, "4.18.0-553.el8.x86_64": false, "": false, "6": false, "x.y": false,
	} {
		if got := text.atLeast(5, 8); got != want {
			t.Errorf("%q is at least 5.8: %v", text, got)
		}
	}
}

// A file system that keeps what it is told to itself is not asked: FUSE, NFS, CIFS, 9p, overlay, and one in memory.
func TestWhereSyncfsIsNotEnough(t *testing.T) {
	for _, kind := range []int64{0x65735546, 0x6969, 0xff534d42, 0x01021997, 0x794c7630, 0x01021994, 0} {
		if syncfsIsFsync(kind) {
			t.Errorf("%#x", kind)
		}
	}
}

// A call that is not there, or that a sandbox refuses, is no fault of a disk.
func TestSyncfsThatIsRefused(t *testing.T) {
	for err, refused := range map[error]bool{
		syscall.ENOSYS: true, syscall.EPERM: true, syscall.EOPNOTSUPP: true, syscall.EIO: false, syscall.ENOSPC: false, syscall.EDQUOT: false,
	} {
		if got := told("syncfs", err); errors.Is(got, errors.ErrUnsupported) != refused || !errors.Is(got, err) {
			t.Errorf("%v is told as %v", err, got)
		}
	}
	if err := told("syncfs", nil); err != nil {
		t.Error(err)
	}
}

// Neither is there anybody who writes into the pipe, nor can the socket be opened.
func TestPipesAndSocketsAreNotWaitedFor(t *testing.T) {
	dir := t.TempDir()
	if err := syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mknod(filepath.Join(dir, "socket"), syscall.S_IFSOCK|0o600, 0); err != nil {
		t.Fatal(err)
	}
	d, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	for _, name := range []string{"pipe", "socket"} {
		if _, err := d.ReadFile(name, 10); !errors.Is(err, ErrIrregular) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := d.ReadFile("none", 10); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("none: %v", err)
	}
}
