package llamacpp

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

// FuzzStream: whatever arrives, reading it ends, gives whole characters, and how it is cut into packets changes nothing.
func FuzzStream(f *testing.F) {
	const piece = "data: {\"content\":\"\\u591c\",\"stop\":false}\n\n"
	for _, s := range []string{
		piece, piece + "data: {\"content\":\"\",\"stop\":true,\"stop_type\":\"eos\",\"tokens_predicted\":1,\"timings\":{\"cache_n\":3,\"prompt_ms\":1e99}}\n\n",
		piece + "data: {\"content\":\"\",\"stop\":true,\"stop_type\":\"word\",\"stopping_word\":\"。\"}\n\n", piece + "data: {\"stop\":true}\n\n",
		piece + "error: {\"code\":500,\"message\":\"Compute error.\"}\n\n", piece + "data: {\"error\":{\"code\":400,\"type\":\"exceed_context_size_error\",\"n_ctx\":8}}\n\n",
		"data: {\"content\":\"\xe3\x83\",\"stop\":false}\n\n: alive\n\ndata: {\"content\":\"\xaa\",\"stop\":true,\"stop_type\":\"limit\"}\n\n", "data: null\n\n",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, in string) {
		text, end := drain(wire.NewEvents(strings.NewReader(in), 1<<16))
		again, same := drain(wire.NewEvents(iotest.OneByteReader(strings.NewReader(in)), 1<<16))
		if text != again || (end == nil) != (same == nil) {
			t.Errorf("%q, %v became %q, %v", text, end, again, same)
		}
		if !utf8.ValidString(text) {
			t.Errorf("the text is %q", text)
		}
	})
}

// drain reads a stream to its end; a good end is no error.
func drain(events *wire.Events) (string, error) {
	a := &answer{server: wire.NewServer(wire.Config{Endpoint: wire.Endpoint{Name: "b", Timeouts: llm.DefaultTimeouts()}})}
	text := ""
	for {
		e, err := events.Next()
		if err != nil {
			return text, err
		}
		piece, err := a.Take(e)
		text += piece
		if errors.Is(err, io.EOF) {
			return text, nil
		}
		if err != nil {
			return text, err
		}
	}
}
