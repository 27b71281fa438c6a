package execchild

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// tryOut tries to leave the sandbox by the ways that must be closed, and by those that must be open.
func tryOut(r request) error {
	if !r.Network {
		for _, family := range []int{unix.AF_INET, unix.AF_INET6, unix.AF_UNIX} {
			if fd, err := unix.Socket(family, unix.SOCK_STREAM, 0); err == nil {
				return errors.Join(errors.New("the network cannot be taken away"), unix.Close(fd))
			}
		}
	}
	for _, path := range append([]string{"/"}, r.Secret...) {
		if f, err := os.Open(path); err == nil {
			return errors.Join(fmt.Errorf("%s can still be read", path), f.Close())
		}
	}
	f, err := os.CreateTemp(r.Temp, "")
	if err != nil {
		return fmt.Errorf("its own folder cannot be written to: %w", err)
	}
	return f.Close()
}
