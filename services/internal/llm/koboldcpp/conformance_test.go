package koboldcpp_test

import (
	"testing"

	"github.com/tsumugi-dev/tsumugi/services/internal/llm"
	"github.com/tsumugi-dev/tsumugi/services/internal/llm/conformance"
	"github.com/tsumugi-dev/tsumugi/services/internal/llm/koboldcpp"
	"github.com/tsumugi-dev/tsumugi/services/internal/llm/koboldcpp/koboldcpptest"
	"github.com/tsumugi-dev/tsumugi/services/internal/llm/servertest"
	"github.com/tsumugi-dev/tsumugi/services/internal/llm/wire"
	"github.com/tsumugi-dev/tsumugi/services/internal/testkit"
)

func TestMain(m *testing.M) { testkit.Main(m) }

func TestConformance(t *testing.T) {
	for name, o := range map[string]koboldcpptest.Options{
		"Runes":              {Window: 64},
		"BytesWithoutBOS":    {Cut: servertest.Bytes, NoBOS: true},
		"PairsWithAPassword": {Cut: servertest.Pairs, Password: "secret"},
		"Bursts":             {Burst: 3},
	} {
		t.Run(name, func(t *testing.T) {
			server := koboldcpptest.New(t, o)
			conformance.Run(t, conformance.Subject{Backend: client(t, server.URL), Prompt: "むかしむかし、", NoPieces: true, DropsGrammar: true, NoVocabulary: true, NoConversations: true, NoTools: true, NoSchema: true})
			if n := server.Together(); n != 1 {
				t.Errorf("%d counts at once", n)
			}
		})
	}
}

func TestFaulty(t *testing.T) {
	conformance.Faulty(t, conformance.Faults{At: at, With: broken, Good: func(t *testing.T) conformance.Good {
		t.Helper()
		return conformance.Good{Address: koboldcpptest.New(t, koboldcpptest.Options{}).URL, Path: "/generate/stream"}
	}})
}

func client(t *testing.T, address string) *koboldcpp.Client {
	t.Helper()
	return limited(t, address, llm.DefaultTimeouts())
}

func limited(t *testing.T, address string, limits llm.Timeouts) *koboldcpp.Client {
	t.Helper()
	c := koboldcpp.New(koboldcpp.Config{Endpoint: wire.Endpoint{Name: "test", Address: address, APIKey: "secret", Timeouts: limits}})
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func at(t *testing.T, address string, limits llm.Timeouts) conformance.Backend {
	t.Helper()
	return limited(t, address, limits)
}

func broken(t *testing.T, how conformance.Way, limits llm.Timeouts) *conformance.Broken {
	t.Helper()
	if how == conformance.ErrorInside {
		return nil // a stream of this server has no place for one
	}
	server := koboldcpptest.New(t, koboldcpptest.Options{
		// Behind something that keeps its connection to the server: only the abort reaches it.
		Stepped: how == conformance.Endless, Deaf: how == conformance.Endless, Reply: how.Reply(limits),
	})
	server.Break(koboldcpptest.Faults{Break: how.Break(), BreakAfter: conformance.BreakAfter})
	if how == conformance.Endless {
		go server.Step(t) // the reader waits for the first piece
	}
	return &conformance.Broken{Backend: limited(t, server.URL, limits), Stopped: func(t *testing.T) {
		t.Helper()
		if by := <-server.Aborted(); by != "abort" {
			t.Errorf("the work was stopped by %s", by)
		}
	}}
}
