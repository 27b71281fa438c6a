package flow_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
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
		{Kind: flow.CycleEdge, Edge: flow.Edge{From: 3, To: 2}, Text: "connections: 3 -> 2 closes a cycle; it is left out of paths", Cycle: []uuid.UUID{node(2), node(3), node(2)}},
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
			if p.Kind == flow.CycleEdge {
				checkCycle(t, f, p)
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

// checkCycle holds the cycle of a problem to the flow: its edges are there, the last of them is the one that is left out.
func checkCycle(t *rapid.T, f flow.Flow, p flow.Problem) {
	var indexes []int
	for _, n := range p.Cycle {
		index, ok := f.IndexOf(n)
		if !ok {
			t.Fatalf("%v is not in the flow", n)
		}
		indexes = append(indexes, index)
	}
	last := len(indexes) - 1
	if last < 1 || indexes[0] != p.Edge.To || indexes[last] != p.Edge.To || indexes[last-1] != p.Edge.From {
		t.Fatalf("%v is no cycle that %v closes", indexes, p.Edge)
	}
	for i := range last {
		if _, ok := f.Edge(indexes[i], indexes[i+1]); !ok {
			t.Errorf("there is no edge from %d to %d", indexes[i], indexes[i+1])
		}
	}
}

// What is told of cycles is bounded: their length, and how many are told.
func TestValidateWithLongCycles(t *testing.T) {
	t.Parallel()
	edges := []string{}
	for i := 1; i < 1200; i++ {
		edges = append(edges, fmt.Sprintf("%d-%d", i, i+1))
	}
	for i := range 150 {
		edges = append(edges, fmt.Sprintf("%d-1", 1200-i))
	}
	told := 0
	for _, p := range graph(1200, strings.Join(edges, " ")).Validate() {
		if p.Cycle == nil {
			continue
		}
		if told++; len(p.Cycle) != 1000 || p.Cycle[0] != node(1) || p.Cycle[999] != node(1000) {
			t.Fatalf("%v: %d nodes", p.Edge, len(p.Cycle))
		}
	}
	if told != 100 {
		t.Errorf("%d cycles are told", told)
	}
}
