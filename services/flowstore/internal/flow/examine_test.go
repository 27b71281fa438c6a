package flow_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/flow"
)

func TestExamineSoundFlow(t *testing.T) {
	t.Parallel()
	f := graph(4, "3-4 1-2 2-4 1-3")
	if len(f.Problems) > 0 || len(f.Skipped) > 0 {
		t.Errorf("problems %q, skipped %v", f.Problems, f.Skipped)
	}
	if f.Next != 5 {
		t.Errorf("next is %d", f.Next)
	}
	if diff := cmp.Diff(edges("1-2 1-3 2-4 3-4"), f.Edges); diff != "" {
		t.Error(diff)
	}
}

// cases/flowstore.md 4: a pointer and an edge to something that is not there. The flow opens with what remains.
func TestFlowstore04PointerAndEdgeToNothing(t *testing.T) {
	t.Parallel()
	f := flow.Examine(flow.Flow{
		Members: []flow.Member{{Index: 1, Node: node(1)}, {Index: 2, Node: node(2)}},
		Edges:   edges("1-2 2-77"),
		Current: 99,
	})
	want := []string{
		"connections: 2 -> 77: no node has index 77; it is left out of paths",
		"current: no node has index 99; the newest leaf, 2, is taken",
	}
	if diff := cmp.Diff(want, f.Problems); diff != "" {
		t.Error(diff)
	}
	if f.Current != 2 || indexes(f.Path(2)) != "1 2" {
		t.Errorf("current %d, path %q", f.Current, indexes(f.Path(2)))
	}
	if diff := cmp.Diff(edges("1-2 2-77"), f.Edges); diff != "" {
		t.Errorf("the edge stays in the flow: %s", diff)
	}
	if f.Next != 78 {
		t.Errorf("next is %d: a new node must not become what the edge waits for", f.Next)
	}
	moved := f.Apply(flow.Change{Current: ptr(1)})
	if diff := cmp.Diff(want[:1], moved.Problems); diff != "" {
		t.Errorf("moving the place settles its problem: %s", diff)
	}
	if len(f.Problems) != 2 {
		t.Error("the old value changed")
	}
}

func TestExamineMembers(t *testing.T) {
	t.Parallel()
	f := flow.Examine(flow.Flow{
		Problems: []string{"created: no time"},
		Members: []flow.Member{
			{Index: 7, Node: node(7)}, {Index: 2, Node: node(2)}, {Index: 2, Node: node(3)}, {Index: 4, Node: node(7)},
			{Index: 0, Node: node(5)}, {Index: flow.MaxIndex + 1, Node: node(6)},
		},
		Edges: edges("2-7 2-7 4-7"),
	})
	want := []string{
		"created: no time",
		"nodes: index 2 stands there twice; the entry of node 00000000-0000-4000-8000-000000000003 is left out",
		"nodes: node 00000000-0000-4000-8000-000000000007 stands there twice; index 7 counts, index 4 is left out",
		"nodes: index 0 of node 00000000-0000-4000-8000-000000000005 is not between 1 and 1000000000; the entry is left out",
		"nodes: index 1000000001 of node 00000000-0000-4000-8000-000000000006 is not between 1 and 1000000000; the entry is left out",
		"connections: 1 stand there more than once",
		"connections: 4 -> 7: no node has index 4; it is left out of paths",
	}
	if diff := cmp.Diff(want, f.Problems); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]flow.Member{{Index: 2, Node: node(2)}, {Index: 7, Node: node(7)}}, f.Members); diff != "" {
		t.Error(diff)
	}
	if indexes(f.Path(7)) != "2 7" || f.Next != 8 {
		t.Errorf("path %q, next %d", indexes(f.Path(7)), f.Next)
	}
}

func TestExamineCycles(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name, edges, skipped string
		n                    int
		path                 string
	}{
		{"to itself", "1-1 1-2", "1-1", 2, "1 2"},
		{"two", "1-2 2-1", "2-1", 2, "1 2"},
		{"three", "1-2 2-3 3-1", "3-1", 3, "1 2 3"},
		{"behind a root", "1-2 2-3 3-4 4-2 4-5", "4-2", 5, "1 2 3 4 5"},
		{"one of its edges leads back in number", "1-2 1-5 5-3 3-4 4-1", "4-1", 5, "1 5 3 4"},
		{"two cycles", "1-2 2-1 3-4 4-3 2-3", "2-1 4-3", 4, "1 2 3 4"},
		{"two cycles in one node", "1-2 2-1 2-3 3-2", "2-1 3-2", 3, "1 2 3"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			f := graph(c.n, c.edges)
			if diff := cmp.Diff(edges(c.skipped), f.Skipped); diff != "" {
				t.Error(diff)
			}
			if len(f.Problems) != len(f.Skipped) {
				t.Errorf("problems %q", f.Problems)
			}
			if got := indexes(f.Path(lastOf(c.path))); got != c.path {
				t.Errorf("path %q, want %q", got, c.path)
			}
			if diff := cmp.Diff(len(edges(c.edges)), len(f.Edges)); diff != "" {
				t.Errorf("edges stay in the flow: %s", diff)
			}
		})
	}
}

func lastOf(path string) int { return int(path[len(path)-1] - '0') }

// An edge that would run along a hand-made cycle is refused, also where the closing edge is left out of paths: accepted,
// it could become the one that is left out when the file is read again.
func TestCheckCountsSkippedEdges(t *testing.T) {
	t.Parallel()
	f := graph(3, "1-2 2-1 1-3")
	want := &flow.CycleError{Flow: f.ID, Path: nodes(2, 1, 3, 2), Closing: [][2]uuid.UUID{{node(3), node(2)}}}
	if diff := cmp.Diff(error(want), f.Check(flow.Change{Connect: edges("3-2")})); diff != "" {
		t.Error(diff)
	}
}
