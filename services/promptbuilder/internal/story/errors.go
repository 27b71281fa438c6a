package story

import (
	"fmt"
	"strings"
)

// UnknownBackendError: the backends file has no such name.
type UnknownBackendError struct {
	Name  string
	Known []string
}

// Error names what there is.
func (e *UnknownBackendError) Error() string {
	return fmt.Sprintf("there is no backend %q; the backends file has: %s", e.Name, strings.Join(e.Known, ", "))
}

// BudgetError: the answer's length leaves no room for a prompt.
type BudgetError struct{ Window, MaxTokens int }

// Error names both numbers.
func (e *BudgetError) Error() string {
	return fmt.Sprintf("max_tokens is %d and the window of the backend is %d tokens: max_tokens must be smaller, so that a prompt has room",
		e.MaxTokens, e.Window)
}

// OverflowError: what may not be cut is larger than the window leaves.
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
	return fmt.Sprintf("with nearly all of the body cut the prompt still has %d tokens, and the limit is %d (%s): shorten the story fields or the note, or lower max_tokens",
		e.Tokens, e.Limit, strings.Join(sizes, ", "))
}
