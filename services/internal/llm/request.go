package llm

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

// ErrNotUTF8 says that a text cannot be sent: JSON carries UTF-8 alone, anything else would arrive as another text.
var ErrNotUTF8 = errors.New("the text is not valid UTF-8 and cannot be sent as it is")

// Check says in one sentence what no server could do; a kind of server makes FaultRefused of it.
func (r Request) Check() error {
	if r.Sampling.MaxTokens <= 0 {
		return fmt.Errorf("max tokens is %d; it must be positive", r.Sampling.MaxTokens)
	}
	if !utf8.ValidString(r.Prompt) {
		return ErrNotUTF8
	}
	if r.Suffix < 0 || r.Suffix > len(r.Prompt) || !utf8.ValidString(r.Prompt[len(r.Prompt)-r.Suffix:]) {
		return fmt.Errorf("suffix is %d; it must be a number of bytes at the end of a prompt of %d, and not begin inside a character", r.Suffix, len(r.Prompt))
	}
	if err := r.checkMessages(); err != nil {
		return err
	}
	for i, s := range r.Sampling.Stop {
		if s == "" || !utf8.ValidString(s) {
			return fmt.Errorf("stop string %d is empty or not valid UTF-8", i)
		}
	}
	return nil
}

// CutAtStop ends an answer before the first stop string, wherever the borders of its pieces are, and says which one it
// was. Pieces without a byte are left out.
func CutAtStop(pieces, stops []string) (kept []string, stop string) {
	whole := strings.Join(pieces, "")
	room := len(whole)
	for _, s := range stops {
		if i := strings.Index(whole, s); i >= 0 && i < room {
			room, stop = i, s
		}
	}
	for _, p := range pieces {
		if p = p[:min(len(p), room)]; p != "" {
			kept = append(kept, p)
		}
		room -= len(p)
	}
	return kept, stop
}

// Ended is the error of a caller whose context ended, without backend and address; nil while it has not.
func Ended(ctx context.Context) *Error {
	switch err := ctx.Err(); {
	case err == nil:
		return nil
	case errors.Is(err, context.DeadlineExceeded):
		return &Error{Fault: FaultTimeout, Message: "the caller's time limit passed", Err: err}
	default:
		return &Error{Fault: FaultCancelled, Message: "the caller cancelled the request", Err: context.Canceled}
	}
}
