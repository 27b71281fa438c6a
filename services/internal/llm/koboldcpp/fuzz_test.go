package koboldcpp

import (
	"testing"

	"github.com/tsumugi-dev/tsumugi/services/internal/llm/servertest"
	"github.com/tsumugi-dev/tsumugi/services/internal/llm/wire"
)

// FuzzStream: what servertest.Packets says, whatever arrives.
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
		servertest.Packets(t, in, wire.NewEvents, func(s *wire.Server) wire.Answer {
			return &answer{server: s, stops: wire.NewStops([]string{"。"})}
		})
	})
}
