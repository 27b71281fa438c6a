package flow_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/flow"
)

func TestValidate(t *testing.T) {
	t.Parallel()
	f := graph(3, "1-2 2-3 3-2 1-9 8-7")
	f.Members = append(f.Members, flow.Member{Index: 3, Node: node(5)})
	f.Current = 99
	f.Problems = []string{"updated: line 3: has no zone; it is taken for UTC"}
	want := []flow.Problem{
		{Text: f.Problems[0]},
		{Text: "nodes: index 3 stands there twice; the entry of node " + node(5).String() + " is left out"},
		{Kind: flow.DanglingEdge, Edge: flow.Edge{From: 1, To: 9}, Text: "connections: 1 -> 9: no node has index 9; it is left out of paths"},
		{Kind: flow.DanglingEdge, Edge: flow.Edge{From: 8, To: 7}, Text: "connections: 8 -> 7: no node has index 8; it is left out of paths"},
		{Kind: flow.CycleEdge, Edge: flow.Edge{From: 3, To: 2}, Text: "connections: 3 -> 2 closes a cycle; it is left out of paths"},
		{Kind: flow.BadCurrent, Text: "current: no node has index 99; the newest leaf, 3, is taken"},
	}
	if diff := cmp.Diff(want, flow.Examine(f).Validate()); diff != "" {
		t.Error(diff)
	}
	if got := graph(3, "1-2 2-3").Validate(); len(got) > 0 {
		t.Errorf("a flow without fault: %v", got)
	}
}

// Every edge that paths leave out is told as data, once, whatever a hand wrote.
func TestValidateTellsEverySkippedEdge(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		raw := flow.Flow{Members: []flow.Member{{Index: 1, Node: node(1)}, {Index: 2, Node: node(2)}, {Index: 4, Node: node(4)}}}
		for range rapid.IntRange(0, 12).Draw(t, "edges") {
			raw.Edges = append(raw.Edges, flow.Edge{From: rapid.IntRange(0, 5).Draw(t, "from"), To: rapid.IntRange(0, 5).Draw(t, "to")})
		}
		f := flow.Examine(raw)
		told := map[flow.Edge]int{}
		for _, p := range f.Validate() {
			if p.Kind == flow.DanglingEdge || p.Kind == flow.CycleEdge {
				told[p.Edge]++
			}
		}
		for _, e := range f.Skipped {
			if told[e] != 1 {
				t.Errorf("%v is told %d times", e, told[e])
			}
		}
		if len(told) != len(f.Skipped) {
			t.Errorf("told %v, left out %v", told, f.Skipped)
		}
	})
}
