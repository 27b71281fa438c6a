package llm

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// Fault is what kind of trouble a model server is in.
type Fault string

// The faults. Deny by default: whatever a server says that is not understood is FaultProtocol.
const (
	// FaultUnreachable: nobody answers at the address, or the connection broke before the answer began.
	FaultUnreachable Fault = "unreachable"
	// FaultLoading: the server is loading its model.
	FaultLoading Fault = "loading"
	// FaultBusy: the server has too much to do.
	FaultBusy Fault = "busy"
	// FaultTooLong: prompt and answer do not fit the window. Tokens and Window are set where the server told them.
	FaultTooLong Fault = "too_long"
	// FaultRefused: the server does not accept the request (4xx).
	FaultRefused Fault = "refused"
	// FaultCount: a count that cannot be right.
	FaultCount Fault = "count"
	// FaultCut: the answer broke off in the middle.
	FaultCut Fault = "cut"
	// FaultProtocol: an answer that is not what this kind of server says.
	FaultProtocol Fault = "protocol"
	// FaultTimeout: no answer within a time limit, of the backend or of the caller. Where it was the caller's, the error
	// wraps context.DeadlineExceeded.
	FaultTimeout Fault = "timeout"
	// FaultCancelled: the caller gave up. The error wraps context.Canceled.
	FaultCancelled Fault = "cancelled"
)

// ErrNoPieces says that the borders of the tokens of a text are not known: the kind of server does not tell them, or what
// it tells does not add up to the text. Count still works. Test with errors.Is.
var ErrNoPieces = errors.New("the token borders of this text are not known")

// ErrPiecesUntold is an ErrNoPieces for which the server was asked. Other ErrNoPieces cost nothing.
var ErrPiecesUntold = fmt.Errorf("asked in vain: %w", ErrNoPieces)

// Error is trouble with a model server. Message is one sentence for people and never holds prompt text.
type Error struct {
	Fault            Fault
	Backend, Address string
	Message          string
	// Tokens and Window are what the server said of a prompt that was too long; 0 where it did not.
	Tokens, Window int
	// RetryAfter is what the server asked for; 0 where it did not.
	RetryAfter time.Duration
	// Tried is the count that was not made; nil where the trouble is with something else.
	Tried *Tried
	// Err is the cause, such as a network error.
	Err error
}

// Tried is what was to be counted when the counts of a request failed half-way.
type Tried struct {
	// Count is which count of the request it was, from 1; 0 while that is not known.
	Count int
	// Characters is the size of the text in code points.
	Characters int
	// Took is for how long it was tried; 0 where nobody looked.
	Took time.Duration
}

// Error names backend, address and trouble, and what was tried.
func (e *Error) Error() string {
	text := fmt.Sprintf("backend %q at %s: %s", e.Backend, e.Address, e.Message)
	if e.Tried == nil || e.Tried.Count == 0 {
		return text
	}
	took := ""
	if e.Tried.Took > 0 {
		took = fmt.Sprintf(", tried for %v", e.Tried.Took.Round(time.Millisecond))
	}
	return fmt.Sprintf("%s (count %d of this request, of %d characters%s)", text, e.Tried.Count, e.Tried.Characters, took)
}

// Unwrap gives the cause.
func (e *Error) Unwrap() error { return e.Err }

// UnknownBackendError says that the backends file has no such name.
type UnknownBackendError struct {
	Name string
	// Known are the names that there are, sorted.
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

// OverflowError says that what may not be cut is larger than the window leaves. Of a story that is all but the body, of
// a plain prompt the whole.
type OverflowError struct {
	// Limit is the most tokens that the prompt may have, Tokens what the smallest one has, and MaxTokens what is kept
	// free for the answer.
	Limit, Tokens, MaxTokens int
	// Blocks are the parts of the smallest one; empty for a plain prompt.
	Blocks []BlockSize
	// Field is the field of the request in which enough can be mended to make room; empty where there is none.
	Field string
	// Wish says what would be right there, in the words of a violation; empty: what stands there must be shorter.
	Wish string
}

// MakeRoom fills in Field and Wish from how many tokens each field of the request has in the prompt: the field with the
// most to lose, together with the next ones where that alone is not enough. Where all of them are not, both stay empty.
func (e *OverflowError) MakeRoom(tokens map[string]int) {
	fields := slices.SortedFunc(maps.Keys(tokens), func(a, b string) int {
		return cmp.Or(tokens[b]-tokens[a], strings.Compare(a, b))
	})
	over, together := e.Tokens-e.Limit, 0
	for i, field := range fields {
		if together += tokens[field]; together <= over { // what is shorter by less makes no room
			continue
		}
		if e.Field = fields[0]; i > 0 {
			e.Wish = fmt.Sprintf("must be less, together with %s, by about %d tokens", strings.Join(fields[1:i+1], ", "), over)
		}
		return
	}
}

// BlockSize is how large one part of a prompt is.
type BlockSize struct {
	Kind   string
	Tokens int
}

// Error names the sizes.
func (e *OverflowError) Error() string {
	sizes := make([]string, len(e.Blocks))
	for i, b := range e.Blocks {
		sizes[i] = fmt.Sprintf("%s %d", b.Kind, b.Tokens)
	}
	parts := ""
	if len(sizes) > 0 {
		parts = " (" + strings.Join(sizes, ", ") + ")"
	}
	return fmt.Sprintf("what may not be cut of the prompt has %d tokens%s, and the window less max_tokens leaves %d: %d too many",
		e.Tokens, parts, e.Limit, e.Tokens-e.Limit)
}
