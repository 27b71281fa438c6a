package openai_test

import (
	"testing"

	"github.com/tsumugi-dev/tsumugi/services/internal/llm"
	"github.com/tsumugi-dev/tsumugi/services/internal/llm/llamacpp"
	"github.com/tsumugi-dev/tsumugi/services/internal/llm/openai"
	"github.com/tsumugi-dev/tsumugi/services/internal/llm/servertest"
	"github.com/tsumugi-dev/tsumugi/services/internal/llm/wire"
	"github.com/tsumugi-dev/tsumugi/services/internal/testkit"
)

// conversation is asked at temperature 0, so that one server always answers the same.
func conversation(all ...llm.Message) llm.Request {
	cold := 0.0
	return llm.Request{Messages: all, Sampling: llm.Sampling{MaxTokens: 24, Temperature: &cold}}
}

// A real server answers a conversation the same whether it puts the messages into the form of the model itself (/v1/chat/completions)
// or first for the kind llamacpp (/apply-template), the roles among it; the second turn finds the first in the cache.
func TestConversationsOfARealServer(t *testing.T) {
	address := testkit.Model(t, "smollm2")
	endpoint := wire.Endpoint{Name: "test", Address: address, APIKey: "secret", Timeouts: llm.DefaultTimeouts()}
	raw := llamacpp.New(llamacpp.Config{Endpoint: endpoint})
	t.Cleanup(func() { _ = raw.Close() })
	chat := client(t, address, openai.Config{Program: openai.LlamaCpp, Endpoint: endpoint})
	system, hello := llm.Message{Role: llm.RoleSystem, Content: "You answer in one short sentence."}, llm.Message{Role: llm.RoleUser, Content: "Name a colour of the sky."}
	first, result, err := servertest.Ask(t, raw, conversation(system, hello))
	if err != nil || first == "" {
		t.Fatalf("%q, %v", first, err)
	}
	direct, _, err := servertest.Ask(t, chat, conversation(system, hello))
	if err != nil || direct != first {
		t.Errorf("/v1/chat/completions says %q, %v; /apply-template and /completion %q", direct, err, first)
	}
	said := llm.Message{Role: llm.RoleAssistant, Content: first}
	again := llm.Message{Role: llm.RoleUser, Content: "And one of 夜の海?"}
	for name, backend := range map[string]llm.Generator{"llamacpp": raw, "openai": chat} {
		text, later, err := servertest.Ask(t, backend, conversation(system, hello, said, again))
		if err != nil || text == "" || later.PromptTokens <= result.PromptTokens || later.CachedTokens < result.PromptTokens {
			t.Errorf("%s: %q, %v: %d tokens, %d of them cached; the first turn had %d", name, text, err, later.PromptTokens, later.CachedTokens, result.PromptTokens)
		}
	}
}
