package toolbox

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/tsumugi-dev/tsumugi/services/agent/internal/ledger"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/policy"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/router"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/tool"
	"github.com/tsumugi-dev/tsumugi/services/internal/testkit"
)

func TestMain(m *testing.M) { testkit.Main(m) }

// told are the tools that a server tells, by namespace: each time they are admitted anew.
type told map[string][]tool.Definition

func (t told) Wait(context.Context, string, string) bool    { return true }
func (t told) Tools(ns string) []*tool.Tool                 { return admitted(t[ns]) }
func (t told) Effect(string, tool.Definition) router.Effect { return nil }

func definition(name, description string, of tool.Origin) tool.Definition {
	return tool.Definition{Name: name, Description: description, Input: `{"type":"object"}`, Origin: of, Timeout: 1, Limit: 1}
}

func declares(all ...tool.Definition) ledger.Session {
	return ledger.Session{Settings: ledger.Settings{Tools: all}}
}

var (
	client = tool.Origin{Kind: tool.Client}
	server = tool.Origin{Kind: tool.MCP, Server: "maps", ServerID: "maps of the test"}
)

func box(t *testing.T, s Servers) *Box {
	t.Helper()
	set, err := policy.NewSet([]policy.Policy{policy.Default()}, policy.Default().Name)
	if err != nil {
		t.Fatal(err)
	}
	return &Box{Policies: set, Servers: s, Session: Own{}}
}

func registry(t *testing.T, b *Box, ns string, s ledger.Session) *tool.Registry {
	t.Helper()
	r, err := b.Router(t.Context(), ns, s)
	if err != nil {
		t.Fatal(err)
	}
	return r.Tools
}

// TestOneRegistryForTheSameTools: sessions with the same tools have the same registry, also where a server was asked again, and no session
// has one with tools of another, however little these differ.
func TestOneRegistryForTheSameTools(t *testing.T) {
	t.Parallel()
	weather := definition("weather", "The weather.", client)
	slower, ordered := weather, weather
	slower.Timeout, ordered.Input = 2, `{"properties":{},"type":"object"}`
	reordered := ordered
	reordered.Input = `{"type":"object","properties":{}}`
	servers := told{"a": {definition("route", "A route.", server)}, "b": {definition("route", "A way.", server)}}
	b := box(t, servers)
	met := declares()
	_, met.Pins, _ = tool.Pins(nil).Keep(servers.Tools("b")) // In the namespace a another definition stands by that name.
	cases := []struct {
		name, ns string
		s        ledger.Session
		has      []string
	}{
		{"its own", "", declares(weather), []string{"weather"}},
		{"none", "", declares(), nil},
		{"another time limit", "", declares(slower), []string{"weather"}},
		{"another schema", "", declares(ordered), []string{"weather"}},
		{"another order of keys", "", declares(reordered), []string{"weather"}},
		{"a server's", "a", declares(), []string{"maps.route"}},
		{"another namespace's", "b", declares(), []string{"maps.route"}},
		{"pinned to another definition", "a", met, nil},
		{"both", "a", declares(weather), []string{"maps.route", "weather"}},
	}
	made := map[*tool.Registry]string{}
	for _, c := range cases {
		first := registry(t, b, c.ns, c.s)
		if again := registry(t, b, c.ns, c.s); again != first {
			t.Errorf("%s: made twice", c.name)
		}
		if other, known := made[first]; known && (c.name != "pinned to another definition" || other != "none") {
			t.Errorf("%s has the registry of %q", c.name, other)
		}
		made[first] = c.name
		var has []string
		for _, one := range first.Tools() {
			if one.Origin.Kind == tool.BuiltIn {
				continue
			}
			has = append(has, one.Full())
			want := slices.Concat(c.s.Tools, servers[c.ns])
			if !slices.Contains(want, one.Definition) {
				t.Errorf("%s has %+v", c.name, one.Definition)
			}
		}
		if slices.Sort(has); !slices.Equal(has, c.has) {
			t.Errorf("%s: has %q, want %q", c.name, has, c.has)
		}
	}
}

// TestRegistriesAreBounded: the one that nobody has used for longest goes, and refused tools are refused each time.
func TestRegistriesAreBounded(t *testing.T) {
	t.Parallel()
	b := box(t, told{})
	session := func(i int) ledger.Session { return declares(definition(fmt.Sprintf("t%d", i), "One.", client)) }
	first, second := registry(t, b, "", session(0)), registry(t, b, "", session(1))
	for i := 2; i <= maxRegistries; i++ {
		registry(t, b, "", session(i))
		if registry(t, b, "", session(0)) != first {
			t.Fatalf("%d: made anew", i)
		}
	}
	if registry(t, b, "", session(1)) == second || len(b.registries.used) != maxRegistries {
		t.Errorf("%d are kept, among them the oldest", len(b.registries.used))
	}
	for range 2 {
		if r, err := b.Router(t.Context(), "", declares(definition("node_detail", "Ours.", client))); err == nil {
			t.Errorf("there are two tools of one name: %v", r.Tools)
		}
	}
}

// TestRegistriesTogether: callers at once get the tools of their own session.
func TestRegistriesTogether(t *testing.T) {
	t.Parallel()
	b := box(t, told{})
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			for n := range 200 {
				name := fmt.Sprintf("t%d", (n*7+i)%(maxRegistries+8))
				r, err := b.Router(t.Context(), "", declares(definition(name, "One.", client)))
				if err != nil {
					t.Error(err)
					return
				}
				if _, ok := r.Tools.Find(name); !ok {
					t.Errorf("%s is missing", name)
				}
			}
		})
	}
	all.Wait()
}

// BenchmarkRouter is what a call is judged by, for a session with a tool of its own.
func BenchmarkRouter(b *testing.B) {
	set, err := policy.NewSet([]policy.Policy{policy.Default()}, policy.Default().Name)
	if err != nil {
		b.Fatal(err)
	}
	box, s := &Box{Policies: set, Servers: told{}, Session: Own{}}, declares(definition("weather", "The weather.", client))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := box.Router(b.Context(), "", s); err != nil {
			b.Fatal(err)
		}
	}
}
