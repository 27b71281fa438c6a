package llamacpp_test

import (
	"testing"

	"github.com/tsumugi-dev/tsumugi/services/internal/llm"
	"github.com/tsumugi-dev/tsumugi/services/internal/llm/conformance"
	"github.com/tsumugi-dev/tsumugi/services/internal/llm/llamacpp"
	"github.com/tsumugi-dev/tsumugi/services/internal/llm/llmtest"
	"github.com/tsumugi-dev/tsumugi/services/internal/llm/servertest"
	"github.com/tsumugi-dev/tsumugi/services/internal/llm/wire"
	"github.com/tsumugi-dev/tsumugi/services/internal/testkit"
)

func TestConformance(t *testing.T) {
	for name, o := range map[string]llmtest.Options{
		"Runes":         {Window: 64},
		"BytesWithBOS":  {Cut: servertest.Bytes, BOS: true},
		"PairsWithAKey": {Cut: servertest.Pairs, APIKey: "secret", Tools: true},
	} {
		t.Run(name, func(t *testing.T) {
			server := llmtest.New(t, o)
			conformance.Run(t, conformance.Subject{Backend: client(t, server.URL), Prompt: "むかしむかし、", NoTools: !o.Tools})
		})
	}
}

// The suite on a real server, which counts, and with a template that has a place for tools.
func TestRealServer(t *testing.T) {
	for _, model := range []string{"gemma", "smollm2"} {
		t.Run(model, func(t *testing.T) {
			conformance.Run(t, conformance.Subject{Backend: client(t, testkit.Model(t, model)), Prompt: "むかしむかし、", NoTools: true})
		})
	}
	t.Run("Tools", func(t *testing.T) {
		conformance.Run(t, conformance.Subject{Backend: client(t, testkit.ModelWithTools(t)), Prompt: "むかしむかし、"})
	})
}

func TestFaulty(t *testing.T) {
	conformance.Faulty(t, conformance.Faults{At: at, With: broken, Good: func(t *testing.T) conformance.Good {
		t.Helper()
		return conformance.Good{Address: llmtest.New(t, llmtest.Options{}).URL, Path: "/completion"}
	}})
}

// at is a client with its own time limits.
func at(t *testing.T, address string, limits llm.Timeouts) conformance.Backend {
	c := llamacpp.New(llamacpp.Config{Endpoint: wire.Endpoint{Name: "test", Address: address, Timeouts: limits}})
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func broken(t *testing.T, how conformance.Way, limits llm.Timeouts) *conformance.Broken {
	t.Helper()
	server := llmtest.New(t, llmtest.Options{Stepped: how == conformance.Endless, Reply: how.Reply(limits)})
	server.Break(llmtest.Faults{Break: how.Break(), BreakAfter: conformance.BreakAfter})
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
