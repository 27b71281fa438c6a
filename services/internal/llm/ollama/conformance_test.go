package ollama_test

import (
	"testing"

	"github.com/tsumugi-dev/tsumugi/services/internal/llm"
	"github.com/tsumugi-dev/tsumugi/services/internal/llm/conformance"
	"github.com/tsumugi-dev/tsumugi/services/internal/llm/ollama"
	"github.com/tsumugi-dev/tsumugi/services/internal/llm/ollama/ollamatest"
	"github.com/tsumugi-dev/tsumugi/services/internal/llm/tokenizer"
	"github.com/tsumugi-dev/tsumugi/services/internal/llm/wire"
	"github.com/tsumugi-dev/tsumugi/services/internal/testkit"
)

func TestMain(m *testing.M) { testkit.Main(m) }

// vocabulary is a small one with a BOS.
func vocabulary(t *testing.T) *tokenizer.Tokenizer {
	t.Helper()
	v, err := tokenizer.Open("../tokenizer/testdata/gemma.json")
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// fake is a server that counts as the vocabulary does.
func fake(t *testing.T, o ollamatest.Options) *ollamatest.Server {
	t.Helper()
	v := vocabulary(t)
	o.Count = func(text string) int { return v.Count(text, tokenizer.Prompt) }
	return ollamatest.New(t, o)
}

// client is a client of the model `story` with the name, the key and the vocabulary that all tests use.
func client(t *testing.T, e wire.Endpoint) *ollama.Client {
	t.Helper()
	e.Name, e.APIKey = "test", "secret"
	if e.Timeouts == (llm.Timeouts{}) {
		e.Timeouts = llm.DefaultTimeouts()
	}
	c := ollama.New(ollama.Config{Endpoint: e, Model: "story", Tokenizer: vocabulary(t)})
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func TestConformance(t *testing.T) {
	for name, test := range map[string]struct {
		server         ollamatest.Options
		window, margin int
	}{
		"AsItIsLoaded":      {ollamatest.Options{Loaded: 1024, Tools: true}, 0, 0},
		"AsTheRequestAsks":  {ollamatest.Options{Loaded: 4096}, 512, 0},
		"WithAMargin":       {ollamatest.Options{}, 512, 100},
		"MoreThanItHas":     {ollamatest.Options{Trained: 512}, 1024, 0},
		"OldBuild":          {ollamatest.Options{Old: true}, 512, 0},
		"Thinks":            {ollamatest.Options{Thinks: true, Tools: true}, 512, 0},
		"BehindAProxyOfKey": {ollamatest.Options{APIKey: "secret"}, 512, 0},
	} {
		t.Run(name, func(t *testing.T) {
			c := client(t, wire.Endpoint{Address: fake(t, test.server).URL, Window: test.window, Margin: test.margin})
			conformance.Run(t, conformance.Subject{Backend: c, Prompt: "むかしむかし、", NoStopString: true, NoTools: !test.server.Tools})
		})
	}
}

func TestFaulty(t *testing.T) {
	conformance.Faulty(t, conformance.Faults{
		At: func(t *testing.T, address string, limits llm.Timeouts) conformance.Backend {
			t.Helper()
			return client(t, wire.Endpoint{Address: address, Window: 512, Timeouts: limits})
		},
		Good: func(t *testing.T) conformance.Good {
			t.Helper()
			return conformance.Good{Address: fake(t, ollamatest.Options{}).URL, Path: "/api/generate"}
		},
		With: func(t *testing.T, how conformance.Way, limits llm.Timeouts) *conformance.Broken {
			t.Helper()
			server := fake(t, ollamatest.Options{Stepped: how == conformance.Endless, Reply: how.Reply(limits)})
			server.Break(ollamatest.Faults{Break: how.Break(), BreakAfter: conformance.BreakAfter})
			if how == conformance.Endless {
				go server.Step(t) // the reader waits for the first piece
			}
			return &conformance.Broken{
				Backend: client(t, wire.Endpoint{Address: server.URL, Window: 512, Timeouts: limits}),
				Stopped: func(*testing.T) { <-server.Aborted() },
			}
		},
	})
}
