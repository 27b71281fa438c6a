package llamacpp

import (
	"testing"

	"github.com/tsumugi-dev/tsumugi/services/internal/llm/servertest"
	"github.com/tsumugi-dev/tsumugi/services/internal/llm/wire"
)

// FuzzStream: what servertest.Packets says, whatever arrives.
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
		servertest.Packets(t, in, wire.NewEvents, func(s *wire.Server) wire.Answer {
			return &answer{server: s}
		})
	})
}
