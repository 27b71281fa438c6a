package openai_test

import (
	"testing"

	"github.com/tsumugi-dev/tsumugi/services/internal/llm"
	"github.com/tsumugi-dev/tsumugi/services/internal/llm/conformance"
	"github.com/tsumugi-dev/tsumugi/services/internal/llm/openai"
	"github.com/tsumugi-dev/tsumugi/services/internal/llm/openai/openaitest"
	"github.com/tsumugi-dev/tsumugi/services/internal/llm/servertest"
	"github.com/tsumugi-dev/tsumugi/services/internal/llm/tokenizer"
	"github.com/tsumugi-dev/tsumugi/services/internal/llm/wire"
	"github.com/tsumugi-dev/tsumugi/services/internal/testkit"
)

func TestMain(m *testing.M) { testkit.Main(m) }

// gpt2 is a vocabulary of OpenAI, and the tokens of a fake that has it.
func gpt2(t *testing.T) (*tokenizer.Tokenizer, servertest.Rule) {
	t.Helper()
	v, err := tokenizer.OpenAI("r50k_base")
	if err != nil {
		t.Fatal(err)
	}
	return v, func(text string) []string {
		var pieces []string
		for _, n := range v.Lengths(text, tokenizer.Prompt) {
			pieces, text = append(pieces, text[:n]), text[n:]
		}
		return pieces
	}
}

func TestConformance(t *testing.T) {
	vocabulary, cut := gpt2(t)
	for name, test := range map[string]struct {
		server openaitest.Options
		config openai.Config
	}{
		"vLLM":          {openaitest.Options{Program: openaitest.VLLM, BOS: true, Window: 64}, openai.Config{Program: openai.VLLM}},
		"vLLMChat":      {openaitest.Options{Program: openaitest.VLLM, BOS: true, Around: 11}, openai.Config{Program: openai.VLLM, API: openai.Chat, Tools: true}},
		"vLLMWithAKey":  {openaitest.Options{Program: openaitest.VLLM, Cut: servertest.Pairs, APIKey: "secret"}, openai.Config{Program: openai.VLLM, Model: "fake"}},
		"llama.cpp":     {openaitest.Options{Program: openaitest.LlamaCpp, BOS: true, Cut: servertest.Bytes}, openai.Config{Program: openai.LlamaCpp}},
		"llama.cppChat": {openaitest.Options{Program: openaitest.LlamaCpp, Around: 5}, openai.Config{Program: openai.LlamaCpp, API: openai.Chat, Tools: true}},
		"OpenAI":        {openaitest.Options{Cut: cut, Models: []string{"a", "b"}}, openai.Config{Model: "b", Endpoint: wire.Endpoint{Window: 4096}, Tokenizer: vocabulary, Tools: true}},
		"OpenAIChat":    {openaitest.Options{Cut: cut}, openai.Config{API: openai.Chat, Endpoint: wire.Endpoint{Window: 4096}, Tokenizer: vocabulary, Tools: true}},
	} {
		t.Run(name, func(t *testing.T) {
			server := openaitest.New(t, test.server)
			c := client(t, server.URL, test.config)
			conformance.Run(t, conformance.Subject{
				Backend: c, Prompt: "むかしむかし、", NoPieces: test.config.Tokenizer == nil,
				NoStopString: test.server.Program != openaitest.VLLM, Wrapped: test.config.API == openai.Chat,
				NoVocabulary: test.config.Program == openai.VLLM, NoTools: !test.config.Tools,
			})
		})
	}
}

// The suite on a real llama.cpp server, raw and as a chat, and with a template that has a place for tools.
func TestRealServer(t *testing.T) {
	for name, test := range map[string]struct {
		address func(t *testing.T) string
		config  openai.Config
	}{
		"Completions": {gemma, openai.Config{Program: openai.LlamaCpp}},
		"Chat":        {gemma, openai.Config{Program: openai.LlamaCpp, API: openai.Chat}},
		"Tools":       {func(t *testing.T) string { t.Helper(); return testkit.ModelWithTools(t) }, openai.Config{Program: openai.LlamaCpp, Tools: true}},
	} {
		t.Run(name, func(t *testing.T) {
			c := client(t, test.address(t)+"/v1", test.config)
			conformance.Run(t, conformance.Subject{
				Backend: c, Prompt: "むかしむかし、", NoPieces: true, NoStopString: true, Wrapped: test.config.API == openai.Chat, NoTools: !test.config.Tools,
			})
		})
	}
}

func gemma(t *testing.T) string { t.Helper(); return testkit.Model(t, "gemma") }

func TestFaulty(t *testing.T) {
	for _, api := range []openai.API{openai.Completions, openai.Chat} {
		t.Run(string(api), func(t *testing.T) {
			conformance.Faulty(t, conformance.Faults{
				At: func(t *testing.T, address string, limits llm.Timeouts) conformance.Backend {
					t.Helper()
					return client(t, address, openai.Config{Program: openai.VLLM, API: api, Endpoint: wire.Endpoint{Timeouts: limits}, Model: "fake"})
				},
				Good: func(t *testing.T) conformance.Good {
					t.Helper()
					return conformance.Good{Address: openaitest.New(t, openaitest.Options{Program: openaitest.VLLM}).URL, Path: "/completions"}
				},
				With: func(t *testing.T, how conformance.Way, limits llm.Timeouts) *conformance.Broken {
					t.Helper()
					return broken(t, how, limits, api)
				},
			})
		})
	}
}

// client is a client with the name and the key that all tests use.
func client(t *testing.T, address string, config openai.Config) *openai.Client {
	t.Helper()
	config.Name, config.Address, config.APIKey = "test", address, "secret"
	if config.Timeouts == (llm.Timeouts{}) {
		config.Timeouts = llm.DefaultTimeouts()
	}
	if config.Program == "" {
		config.Program = openai.OpenAI
	}
	if config.API == "" {
		config.API = openai.Completions
	}
	c := openai.New(config)
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func broken(t *testing.T, how conformance.Way, limits llm.Timeouts, api openai.API) *conformance.Broken {
	t.Helper()
	server := openaitest.New(t, openaitest.Options{Program: openaitest.VLLM, Stepped: how == conformance.Endless, Reply: how.Reply(limits)})
	server.Break(openaitest.Faults{Break: how.Break(), BreakAfter: conformance.BreakAfter})
	if how == conformance.Endless {
		go server.Step(t) // the reader waits for the first piece
	}
	c := client(t, server.URL, openai.Config{Program: openai.VLLM, API: api, Endpoint: wire.Endpoint{Timeouts: limits}})
	return &conformance.Broken{Backend: c, Stopped: func(*testing.T) { <-server.Aborted() }}
}
