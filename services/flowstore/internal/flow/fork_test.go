package flow_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/flow"
)

// drawn writes a flow as the nodes of its members, its edges, heads, links and place, all by what they were in the flow of the
// test.
func drawn(f flow.Flow) string {
	old := func(index int) int {
		id, _ := f.NodeAt(index)
		return int(id[14])<<8 | int(id[15])
	}
	var b strings.Builder
	for _, m := range f.Members {
		fmt.Fprintf(&b, "%d ", old(m.Index))
	}
	for _, e := range f.Edges {
		fmt.Fprintf(&b, "| %d-%d%s ", old(e.From), old(e.To), e.Name)
	}
	for _, h := range f.Heads {
		fmt.Fprintf(&b, "| %s=%d ", h.Name, old(h.Index))
	}
	for _, l := range f.Links {
		fmt.Fprintf(&b, "| ->%d ", old(l.From))
	}
	return fmt.Sprintf("%s| at %d", b.String(), old(f.Current))
}

// The flow: 1-2-3-4, at 2 the branch 5-6, merged into 7 with 4; 8 is another root with 9. A hand made the cycle 9-8.
func TestFork(t *testing.T) {
	t.Parallel()
	f := graph(9, "1-2 2-3 3-4 2-5 5-6 4-7 6-7 8-9 9-8")
	f = f.Apply(flow.Change{
		Connect: []flow.Edge{{From: 2, To: 5, Name: "x"}}, Heads: heads("main=4 other=6"), Link: []flow.Link{{From: 6, Flow: node(90)}, {Flow: node(91)}}, Current: ptr(3),
		Name: ptr("n"), Description: ptr("d"), Story: &flow.Story{Title: ptr("t")},
	})
	for _, c := range []struct {
		way   flow.ForkWay
		index int
		want  string
	}{
		{flow.ForkWhole, 0, "1 2 3 4 5 6 7 8 9 | 1-2 | 2-3 | 2-5x | 3-4 | 4-7 | 5-6 | 6-7 | 8-9 | main=4 | other=6 | ->0 | ->0 | ->6 | at 3"},
		{flow.ForkPath, 4, "1 2 3 4 | 1-2 | 2-3 | 3-4 | main=4 | ->0 | ->4 | at 4"},
		{flow.ForkPath, 6, "1 2 5 6 | 1-2 | 2-5x | 5-6 | other=6 | ->0 | ->6 | ->6 | at 6"},
		{flow.ForkPath, 7, "1 2 3 4 5 6 7 | 1-2 | 2-3 | 2-5x | 3-4 | 4-7 | 5-6 | 6-7 | main=4 | other=6 | ->0 | ->6 | ->7 | at 7"},
		{flow.ForkSiblings, 4, "1 2 3 4 5 8 | 1-2 | 2-3 | 2-5x | 3-4 | main=4 | ->0 | ->4 | at 4"},
		{flow.ForkSiblings, 2, "1 2 8 | 1-2 | ->0 | ->2 | at 2"},
		{flow.ForkSubtree, 3, "3 4 7 | 3-4 | 4-7 | main=4 | ->0 | ->3 | at 3"},
		{flow.ForkSubtree, 5, "5 6 7 | 5-6 | 6-7 | other=6 | ->0 | ->5 | ->6 | at 7"},
		{flow.ForkSubtree, 8, "8 9 | 8-9 | ->0 | ->8 | at 9"},
	} {
		got, err := f.Fork(c.way, c.index)
		if err != nil {
			t.Fatal(err)
		}
		if text := drawn(got); text != c.want {
			t.Errorf("%d at %d:\n%s, want\n%s", c.way, c.index, text, c.want)
		}
		if got.Name != "n" || got.Description != "d" || *got.Story.Title != "t" || len(got.Problems) > 0 {
			t.Errorf("%d at %d: the words are %+v", c.way, c.index, got)
		}
		if diff := cmp.Diff(got, flow.Examine(got), noneIsEmpty); diff != "" {
			t.Errorf("%d at %d is no sound flow: %s", c.way, c.index, diff)
		}
	}
	for _, way := range []flow.ForkWay{flow.ForkPath, flow.ForkSiblings, flow.ForkSubtree} {
		if _, err := f.Fork(way, 10); cmp.Diff(error(&flow.UnknownIndexError{Flow: f.ID, Index: 10}), err) != "" {
			t.Errorf("of nothing: %v", err)
		}
	}
	if got, err := graph(0, "").Fork(flow.ForkWhole, 7); err != nil || drawn(got) != "| ->0 | at 0" {
		t.Errorf("of an empty flow: %s, %v", drawn(got), err)
	}
}

// Whatever the flow: a path is the same in its fork, and nothing else is there (langgraph #8443: the fork saw the branch that had
// been given up); a subtree is what the path of its members goes through.
func TestForksOfHandMadeGraphs(t *testing.T) {
	t.Parallel()
	nodesOf := func(steps []flow.Step) (list []string) {
		for _, s := range steps {
			list = append(list, s.Node.String())
		}
		return list
	}
	rapid.Check(t, func(t *rapid.T) {
		f := drawHandMade(t)
		if len(f.Members) == 0 {
			return
		}
		m := rapid.SampledFrom(f.Members).Draw(t, "member")
		for way := flow.ForkWhole; way <= flow.ForkSubtree; way++ {
			fork, err := f.Fork(way, m.Index)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(fork, flow.Examine(fork), noneIsEmpty); diff != "" {
				t.Fatalf("%d is no sound flow: %s", way, diff)
			}
			index, held := fork.IndexOf(m.Node)
			if !held {
				t.Fatalf("%d: the member is missing", way)
			}
			path := nodesOf(f.Path(m.Index))
			if way != flow.ForkSubtree && !slices.Equal(path, nodesOf(fork.Path(index))) {
				t.Fatalf("%d: the path is %v, want %v", way, nodesOf(fork.Path(index)), path)
			}
			if way == flow.ForkPath && len(fork.Members) != len(path) {
				t.Fatalf("the fork holds %v beside %v", fork.Members, path)
			}
			for _, other := range f.Members {
				_, in := fork.IndexOf(other.Node)
				if way == flow.ForkSubtree && in != slices.Contains(nodesOf(f.Path(other.Index)), m.Node.String()) {
					t.Fatalf("%v is in the subtree: %v", other, in)
				}
			}
		}
	})
}

func TestForkIsBounded(t *testing.T) {
	t.Parallel()
	f := graph(1, "")
	for i := range flow.MaxLinks {
		f.Links = append(f.Links, flow.Link{Flow: node(i + 1)})
	}
	if _, err := f.Fork(flow.ForkPath, 1); cmp.Diff(error(&flow.FullError{Flow: f.ID, What: "links", Limit: flow.MaxLinks}), err) != "" {
		t.Error(err)
	}
}
