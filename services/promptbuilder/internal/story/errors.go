package story

import (
	"errors"
	"fmt"

	"github.com/tsumugi-dev/tsumugi/services/internal/llm"
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

// blame names the model server in an error about a count, and which of the counts it was.
func (b Backend) blame(err error) error {
	if wrong := (*fit.CountError)(nil); errors.As(err, &wrong) {
		return &CountError{Backend: b, Err: wrong}
	}
	var server *llm.Error
	if failed := (*fit.FailedError)(nil); errors.As(err, &failed) && errors.As(err, &server) {
		tried := *server
		tried.Message = fmt.Sprintf("%s (asked for count %d of this prompt, of %d characters)", server.Message, failed.Count, failed.Characters)
		return &tried
	}
	return err
}
