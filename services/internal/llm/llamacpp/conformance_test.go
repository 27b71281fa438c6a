package llamacpp_test

import (
	"testing"
	"time"

	"github.com/tsumugi-dev/tsumugi/services/internal/llm"
	"github.com/tsumugi-dev/tsumugi/services/internal/llm/conformance"
	"github.com/tsumugi-dev/tsumugi/services/internal/llm/llamacpp"
	"github.com/tsumugi-dev/tsumugi/services/internal/llm/llmtest"
	"github.com/tsumugi-dev/tsumugi/services/internal/llm/wire"
)

func TestConformance(t *testing.T) {
	for name, o := range map[string]llmtest.Options{
		"Runes":         {Window: 64},
		"BytesWithBOS":  {Cut: llmtest.Bytes, BOS: true},
		"PairsWithAKey": {Cut: llmtest.Pairs, APIKey: "secret"},
	} {
		t.Run(name, func(t *testing.T) {
			server := llmtest.New(t, o)
			conformance.Run(t, conformance.Subject{Backend: client(t, server.URL), Prompt: "むかしむかし、"})
		})
	}
}

func TestFaulty(t *testing.T) {
	conformance.Faulty(t, conformance.Faults{At: at, With: broken})
}

// at is a client with its own time limits.
func at(t *testing.T, address string, limits llm.Timeouts) conformance.Backend {
	c := llamacpp.New(llamacpp.Config{Endpoint: wire.Endpoint{Name: "test", Address: address, Timeouts: limits}})
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func broken(t *testing.T, how conformance.Way, limits llm.Timeouts) *conformance.Broken {
	reply := llmtest.Runes("糸は夜の港へ")
	breaks := map[conformance.Way]llmtest.BreakFault{
		conformance.CutOff: llmtest.BreakCut, conformance.ErrorInside: llmtest.BreakError,
		conformance.Garbage: llmtest.BreakGarbage, conformance.Silent: llmtest.BreakSilent,
	}
	switch how {
	case conformance.HalfCharacters:
		reply = []string{"\xe3\x83\xaa", "\xe3\x83\xb3\xe3\x82", "\xb4"}
	case conformance.HalfAtTheEnd:
		reply = []string{"a", "b\xe3\x83"}
	case conformance.Empty:
		reply = nil
	}
	server := llmtest.New(t, llmtest.Options{Stepped: how == conformance.Endless, Reply: func(string) []string {
		if how == conformance.SlowStart {
			time.Sleep(3 * limits.Idle) // the slow model that this is about
		}
		return reply
	}})
	server.Break(llmtest.Faults{Break: breaks[how], BreakAfter: 3})
	if how == conformance.Endless {
		go server.Step(t) // Generate waits for the first piece
	}
	return &conformance.Broken{Backend: at(t, server.URL, limits), Stopped: func(*testing.T) { <-server.Aborted() }}
}

func client(t *testing.T, address string) *llamacpp.Client {
	t.Helper()
	c := llamacpp.New(llamacpp.Config{Endpoint: wire.Endpoint{
		Name: "test", Address: address, APIKey: "secret", Timeouts: llm.DefaultTimeouts(),
	}})
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	return c
}
