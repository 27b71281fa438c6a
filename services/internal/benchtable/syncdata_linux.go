package benchtable

import (
	"os"
	"syscall"
)

// syncData makes the bytes of a file durable, and of its description only what is needed to find them.
func syncData(f *os.File) error { return syscall.Fdatasync(int(f.Fd())) }
