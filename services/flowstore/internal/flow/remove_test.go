package flow_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/flow"
)

func TestRemoval(t *testing.T) {
	t.Parallel()
	for title, c := range map[string]struct {
		edges   string
		current int
		index   int
		mode    flow.RemoveMode
		// members and edges that are left, and where the reader stands.
		left, joined string
		place        int
	}{
		"a leaf":                               {"1-2 2-3", 2, 3, flow.Restrict, "1 2 4", "1-2", 2},
		"a leaf where the reader stands":       {"1-2 2-3", 3, 3, flow.Restrict, "1 2 4", "1-2", 2},
		"a node alone where the reader stands": {"1-2 2-3", 4, 4, flow.Restrict, "1 2 3", "1-2 2-3", 3},
		"splice in the middle":                 {"1-2 2-3", 2, 2, flow.Splice, "1 3 4", "1-3", 1},
		"splice a root":                        {"1-2 1-3", 1, 1, flow.Splice, "2 3 4", "", 4},
		"splice with two and two":              {"1-3 2-3 3-4", 0, 3, flow.Splice, "1 2 4", "1-4 2-4", 0},
		"splice beside an edge past it":        {"1-2 1-3 2-3", 0, 2, flow.Splice, "1 3 4", "1-3", 0},
		"splice a leaf":                        {"1-2 2-3", 0, 3, flow.Splice, "1 2 4", "1-2", 0},
		"a subtree":                            {"1-2 2-3 2-4", 4, 2, flow.Subtree, "1", "", 1},
		"a subtree with a merged branch":       {"1-2 2-4 1-3 3-4", 0, 2, flow.Subtree, "1 3 4", "1-3 3-4", 0},
		"all":                                  {"1-2 1-3 2-4 3-4", 4, 1, flow.Subtree, "", "", 0},
		"out of a hand-made cycle":             {"1-2 2-3 3-2", 0, 2, flow.Splice, "1 3 4", "1-3", 0},
		"a subtree in a hand-made cycle":       {"1-2 2-3 3-2", 0, 3, flow.Subtree, "1 2 4", "1-2", 0},
		"a node that continues itself":         {"1-1 1-2", 0, 2, flow.Restrict, "1 3 4", "1-1", 0},
	} {
		t.Run(title, func(t *testing.T) {
			t.Parallel()
			f := graph(4, c.edges)
			f.Current = c.current
			change, err := f.Removal(c.index, c.mode)
			if err != nil {
				t.Fatal(err)
			}
			if err := f.Check(change); err != nil {
				t.Fatal(err)
			}
			after := f.Apply(change)
			left := ""
			for i, m := range after.Members {
				if i > 0 {
					left += " "
				}
				left += fmt.Sprint(m.Index)
			}
			if diff := cmp.Diff(edges(c.joined), after.Edges, noneIsEmpty); left != c.left || after.Current != c.place || diff != "" {
				t.Errorf("left are %s, the reader stands at %d, %s", left, after.Current, diff)
			}
			if after.Next != 5 {
				t.Errorf("the next index is %d", after.Next)
			}
		})
	}
}

func TestRemovalRefusals(t *testing.T) {
	t.Parallel()
	f := graph(3, "1-2 1-3")
	_, err := f.Removal(1, flow.Restrict)
	if diff := cmp.Diff(error(&flow.HasChildrenError{Flow: f.ID, Node: node(1), Children: nodes(2, 3)}), err); diff != "" {
		t.Error(diff)
	}
	_, err = f.Removal(4, flow.Splice)
	if diff := cmp.Diff(error(&flow.UnknownIndexError{Flow: f.ID, Index: 4}), err); diff != "" {
		t.Error(diff)
	}
}

// The names of branches outlive the node behind which they begin.
func TestSpliceKeepsNames(t *testing.T) {
	t.Parallel()
	f := flow.Examine(flow.Flow{Members: members(1, 2, 3, 4, 5), Edges: []flow.Edge{
		{From: 1, To: 2, Name: "main"}, {From: 2, To: 3}, {From: 2, To: 4, Name: "other"}, {From: 2, To: 5, Name: "third"}, {From: 1, To: 5},
	}})
	change, err := f.Removal(2, flow.Splice)
	if err != nil {
		t.Fatal(err)
	}
	want := []flow.Edge{{From: 1, To: 3, Name: "main"}, {From: 1, To: 4, Name: "other"}, {From: 1, To: 5}}
	if diff := cmp.Diff(want, f.Apply(change).Edges); diff != "" {
		t.Error(diff)
	}
}

// Splicing leaves every other node before and behind each other as it was; removing a subtree leaves every other path as it was.
func TestRemovalKeepsTheRest(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		f := graph(rapid.IntRange(1, 8).Draw(t, "members"), "")
		for range rapid.IntRange(0, 14).Draw(t, "edges") {
			from, to := rapid.SampledFrom(f.Members).Draw(t, "from").Index, rapid.SampledFrom(f.Members).Draw(t, "to").Index
			if c := (flow.Change{Connect: []flow.Edge{{From: from, To: to}}}); f.Check(c) == nil {
				f = f.Apply(c)
			}
		}
		gone := rapid.SampledFrom(f.Members).Draw(t, "gone")
		spliced := removed(t, f, gone.Index, flow.Splice)
		for _, m := range spliced.Members {
			want := ancestors(f, m.Index)
			delete(want, gone.Index)
			if diff := cmp.Diff(want, ancestors(spliced, m.Index)); diff != "" {
				t.Fatalf("before %d: %s", m.Index, diff)
			}
		}
		cut := removed(t, f, gone.Index, flow.Subtree)
		for _, m := range f.Members {
			_, stays := cut.NodeAt(m.Index)
			if behind := ancestors(f, m.Index)[gone.Index]; !behind && !stays {
				t.Fatalf("%d is gone and was not behind %d", m.Index, gone.Index)
			}
			if parents := f.Parents(m.Index); stays && len(parents) > 0 && len(cut.Parents(m.Index)) == 0 {
				t.Fatalf("%d has lost all that it continued", m.Index)
			}
		}
	})
}

func removed(t *rapid.T, f flow.Flow, index int, mode flow.RemoveMode) flow.Flow {
	c, err := f.Removal(index, mode)
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Check(c); err != nil {
		t.Fatal(err)
	}
	return f.Apply(c)
}
