package workfolder

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

func changedAt(sys *syscall.Stat_t) int64 { return sys.Ctimespec.Nano() }

// mountOf is 0: which mount a file is on is not told here.
func mountOf(*os.File) (uint64, error) { return 0, nil }

// tryLock locks an open folder, if nobody has.
func tryLock(f *os.File) (bool, error) {
	err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) || errors.Is(err, unix.EINTR) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("lock the folder: %w", os.NewSyscallError("flock", err))
	}
	return true, nil
}

// exchange is not used here: changes are made by lock, check and rename.
func exchange(*os.File, string, string) error { return errors.ErrUnsupported }

// renameNew is not used here either.
func renameNew(*os.File, string, *os.File, string) error { return errors.ErrUnsupported }

// renamePlain renames, and replaces what has the new name.
func renamePlain(from *os.File, old string, to *os.File, name string) error {
	return os.NewSyscallError("renameat", unix.Renameat(int(from.Fd()), old, int(to.Fd()), name))
}

// hold opens what has a name.
func hold(dir *os.Root, name string) (*os.File, error) {
	return dir.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
}

func warnings(string, fs.FileInfo) []string { return nil }
