//go:build !linux

package filesys

import (
	"errors"
	"os"
)

func renameNew(*os.File, string, string) error { return errors.ErrUnsupported }
