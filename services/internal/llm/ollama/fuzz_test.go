package ollama

import (
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
	"unicode/utf8"

	"github.com/tsumugi-dev/tsumugi/services/internal/llm"
	"github.com/tsumugi-dev/tsumugi/services/internal/llm/wire"
)

// FuzzStream: whatever arrives, reading it ends, what comes out is text, and how it is cut into packets changes nothing.
func FuzzStream(f *testing.F) {
	for _, s := range []string{
		"{\"response\":\"夜\",\"done\":false}\n{\"response\":\"\",\"done\":true,\"done_reason\":\"stop\",\"eval_count\":3}\n",
		"{\"response\":\"\xe5\xa4\",\"done\":false}\n{\"response\":\"\x9c\",\"done\":true,\"done_reason\":\"length\"}\n",
		"{\"response\":\"a\",\"done\":false}\n{\"error\":\"an error was encountered while running the model\"}\n",
		"{\"thinking\":\"a\",\"done\":false}\n", "{\"done\":true,\"done_reason\":\"load\"}\n", "[]\nnull\n", "{\"response\":1,\"done\":false}\n", "{",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, in string) {
		whole, err1 := drain(wire.NewNDJSON(strings.NewReader(in), 1000))
		bits, err2 := drain(wire.NewNDJSON(iotest.OneByteReader(strings.NewReader(in)), 1000))
		if whole != bits || (err1 == nil) != (err2 == nil) || err1 != nil && err1.Error() != err2.Error() {
			t.Errorf("%q, %v and %q, %v", whole, err1, bits, err2)
		}
		if !utf8.ValidString(whole) {
			t.Errorf("the answer is %q", whole)
		}
	})
}

// drain gives the text of a stream and how it ended; io.EOF of the reader alone is no good end.
func drain(lines *wire.NDJSON) (string, error) {
	a := &answer{server: wire.NewServer(wire.Config{Endpoint: wire.Endpoint{Name: "b", Timeouts: llm.DefaultTimeouts()}})}
	var text strings.Builder
	for {
		e, err := lines.Next()
		if err != nil {
			return text.String(), err
		}
		piece, err := a.Take(e)
		text.WriteString(piece)
		if errors.Is(err, io.EOF) {
			return text.String(), nil
		}
		if err != nil {
			return text.String(), err
		}
	}
}
