package servertest

import (
	"errors"
	"io"
	"testing"

	"github.com/tsumugi-dev/tsumugi/services/internal/llm"
)

// Request is a plain request.
func Request(prompt string, most int, stops ...string) llm.Request {
	return llm.Request{Prompt: prompt, Sampling: llm.Sampling{MaxTokens: most, Stop: stops}}
}

// Ask reads an answer to its end; a good end is no error.
func Ask(tb testing.TB, g llm.Generator, r llm.Request) (text string, result llm.Result, err error) {
	tb.Helper()
	stream, err := g.Generate(tb.Context(), r)
	if err != nil {
		return "", llm.Result{}, err
	}
	defer stream.Close() //nolint:errcheck // the suite of package conformance looks at it
	for {
		piece, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return text, stream.Result(), nil
		}
		if err != nil {
			return text, stream.Result(), err
		}
		text += piece
	}
}

// FaultOf is the fault of an error: empty for none and for the good end of a stream.
func FaultOf(err error) llm.Fault {
	var e *llm.Error
	switch {
	case err == nil, errors.Is(err, io.EOF):
		return ""
	case errors.As(err, &e):
		return e.Fault
	}
	return llm.Fault("untyped: " + err.Error())
}
