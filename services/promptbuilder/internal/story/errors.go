package story

import (
	"errors"
	"fmt"

	"github.com/tsumugi-dev/tsumugi/services/promptbuilder/internal/fit"
)

// CountError says that the model server gave a count that cannot be right. It never passes for "fits" (field/wannabe.md 1.1 D7).
type CountError struct {
	Backend Backend
	// Err says what was counted.
	Err *fit.CountError
}

// Error names the server.
func (e *CountError) Error() string {
	return fmt.Sprintf("backend %q at %s: %v", e.Backend.Backend, e.Backend.Address, e.Err)
}

// Unwrap gives the count.
func (e *CountError) Unwrap() error { return e.Err }

// blame names the model server in an error about a count.
func (b Backend) blame(err error) error {
	if wrong := (*fit.CountError)(nil); errors.As(err, &wrong) {
		return &CountError{Backend: b, Err: wrong}
	}
	return err
}
