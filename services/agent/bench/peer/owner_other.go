//go:build !unix

package peer

import (
	"errors"
	"syscall"
)

func owner(string) (*syscall.SysProcAttr, error) {
	return nil, errors.New("PostgreSQL is started on Unix only")
}
