package gemini

import (
	"testing"

	"github.com/tsumugi-dev/tsumugi/services/internal/llm/servertest"
	"github.com/tsumugi-dev/tsumugi/services/internal/llm/wire"
)

// FuzzStream: what servertest.Packets says, whatever arrives.
func FuzzStream(f *testing.F) {
	for _, s := range []string{
		"data: {\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"夜\"},{\"text\":\"x\",\"thought\":true}]}}]}\r\n\r\n" +
			"data: {\"candidates\":[{\"finishReason\":\"STOP\"}],\"usageMetadata\":{\"promptTokenCount\":3}}\r\n\r\n",
		"data: {\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"\xe5\xa4\"}]}}]}\n\ndata: {\"candidates\":[{\"finishReason\":\"MAX_TOKENS\"}]}\n\n",
		"data: {\"promptFeedback\":{\"blockReason\":\"SAFETY\",\"safetyRatings\":[null,{\"blocked\":true}]}}\n\n",
		"data: {\"error\":{\"code\":503,\"message\":\"x\",\"details\":[{\"retryDelay\":\"1s\"},{\"retryDelay\":5}]}}\n\n",
		"data: {\"candidates\":[null,{}]}\n\n", "data: {\"candidates\":\"x\"}\n\n", "data: null\n\n", "data: [",
		"data: {\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"a。b\"}]}}]}\n\n",
		"data: {\"candidates\":[{\"content\":{\"parts\":[{\"functionCall\":{\"name\":\"x\",\"args\":{\"a\":1}},\"thoughtSignature\":\"c2ln\"}]},\"finishReason\":\"STOP\"}]}\n\n",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, in string) {
		servertest.Packets(t, in, wire.NewEvents, func(s *wire.Server) wire.Answer {
			return &answer{server: s, stops: wire.NewStops([]string{"。"})}
		})
	})
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
