package durable

import (
	"errors"
	"fmt"
	"os"
	"syscall"
)

// Synchronous is NORMAL: SQLite syncs what it needs to keep the database whole, and the write-ahead log is synced by us behind each
// commit, which is what FULL would do. SQLite does that with fsync, which also waits for the time of the file to be written: as often
// as the clock of the file system ticks a commit had to wait for its journal, and so for whatever others write. fdatasync makes
// durable what was written and the size of the file, no more (fdatasync(2)).
const Synchronous = 1

// openWAL opens the write-ahead log of a database that is in use. SQLite takes no lock on that file which closing it here could end.
func openWAL(path string) (*os.File, error) { return os.OpenFile(path+"-wal", os.O_RDWR, 0) }

// syncData makes the log durable. One that somebody has deleted keeps nothing: whoever opens the database next does not find it.
func syncData(f *os.File) error {
	var is syscall.Stat_t
	if err := syscall.Fstat(int(f.Fd()), &is); err != nil {
		return os.NewSyscallError("fstat", err)
	}
	if is.Nlink == 0 {
		return fmt.Errorf("%s was deleted while it was in use", f.Name())
	}
	for {
		err := syscall.Fdatasync(int(f.Fd()))
		if !errors.Is(err, syscall.EINTR) {
			return os.NewSyscallError("fdatasync", err)
		}
	}
}
