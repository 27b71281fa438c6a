package openaiwire

import (
	"testing"

	"github.com/tsumugi-dev/tsumugi/services/internal/llm/servertest"
	"github.com/tsumugi-dev/tsumugi/services/internal/llm/wire"
)

// FuzzStream: what servertest.Packets says, whatever arrives.
func FuzzStream(f *testing.F) {
	const event = `data: {"choices":[{"index":0,"text":"夜","delta":{"content":"夜"},"finish_reason":null}],"usage":null}` + "\n\n"
	for _, s := range []string{
		event, event + "data: [DONE]\n\n",
		event + `data: {"choices":[{"index":0,"text":"\u3042","finish_reason":"stop","stop_reason":"。"}],"usage":{"prompt_tokens":3,"completion_tokens":2}}` + "\n\n",
		event + `data: {"error":{"message":"boom","code":"x"}}` + "\n\n", event + `data: {"object":"error","message":"m","code":400}` + "\n\n",
		"error: {\"code\":500}\n\n", `data: {"choices":[],"timings":{"prompt_ms":1e400}}` + "\n\n",
		"data: {\"choices\":[{\"text\":\"\xe3\x83\"}]}\n\ndata: {\"choices\":[{\"text\":\"\xaa\",\"finish_reason\":\"length\"}]}\n\n", "data: null\n\n",
		`data: {"choices":[{"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"x","arguments":"{\"夜"}},{"function":{"arguments":"\":1}"}}]}}]}` + "\n\n" +
			`data: {"choices":[{"delta":{},"finish_reason":"tool_calls"}]}` + "\n\n",
	} {
		f.Add(s, true)
		f.Add(s, false)
	}
	f.Fuzz(func(t *testing.T, in string, chat bool) {
		servertest.Packets(t, in, wire.NewEvents, func(s *wire.Server) wire.Answer {
			return NewAnswer(s, chat, []string{"。"})
		})
	})
}
