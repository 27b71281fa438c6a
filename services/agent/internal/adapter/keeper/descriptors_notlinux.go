//go:build unix && !linux

package keeper

import "errors"

// closeOnExec is a call of Linux.
func closeOnExec(uint) error { return errors.ErrUnsupported }
