//go:build !linux

package filesys

import (
	"errors"
	"os"
)

func syncAll(*os.File) error { return errors.ErrUnsupported }
