package llamacpp_test

import (
	"testing"

	"github.com/tsumugi-dev/tsumugi/services/internal/llm"
	"github.com/tsumugi-dev/tsumugi/services/internal/llm/conformance"
	"github.com/tsumugi-dev/tsumugi/services/internal/llm/llamacpp"
	"github.com/tsumugi-dev/tsumugi/services/internal/llm/llmtest"
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

func client(t *testing.T, address string) *llamacpp.Client {
	t.Helper()
	c := llamacpp.New(llamacpp.Config{
		Name: "test", Address: address, APIKey: "secret", Timeouts: llm.DefaultTimeouts(),
	})
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	return c
}
