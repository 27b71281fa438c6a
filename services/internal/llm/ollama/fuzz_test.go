package ollama

import (
	"testing"

	"github.com/tsumugi-dev/tsumugi/services/internal/llm/servertest"
	"github.com/tsumugi-dev/tsumugi/services/internal/llm/wire"
)

// FuzzStream: what servertest.Packets says, whatever arrives.
func FuzzStream(f *testing.F) {
	for _, s := range []string{
		"{\"response\":\"夜\",\"done\":false}\n{\"response\":\"\",\"done\":true,\"done_reason\":\"stop\",\"eval_count\":3}\n",
		"{\"response\":\"\xe5\xa4\",\"done\":false}\n{\"response\":\"\x9c\",\"done\":true,\"done_reason\":\"length\"}\n",
		"{\"response\":\"a\",\"done\":false}\n{\"error\":\"an error was encountered while running the model\"}\n",
		"{\"thinking\":\"a\",\"done\":false}\n", "{\"done\":true,\"done_reason\":\"load\"}\n", "[]\nnull\n", "{\"response\":1,\"done\":false}\n", "{",
		"{\"message\":{\"content\":\"夜\",\"tool_calls\":[{\"function\":{\"name\":\"x\",\"arguments\":{\"a\":1}}}]},\"done\":false}\n{\"message\":{},\"done\":true,\"done_reason\":\"stop\"}\n",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, in string) {
		servertest.Packets(t, in, wire.NewNDJSON, func(s *wire.Server) wire.Answer {
			return &answer{server: s}
		})
	})
}
