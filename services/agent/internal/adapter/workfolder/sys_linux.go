package workfolder

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

func changedAt(sys *syscall.Stat_t) int64 { return sys.Ctim.Nano() }

// mountOf gives the number of the mount that an open file is on; 0 where the kernel does not tell (before Linux 5.8).
func mountOf(f *os.File) (uint64, error) {
	var about unix.Statx_t
	err := unix.Statx(int(f.Fd()), "", unix.AT_EMPTY_PATH, unix.STATX_MNT_ID, &about)
	switch {
	case errors.Is(err, unix.ENOSYS) || errors.Is(err, unix.EPERM): // The latter is how sandboxes say that there is no such call.
		return 0, nil
	case err != nil:
		return 0, os.NewSyscallError("statx", err)
	case about.Mask&unix.STATX_MNT_ID == 0:
		return 0, nil
	}
	return about.Mnt_id, nil
}

// tryLock locks an open folder, if nobody has.
func tryLock(f *os.File) (bool, error) {
	for {
		err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		switch {
		case err == nil:
			return true, nil
		case errors.Is(err, unix.EWOULDBLOCK):
			return false, nil
		case !errors.Is(err, unix.EINTR):
			return false, fmt.Errorf("lock the folder: %w", os.NewSyscallError("flock", err))
		}
	}
}

// exchange gives each of two names in a folder what the other one had.
func exchange(dir *os.File, a, b string) error {
	return renameat2(dir, a, dir, b, unix.RENAME_EXCHANGE)
}

// renameNew renames where nothing has the new name; fs.ErrExist otherwise.
func renameNew(from *os.File, old string, to *os.File, name string) error {
	return renameat2(from, old, to, name, unix.RENAME_NOREPLACE)
}

// renameat2 gives errors.ErrUnsupported where the kernel or the file system does not know the flag (rename(2)), or a sandbox hides it.
func renameat2(from *os.File, old string, to *os.File, name string, flag uint) error {
	for {
		err := unix.Renameat2(int(from.Fd()), old, int(to.Fd()), name, flag)
		switch {
		case err == nil:
			return nil
		case errors.Is(err, unix.EINTR):
		case errors.Is(err, unix.EINVAL), errors.Is(err, unix.ENOSYS):
			return errors.Join(errors.ErrUnsupported, os.NewSyscallError("renameat2", err))
		default:
			return os.NewSyscallError("renameat2", err)
		}
	}
}

// hold opens whatever has a name, without reading or following it: its number is not given to another file while it is held.
func hold(dir *os.Root, name string) (*os.File, error) { return dir.OpenFile(name, unix.O_PATH, 0) }

// warnings tells of a folder that others may change.
func warnings(path string, info fs.FileInfo) (all []string) {
	if info.Mode().Perm()&0o002 != 0 {
		all = append(all, fmt.Sprintf("every user of this machine may write to %s", path))
	}
	if s := statOf(info); s.uid != os.Geteuid() && os.Geteuid() != 0 {
		all = append(all, fmt.Sprintf("%s belongs to another user (%d): files that were made by others cannot be replaced, as their owner could not be kept", path, s.uid))
	}
	return all
}

// renamePlain renames, and replaces what has the new name.
func renamePlain(from *os.File, old string, to *os.File, name string) error {
	return os.NewSyscallError("renameat", unix.Renameat(int(from.Fd()), old, int(to.Fd()), name))
}
