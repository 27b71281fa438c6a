package clienttool_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/tsumugi-dev/tsumugi/services/agent/internal/clienttool"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/ledger"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/tool"
)

const anything = `{"type":"object"}`

// TestDefinitions: everything that is wrong with what is declared is told at once, by field.
func TestDefinitions(t *testing.T) {
	t.Parallel()
	long := clienttool.Declared{Name: strings.Repeat("n", 64), Input: anything}
	many := make([]clienttool.Declared, clienttool.MaxTools+1)
	for i := range many {
		many[i] = clienttool.Declared{Name: fmt.Sprintf("t%d", i), Input: anything, Description: strings.Repeat("x", 5000)}
	}
	for name, tt := range map[string]struct {
		all  []clienttool.Declared
		want []string
	}{
		"none":             {nil, nil},
		"whole":            {[]clienttool.Declared{weather, long}, nil},
		"most":             {many[:51], nil},
		"too many, bytes":  {many, []string{"tools: must be at most 64, and are 65", "tools: must have at most 262144 bytes together"}},
		"a built-in":       {[]clienttool.Declared{{Name: "Read", Input: anything}}, []string{"tools[0].name: is the name of a tool that is built in"}},
		"exec":             {[]clienttool.Declared{{Name: "exec", Input: anything}}, []string{"tools[0].name: is the name of a tool that is built in"}},
		"twice":            {[]clienttool.Declared{weather, {Name: "WEATHER", Input: anything}}, []string{"tools[1].name: is the name of tools[0] already"}},
		"the separator":    {[]clienttool.Declared{{Name: "srv.act", Input: anything}}, []string{"tools[0].name: its name must be"}},
		"the wire's names": {[]clienttool.Declared{{Name: strings.Repeat("n", 70), Input: anything}, {Name: wire(t, strings.Repeat("n", 70)), Input: anything}}, []string{"tools: model servers could not tell"}},
		"all at once": {
			[]clienttool.Declared{weather, {Name: "a b", Input: `[]`, Description: "\xff", Timeout: 2 * time.Hour}},
			[]string{"tools[1].name: ", "tools[1].description: ", "tools[1].timeout: ", "tools[1].input_schema: its input schema is no JSON object"},
		},
	} {
		got, err := clienttool.Definitions(tt.all)
		var wrong *ledger.FieldsError
		if err != nil && !errors.As(err, &wrong) {
			t.Fatalf("%s: %v", name, err)
		}
		if wrong == nil {
			wrong = &ledger.FieldsError{}
		}
		if len(wrong.Wrong) != len(tt.want) || err == nil && len(got) != len(tt.all) {
			t.Errorf("%s: %+v, want %q", name, wrong.Wrong, tt.want)
			continue
		}
		for i, v := range wrong.Wrong {
			if text := v.Field + ": " + v.Description; !strings.HasPrefix(text, tt.want[i]) {
				t.Errorf("%s: %q, want %q", name, text, tt.want[i])
			}
		}
	}
}

// wire is the name that model servers get of a tool.
func wire(t testing.TB, name string) string {
	t.Helper()
	one, err := clienttool.Tools([]tool.Definition{{Name: name, Input: anything, Origin: tool.Origin{Kind: tool.Client}, Timeout: 1, Limit: 1}})
	if err != nil {
		t.Fatal(err)
	}
	return one[0].Wire()
}

// TestKeptAsDeclared: a session keeps a schema byte for byte, also in the store, and what is left out gets its default.
func TestKeptAsDeclared(t *testing.T) {
	t.Parallel()
	r := newRig(t, "")
	odd := clienttool.Declared{Name: "odd", Input: "{ \"type\" : \"object\",\n\t\"properties\": {\"b<\": {\"maximum\": 1e400}, \"a\u00e9\": {}} }"}
	if _, err := clienttool.Definitions([]clienttool.Declared{odd}); err == nil {
		t.Error("a number that nobody can hold was taken")
	}
	odd.Input = strings.ReplaceAll(odd.Input, "1e400", "18446744073709551615")
	defs, err := clienttool.Definitions([]clienttool.Declared{odd})
	r.ok(err)
	_, err = r.Ledger.Create(t.Context(), ns, ledger.Fresh{ID: "s2", Owner: "ann", Settings: ledger.Settings{Tools: defs}}, ann)
	r.ok(err)
	s, err := r.Ledger.Get(t.Context(), ns, "s2")
	r.ok(err)
	kept := s.Tools[0]
	if kept != defs[0] || kept.Input != odd.Input || kept.Timeout != clienttool.DefaultTimeout || kept.Limit != clienttool.MaxResult || kept.Origin.Kind != tool.Client {
		t.Errorf("%+v", kept)
	}
	if _, err := r.Ledger.Replay(t.Context(), ns, "s2"); err != nil {
		t.Error(err)
	}
}

// BenchmarkTools is what a session's tools cost each time that its calls are to be judged.
func BenchmarkTools(b *testing.B) {
	defs, err := clienttool.Definitions([]clienttool.Declared{weather})
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if _, err := clienttool.Tools(defs); err != nil {
			b.Fatal(err)
		}
	}
}
