package openai

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
	const event = `data: {"choices":[{"index":0,"text":"夜","delta":{"content":"夜"},"finish_reason":null}],"usage":null}` + "\n\n"
	for _, s := range []string{
		event, event + "data: [DONE]\n\n",
		event + `data: {"choices":[{"index":0,"text":"\u3042","finish_reason":"stop","stop_reason":"。"}],"usage":{"prompt_tokens":3,"completion_tokens":2}}` + "\n\n",
		event + `data: {"error":{"message":"boom","code":"x"}}` + "\n\n", event + `data: {"object":"error","message":"m","code":400}` + "\n\n",
		"error: {\"code\":500}\n\n", `data: {"choices":[],"timings":{"prompt_ms":1e400}}` + "\n\n",
		"data: {\"choices\":[{\"text\":\"\xe3\x83\"}]}\n\ndata: {\"choices\":[{\"text\":\"\xaa\",\"finish_reason\":\"length\"}]}\n\n", "data: null\n\n",
	} {
		f.Add(s, true)
		f.Add(s, false)
	}
	f.Fuzz(func(t *testing.T, in string, chat bool) {
		text, end := drain(wire.NewEvents(strings.NewReader(in), 1<<16), chat)
		again, same := drain(wire.NewEvents(iotest.OneByteReader(strings.NewReader(in)), 1<<16), chat)
		if text != again || (end == nil) != (same == nil) {
			t.Errorf("%q, %v became %q, %v", text, end, again, same)
		}
		if !utf8.ValidString(text) {
			t.Errorf("the text is %q", text)
		}
	})
}

// drain reads a stream to its end; a good end is no error.
func drain(events *wire.Events, chat bool) (string, error) {
	a := &answer{server: wire.NewServer(wire.Config{Endpoint: wire.Endpoint{Name: "b", Timeouts: llm.DefaultTimeouts()}}), chat: chat, stops: wire.NewStops([]string{"。"})}
	text := ""
	for {
		e, err := events.Next()
		if errors.Is(err, io.EOF) {
			err = a.End()
			if err == nil {
				err = io.ErrUnexpectedEOF
			}
		}
		if err == nil {
			var piece string
			piece, err = a.Take(e)
			text += piece
		}
		if errors.Is(err, io.EOF) {
			return text, nil
		}
		if err != nil {
			return text, err
		}
	}
}
