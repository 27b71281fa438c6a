package filesys

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// renameNew is renameat2 with RENAME_NOREPLACE (rename(2)), which a kernel before 3.15 does not know and some file systems
// refuse (EINVAL).
func renameNew(folder *os.File, from, to string) error {
	fd := int(folder.Fd())
	err := unix.Renameat2(fd, from, fd, to, unix.RENAME_NOREPLACE)
	if errors.Is(err, unix.EINVAL) {
		err = errors.Join(errors.ErrUnsupported, err)
	}
	return told("renameat2", err)
}
