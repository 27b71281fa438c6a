package story

import (
	"errors"
	"fmt"
	"strings"

	"github.com/tsumugi-dev/tsumugi/services/promptbuilder/internal/fit"
)

// UnknownBackendError says that the backends file has no such name.
type UnknownBackendError struct {
	Name  string
	Known []string
}

// Error names what there is.
func (e *UnknownBackendError) Error() string {
	return fmt.Sprintf("there is no backend %q; the backends file has: %s", e.Name, strings.Join(e.Known, ", "))
}

// BudgetError says that the answer's length leaves no room for a prompt.
type BudgetError struct{ Window, MaxTokens int }

// Error names both numbers.
func (e *BudgetError) Error() string {
	return fmt.Sprintf("max_tokens is %d and the window of the backend is %d tokens: max_tokens must be smaller, so that a prompt has room",
		e.MaxTokens, e.Window)
}

// OverflowError says that what may not be cut is larger than the window leaves.
type OverflowError struct {
	// Limit is the most tokens that the prompt may have, Tokens what the smallest one has.
	Limit, Tokens int
	// Blocks are the parts of the smallest one.
	Blocks []Block
}

// Error names the sizes.
func (e *OverflowError) Error() string {
	sizes := make([]string, len(e.Blocks))
	for i, b := range e.Blocks {
		sizes[i] = fmt.Sprintf("%s %d", b.Kind, b.Tokens)
	}
	return fmt.Sprintf("the prompt has %d tokens with nearly nothing of the body, and the limit is %d (%s): shorten the story fields or the note, or lower max_tokens",
		e.Tokens, e.Limit, strings.Join(sizes, ", "))
}

// CountError says that the model server gave a count that cannot be right. It never passes for "fits" (D7).
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
