package filesys

import (
	"errors"
	"os"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/sys/unix"
)

// syncAll is syncfs (syncfs(2)), where that is known to mean what fsync means.
func syncAll(f *os.File) error {
	var about unix.Statfs_t
	if err := unix.Fstatfs(int(f.Fd()), &about); err != nil {
		return told("fstatfs", err)
	}
	if !syncfsTells() || !syncfsIsFsync(int64(about.Type)) { //nolint:unconvert // Its width differs between machines.
		return errors.ErrUnsupported
	}
	return told("syncfs", unix.Syncfs(int(f.Fd())))
}

// told is the error of a call. One that a filter refuses, as sandboxes do, with EPERM where it could say ENOSYS, is not there: that is
// no fault of a disk (seccomp(2), SECCOMP_RET_ERRNO).
func told(call string, err error) error {
	if errors.Is(err, unix.EPERM) {
		err = errors.Join(errors.ErrUnsupported, err)
	}
	return os.NewSyscallError(call, err)
}

// syncfsIsFsync says of a kind of file system (statfs(2)) that syncfs has the disk keep what was written. One in user space or
// on a network is not asked to: it may keep that to itself.
func syncfsIsFsync(kind int64) bool {
	switch kind {
	case unix.EXT4_SUPER_MAGIC, unix.XFS_SUPER_MAGIC, unix.BTRFS_SUPER_MAGIC:
		return true
	}
	return false
}

// syncfsTells says that the kernel tells what could not be written: since Linux 5.8 (syncfs(2), VERSIONS).
var syncfsTells = sync.OnceValue(func() bool {
	var name unix.Utsname
	return unix.Uname(&name) == nil && release(unix.ByteSliceToString(name.Release[:])).atLeast(5, 8)
})

// release is a kernel's version, such as 6.1.0-18-amd64.
type release string

// atLeast compares the first two numbers. One that cannot be read is not enough.
func (r release) atLeast(major, minor int) bool {
	first, rest, _ := strings.Cut(string(r), ".")
	second := rest
	if end := strings.IndexFunc(rest, func(c rune) bool { return c < '0' || c > '9' }); end >= 0 {
		second = rest[:end]
	}
	a, errA := strconv.Atoi(first)
	b, errB := strconv.Atoi(second)
	return errA == nil && errB == nil && (a > major || a == major && b >= minor)
}
