package gemini_test

import (
	"testing"

	"github.com/tsumugi-dev/tsumugi/services/internal/llm"
	"github.com/tsumugi-dev/tsumugi/services/internal/llm/conformance"
	"github.com/tsumugi-dev/tsumugi/services/internal/llm/gemini"
	"github.com/tsumugi-dev/tsumugi/services/internal/llm/gemini/geminitest"
	"github.com/tsumugi-dev/tsumugi/services/internal/llm/wire"
	"github.com/tsumugi-dev/tsumugi/services/internal/testkit"
)

func TestMain(m *testing.M) { testkit.Main(m) }

// client is a client of the model `gemini-story` with the name and the key that all tests use.
func client(t *testing.T, address string, config gemini.Config) *gemini.Client {
	t.Helper()
	config.Name, config.Address, config.APIKey = "test", address, "secret"
	if config.Model == "" {
		config.Model = "gemini-story"
	}
	if config.Timeouts == (llm.Timeouts{}) {
		config.Timeouts = llm.DefaultTimeouts()
	}
	c := gemini.New(config)
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func TestConformance(t *testing.T) {
	none := 0
	for name, test := range map[string]struct {
		server geminitest.Options
		config gemini.Config
	}{
		"Plain":          {geminitest.Options{Limit: 512}, gemini.Config{}},
		"WithAMargin":    {geminitest.Options{Limit: 512}, gemini.Config{Endpoint: wire.Endpoint{Margin: gemini.Margin}}},
		"Thinks":         {geminitest.Options{Limit: 512, Thoughts: 30}, gemini.Config{ThinkingBudget: &none}},
		"RefusesInLists": {geminitest.Options{Limit: 512, List: true}, gemini.Config{NoTools: true}},
	} {
		t.Run(name, func(t *testing.T) {
			c := client(t, geminitest.New(t, test.server).URL, test.config)
			conformance.Run(t, conformance.Subject{Backend: c, Prompt: "むかしむかし、", NoPieces: true, NoStopString: true, NoTools: test.config.NoTools})
		})
	}
}

func TestFaulty(t *testing.T) {
	conformance.Faulty(t, conformance.Faults{
		At: func(t *testing.T, address string, limits llm.Timeouts) conformance.Backend {
			t.Helper()
			return client(t, address, gemini.Config{Endpoint: wire.Endpoint{Timeouts: limits}})
		},
		Good: func(t *testing.T) conformance.Good {
			t.Helper()
			return conformance.Good{Address: geminitest.New(t, geminitest.Options{}).URL, Path: ":streamGenerateContent"}
		},
		With: func(t *testing.T, how conformance.Way, limits llm.Timeouts) *conformance.Broken {
			t.Helper()
			server := geminitest.New(t, geminitest.Options{Stepped: how == conformance.Endless, Reply: how.Reply(limits)})
			server.Break(geminitest.Faults{Break: how.Break(), BreakAfter: conformance.BreakAfter})
			if how == conformance.Endless {
				go server.Step(t) // the reader waits for the first piece
			}
			return &conformance.Broken{
				Backend: client(t, server.URL, gemini.Config{Endpoint: wire.Endpoint{Timeouts: limits}}),
				Stopped: func(*testing.T) { <-server.Aborted() },
			}
		},
	})
}
