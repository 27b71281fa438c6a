package flow_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"pgregory.net/rapid"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/flow"
)

func TestRebuilding(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, edges string
		line        []int
		want        string
	}{
		{"turned round", "1-2 2-3", []int{3, 2, 1}, "2-1 3-2"},
		{"a branch becomes a line", "1-2 1-3", []int{1, 2, 3}, "1-2 2-3"},
		{"as it was", "1-2 2-3", []int{1, 2, 3}, "1-2 2-3"},
		{"one out of the middle", "1-2 2-3 3-4", []int{2}, "1-2 2-3 3-4"},
		{"the others stay", "1-2 2-3 3-4 1-4", []int{3, 2}, "1-2 1-4 3-2 3-4"},
		{"new ones", "1-2", []int{1, 7, 2, 8}, "1-5 2-6 5-2"},
		{"out of a cycle made by hand", "1-2 2-3 3-1", []int{1, 2, 3}, "1-2 2-3"},
	} {
		f := graph(4, c.edges)
		change := f.Rebuilding(nodes(c.line...))
		if err := f.Check(change); err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
		got := f.Apply(change)
		if diff := cmp.Diff(edges(c.want), got.Edges, noneIsEmpty); diff != "" || len(got.Problems) > 0 {
			t.Errorf("%s: %q %s", c.name, got.Problems, diff)
		}
		if again := got.Rebuilding(nodes(c.line...)); !again.Empty() {
			t.Errorf("%s: a second time is %+v", c.name, again)
		}
	}
	named := graph(3, "1-2 2-3").Apply(flow.Change{Connect: []flow.Edge{{From: 1, To: 2, Name: "x"}, {From: 2, To: 3, Name: "y"}}})
	got := named.Apply(named.Rebuilding(nodes(1, 2)))
	if diff := cmp.Diff(named.Edges, got.Edges); diff != "" {
		t.Errorf("names: %s", diff)
	}
	f := graph(4, "1-2 2-3 1-4")
	want := &flow.CycleError{Flow: f.ID, Path: nodes(1, 2, 3, 1), Closing: [][2]uuid.UUID{{node(3), node(1)}}}
	if diff := cmp.Diff(error(want), f.Check(f.Rebuilding(nodes(3, 1)))); diff != "" {
		t.Error(diff)
	}
}

// Whatever the flow: the line is there, and nothing else between its nodes; or it would close a cycle.
func TestRebuildingHandMadeGraphs(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		f := drawHandMade(t)
		line := rapid.SliceOfNDistinct(rapid.IntRange(1, 12), 1, 6, rapid.ID).Draw(t, "line")
		c := f.Rebuilding(nodes(line...))
		if err := f.Check(c); err != nil {
			var cycle *flow.CycleError
			if !errors.As(err, &cycle) {
				t.Fatal(err)
			}
			return
		}
		got := f.Apply(c)
		place := map[int]int{}
		for i, n := range line {
			index, held := got.IndexOf(node(n))
			if !held {
				t.Fatalf("%d is not in the flow", n)
			}
			place[index] = i + 1
		}
		inLine := 0
		for _, e := range got.Edges {
			if from, to := place[e.From], place[e.To]; from != 0 && to != 0 {
				inLine++
				if to != from+1 {
					t.Fatalf("%v is in the line %v", e, line)
				}
			} else if _, was := f.Edge(e.From, e.To); !was {
				t.Fatalf("%v is new", e)
			}
		}
		if inLine != len(line)-1 {
			t.Fatalf("%d edges make the line %v", inLine, line)
		}
	})
}
