package flow_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/flow"
)

// The shapes that the original of seed 004 draws, each with the notation it has for them (field/flowstore.md row 29).
func TestPathOrder(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name  string
		n     int
		edges string
		of    int
		want  string
	}{
		{"a line: 1→2→3→4", 4, "1-2 2-3 3-4", 4, "1 2 3 4"},
		{"a line, from its middle", 4, "1-2 2-3 3-4", 2, "1 2"},
		{"a fork, one side: 1→2<3", 4, "1-2 2-3 2-4", 3, "1 2 3"},
		{"a fork, the other side: 1→2<4", 4, "1-2 2-3 2-4", 4, "1 2 4"},
		{"two roots meet: 1>3, 2>3, >3→4", 4, "1-3 2-3 3-4", 4, "1 2 3 4"},
		{"fork and merge: 1→2<, 2<3>5, 2<4>5, >5→6", 6, "1-2 2-3 2-4 3-5 4-5 5-6", 6, "1 2 3 4 5 6"},
		{"a branch stays together: 2<3→4>7, 2<5→6>7, >7→8", 8, "1-2 2-3 2-5 3-4 5-6 4-7 6-7 7-8", 8, "1 2 3 4 5 6 7 8"},
		{"three branches: 2<3>6, 2<4>6, 2<5>6, >6→7", 7, "1-2 2-3 2-4 2-5 3-6 4-6 5-6 6-7", 7, "1 2 3 4 5 6 7"},
		{"a branch stays together, whatever its numbers", 7, "1-2 1-3 2-6 3-4 4-5 5-7 6-7", 7, "1 2 6 3 4 5 7"},
		{"a short cut past a branch", 4, "1-2 2-3 3-4 1-4", 4, "1 2 3 4"},
		{"a later member before an earlier one", 3, "3-1 1-2", 2, "3 1 2"},
		{"other branches are not on the path", 6, "1-2 2-3 1-4 4-5 5-6", 3, "1 2 3"},
		{"a retried root is a second root (row 19)", 3, "1-3", 2, "2"},
		{"alone", 1, "", 1, "1"},
		{"no such member", 2, "1-2", 3, ""},
		{"nothing at all", 0, "", 0, ""},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if got := indexes(graph(c.n, c.edges).Path(c.of)); got != c.want {
				t.Errorf("path of %d: %q, want %q", c.of, got, c.want)
			}
		})
	}
}

// Whole flows in the order of field/flowstore.md row 29; the first eight are the shapes of the original of seed 004.
func TestHistoryOrder(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		n     int
		edges string
		want  string
	}{
		{"a line: 1→2→3→4", 4, "1-2 2-3 3-4", "1 2 3 4"},
		{"a fork: 1→2<, 2<3, 2<4", 4, "1-2 2-3 2-4", "1 2 3 4"},
		{"two lines: 1→3, 2→4", 4, "1-3 2-4", "1 3 2 4"},
		{"two roots meet: 1>3, 2>3, >3→4", 4, "1-3 2-3 3-4", "1 2 3 4"},
		{"fork and merge: 1→2<, 2<3>5, 2<4>5, >5→6", 6, "1-2 2-3 2-4 3-5 4-5 5-6", "1 2 3 4 5 6"},
		{"branches stay together: 2<3→5>7, 2<4→6>7, >7→8", 8, "1-2 2-3 2-4 3-5 4-6 5-7 6-7 7-8", "1 2 3 5 4 6 7 8"},
		{"three branches: 2<3>6, 2<4>6, 2<5>6, >6→7", 7, "1-2 2-3 2-4 2-5 3-6 4-6 5-6 6-7", "1 2 3 4 5 6 7"},
		{"a fork in a branch: 1<2<4>6, 2<5>6, 1<3→7", 7, "1-2 1-3 2-4 2-5 4-6 5-6 3-7", "1 2 4 5 6 3 7"},
		{"a branch that is not merged", 6, "1-2 1-3 2-4 3-5 2-6 5-6", "1 2 4 3 5 6"},
		{"a retried root is a second root (row 19)", 3, "1-3", "1 3 2"},
		{"a later member before an earlier one", 3, "3-1 1-2", "3 1 2"},
		{"a cycle made by hand loses its last edge (row 20)", 3, "1-2 2-3 3-1", "1 2 3"},
		{"nothing at all", 0, "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if got := indexes(graph(c.n, c.edges).History()); got != c.want {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}

func TestPathTellsParents(t *testing.T) {
	t.Parallel()
	f := graph(4, "1-3 2-3 3-4")
	var got [][]flow.Member
	for _, step := range f.Path(4) {
		got = append(got, step.Parents)
		if alone := f.Parents(step.Index); !cmp.Equal(step.Parents, alone, cmp.Comparer(sameMembers)) {
			t.Errorf("Parents(%d) = %v, on the path %v", step.Index, alone, step.Parents)
		}
	}
	want := [][]flow.Member{{}, {}, {{Index: 1, Node: node(1)}, {Index: 2, Node: node(2)}}, {{Index: 3, Node: node(3)}}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func sameMembers(a, b []flow.Member) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}

func TestNewestLeaf(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		n     int
		edges string
		want  int
	}{{0, "", 0}, {3, "", 3}, {3, "1-2 2-3", 3}, {3, "3-2", 2}, {4, "1-2 4-3 3-1", 2}, {2, "1-2 2-1", 2}} {
		if got := graph(c.n, c.edges).NewestLeaf(); got != c.want {
			t.Errorf("newest leaf of %d members, %q: %d, want %d", c.n, c.edges, got, c.want)
		}
	}
}
