package session

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"
)

// TestRandomHistories goes 200 events at random through a universe with the limits that hold by default, three calls a batch, and a
// crash before any of them: what comes back from the disk is what was there, and every property of a state and of a step holds.
func TestRandomHistories(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		u := newUniverse(scope{
			calls: 3, budget: 20, rec: 3, reasks: 2, file: rapid.Bool().Draw(t, "provable"), crash: true, stall: true, att: true, world: rapid.Bool().Draw(t, "others"),
			admin: true, ask: true, question: true, edit: true, late: rapid.Bool().Draw(t, "late"),
		})
		u.m.Limits = DefaultLimits()
		x := &exploration{universe: u, rows: map[[3]string]int{}, found: map[string]string{}}
		x.broken = func(prop, what string) { t.Fatalf("%s: %s", prop, what) }
		w := world{State: New(), fs: 'B'}
		for range 200 {
			data, err := json.Marshal(w.State)
			if err != nil {
				t.Fatal(err)
			}
			var back State
			if err := json.Unmarshal(data, &back); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(w.State, back, cmpopts.EquateEmpty()); diff != "" {
				t.Fatalf("a state does not come back from JSON: %s", diff)
			}
			w.State = back
			x.checkState(w)
			edges := append([]edge{}, x.edges(w)...)
			x.checkEdges(w, edges)
			e := edges[rapid.IntRange(0, len(edges)-1).Draw(t, "event")]
			x.checkEdge(w, e, e.label)
			for prop, what := range x.found {
				t.Fatalf("%s: %s, at %s", prop, what, e.label)
			}
			w = e.to
		}
	})
}
