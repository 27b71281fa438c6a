package koboldcpp

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
	const event = "event: message\ndata: {\"token\": \"\\u591c\", \"finish_reason\": \"null\"}\n\n"
	for _, s := range []string{
		event, event + "event: message\ndata: {\"token\": \"。\", \"finish_reason\": \"length\"}\n\n",
		event + "event: message\ndata: {\"token\": \"\", \"finish_reason\": \"stop\"}\n\n", "data: {\"token\": null}\n\n", "data: null\n\n",
		"data: {\"token\": \"\xe3\x83\"}\n\ndata: {\"token\": \"\xaa\", \"finish_reason\": \"length\"}\n\n", "data: {\"token\": \"a\", \"finish_reason\": \"tired\"}\n\n",
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
	a := &answer{server: wire.NewServer(wire.Config{Endpoint: wire.Endpoint{Name: "b", Timeouts: llm.DefaultTimeouts()}}), stops: wire.NewStops([]string{"。"})}
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
