package app_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	promptbuilderv1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/promptbuilder/v1"
	"github.com/tsumugi-dev/tsumugi/services/internal/llm/backends"
	"github.com/tsumugi-dev/tsumugi/services/internal/testkit"
	"github.com/tsumugi-dev/tsumugi/services/promptbuilder/app"
)

// ListBackends tells of each kind what docs/backends.md says that it can do, also while nobody answers there.
func TestCapabilities(t *testing.T) {
	t.Setenv("TEST_KEY", "hush")
	set, err := backends.Parse([]byte(`
default: llamacpp
backends:
  llamacpp: {kind: llamacpp, address: "http://127.0.0.1:1"}
  vocabulary: {kind: llamacpp, address: "http://127.0.0.1:1", tokenizer: ../../internal/llm/tokenizer/testdata/gpt-2.json}
  koboldcpp: {kind: koboldcpp, address: "http://127.0.0.1:1"}
  ollama: {kind: ollama, address: "http://127.0.0.1:1", model: m, tokenizer: ../../internal/llm/tokenizer/testdata/gemma.json}
  guess: {kind: ollama, address: "http://127.0.0.1:1", model: m, tokenizer: estimate}
  openai: {kind: openai, address: "http://127.0.0.1:1", window: 4096, tokenizer: o200k_base}
  vllm: {kind: openai, server: vllm, address: "http://127.0.0.1:1"}
  gemini: {kind: gemini, address: "http://127.0.0.1:1", model: m, api_key_env: TEST_KEY}
`))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = set.Close() })
	a, err := app.New(t.Context(), app.DefaultConfig(), app.Deps{Backends: set})
	if err != nil {
		t.Fatal(err)
	}
	client := promptbuilderv1.NewPromptBuilderServiceClient(testkit.Serve(t, a.Register))
	answer, err := client.ListBackends(t.Context(), &promptbuilderv1.ListBackendsRequest{})
	if err != nil {
		t.Fatal(err)
	}
	type can struct{ CountsHere, Estimates, Borders, StopString, Cache, Conversations, Tools, Schemas bool }
	got := map[string]can{}
	for _, b := range answer.GetBackends() {
		got[b.GetName()] = can{b.GetCountsHere(), b.GetEstimates(), b.GetTokenBorders(), b.GetStopStringTold(), b.GetCachedTokensTold(), b.GetTakesConversations(), b.GetTakesTools(), b.GetHoldsSchemas()}
	}
	want := map[string]can{
		"llamacpp":   {Borders: true, StopString: true, Cache: true, Conversations: true, Schemas: true},
		"vocabulary": {CountsHere: true, Borders: true, StopString: true, Cache: true, Conversations: true, Schemas: true},
		"koboldcpp":  {StopString: true},
		"ollama":     {CountsHere: true, Borders: true, Cache: true, Conversations: true, Schemas: true},
		"guess":      {CountsHere: true, Estimates: true, Cache: true, Conversations: true, Schemas: true},
		"openai":     {CountsHere: true, Borders: true, Cache: true, Conversations: true, Schemas: true, Tools: true},
		"vllm":       {StopString: true, Cache: true, Conversations: true, Schemas: true},
		"gemini":     {Cache: true, Conversations: true, Schemas: true, Tools: true},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("want -, got +:\n%s", diff)
	}
}
