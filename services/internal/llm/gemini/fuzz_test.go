package gemini

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
		"data: {\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"夜\"},{\"text\":\"x\",\"thought\":true}]}}]}\r\n\r\n" +
			"data: {\"candidates\":[{\"finishReason\":\"STOP\"}],\"usageMetadata\":{\"promptTokenCount\":3}}\r\n\r\n",
		"data: {\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"\xe5\xa4\"}]}}]}\n\ndata: {\"candidates\":[{\"finishReason\":\"MAX_TOKENS\"}]}\n\n",
		"data: {\"promptFeedback\":{\"blockReason\":\"SAFETY\",\"safetyRatings\":[null,{\"blocked\":true}]}}\n\n",
		"data: {\"error\":{\"code\":503,\"message\":\"x\",\"details\":[{\"retryDelay\":\"1s\"},{\"retryDelay\":5}]}}\n\n",
		"data: {\"candidates\":[null,{}]}\n\n", "data: {\"candidates\":\"x\"}\n\n", "data: null\n\n", "data: [",
		"data: {\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"a。b\"}]}}]}\n\n",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, in string) {
		whole, err1 := drain(wire.NewEvents(strings.NewReader(in), 1000))
		bits, err2 := drain(wire.NewEvents(iotest.OneByteReader(strings.NewReader(in)), 1000))
		if whole != bits || (err1 == nil) != (err2 == nil) || err1 != nil && err1.Error() != err2.Error() {
			t.Errorf("%q, %v and %q, %v", whole, err1, bits, err2)
		}
		if !utf8.ValidString(whole) {
			t.Errorf("the answer is %q", whole)
		}
	})
}

// drain gives the text of a stream and how it ended.
func drain(events *wire.Events) (string, error) {
	a := &answer{server: wire.NewServer(wire.Config{Endpoint: wire.Endpoint{Name: "b", Timeouts: llm.DefaultTimeouts()}}), stops: wire.NewStops([]string{"。"})}
	var text strings.Builder
	for {
		e, err := events.Next()
		if err != nil {
			return text.String(), errors.Join(err, a.End())
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

// FuzzWords: whatever a refusal says, reading it ends.
func FuzzWords(f *testing.F) {
	for _, s := range []string{
		`{"error":{"code":400,"message":"The input token count (101) exceeds the maximum number of tokens allowed (100).","status":"INVALID_ARGUMENT"}}`,
		`[{"error":{"code":429,"details":[{"retryDelay":"37s"},null,{"reason":3}]}}]`, `{"error":null}`, `[]`, `{"error":"x"}`, `<html>`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		if w := words(body); w.Tokens < 0 || w.Window < 0 || w.RetryAfter < 0 {
			t.Errorf("%q is %+v", body, w)
		}
	})
}
