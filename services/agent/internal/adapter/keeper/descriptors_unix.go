//go:build unix

package keeper

import (
	"fmt"
	"os"
	"strconv"
	"syscall"
)

// CloseOnExec has no program inherit a descriptor behind the usual three that this process has inherited itself: those that Go opens are
// passed on to nobody.
func CloseOnExec() error {
	const first = 3
	if closeOnExec(first) == nil {
		return nil
	}
	open, err := os.ReadDir("/dev/fd")
	if err != nil {
		return fmt.Errorf("descriptors cannot be closed: %w", err)
	}
	for _, f := range open {
		if fd, err := strconv.Atoi(f.Name()); err == nil && fd >= first {
			syscall.CloseOnExec(fd)
		}
	}
	return nil
}
