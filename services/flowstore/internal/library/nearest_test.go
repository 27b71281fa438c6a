package library

import (
	"cmp"
	"errors"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/google/uuid"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/flow"
)

// woven makes a flow of n nodes with these edges, by ascending index.
func woven(n int, edges ...flow.Edge) flow.Flow {
	f := flow.Flow{Edges: edges}
	for i := range n {
		f.Members = append(f.Members, flow.Member{Index: i + 1, Node: uuid.UUID{1, byte(i >> 16), byte(i >> 8), byte(i)}})
	}
	return f
}

func TestNearest(t *testing.T) {
	t.Parallel()
	// 1 is continued by 2 and 3, which were taken out and meet again in 4; 5 hangs on 2 and on the root 6.
	f := woven(7, flow.Edge{From: 1, To: 2, Name: "b"}, flow.Edge{From: 1, To: 3}, flow.Edge{From: 2, To: 4}, flow.Edge{From: 2, To: 5, Name: "c"}, flow.Edge{From: 3, To: 4},
		flow.Edge{From: 5, To: 7}, flow.Edge{From: 6, To: 5})
	there := map[int]int{1: 10, 4: 40, 5: 50, 6: 2, 7: 70}
	got, err := nearest(f, func(index int) (int, bool) { at, ok := there[index]; return at, ok })
	if err != nil {
		t.Fatal(err)
	}
	want := map[int][]way{1: nil, 2: {{10, "b"}}, 3: {{10, ""}}, 4: {{10, "b"}}, 5: {{2, ""}, {10, "c"}}, 6: nil, 7: {{50, ""}}}
	if diff := gocmp.Diff(want, got, gocmp.AllowUnexported(way{})); diff != "" {
		t.Error(diff)
	}
}

// A long row that was taken out, with a new node on each of it, is walked once and not once for each new node.
func TestNearestAsksOncePerNode(t *testing.T) {
	t.Parallel()
	const row = 10_000
	var edges []flow.Edge
	for i := 1; i <= row; i++ {
		if i < row {
			edges = append(edges, flow.Edge{From: i, To: i + 1})
		}
		edges = append(edges, flow.Edge{From: i, To: row + i})
	}
	asked := 0
	got, err := nearest(woven(2*row, edges...), func(index int) (int, bool) {
		asked++
		return index, index == 1 || index > row
	})
	if err != nil || asked != 2*row || len(got) != 2*row || !slices.Equal(got[2*row], []way{{from: 1}}) {
		t.Errorf("asked %d times, %d nodes, the last one continues %v: %v", asked, len(got), got[2*row], err)
	}
}

// 3,000 nodes that were taken out, each behind the one before and one that stayed: what the last would continue is all of them.
func TestNearestIsBounded(t *testing.T) {
	t.Parallel()
	const met = 3000
	var edges []flow.Edge
	for i := 1; i < met; i++ {
		edges = append(edges, flow.Edge{From: i, To: i + 1})
	}
	for i := 1; i <= met; i++ {
		edges = append(edges, flow.Edge{From: met + i, To: i})
	}
	_, err := nearest(woven(2*met, edges...), func(index int) (int, bool) { return index, index > met })
	if !errors.Is(err, errWoven) || !ofOne(err) {
		t.Errorf("got %v", err)
	}
}

// 2,000 nodes meet in one that was taken out, and 2,000 continue it: that would be four million edges.
func TestNearestIsBoundedBehindAMeeting(t *testing.T) {
	t.Parallel()
	const met = 2000
	var edges []flow.Edge
	for i := 1; i <= met; i++ {
		edges = append(edges, flow.Edge{From: i, To: met + 1})
	}
	for i := range met {
		edges = append(edges, flow.Edge{From: met + 1, To: met + 2 + i})
	}
	_, err := nearest(woven(2*met+1, edges...), func(index int) (int, bool) { return index, index != met+1 })
	if !errors.Is(err, errWoven) {
		t.Errorf("got %v", err)
	}
}

// Taking many out at once comes to what taking out one after the other comes to.
func TestWithoutIsSplicingOneByOne(t *testing.T) {
	t.Parallel()
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 1)) //nolint:gosec // a test
		n := 2 + r.IntN(9)
		f := woven(n)
		for to := 2; to <= n; to++ {
			for from := 1; from < to; from++ {
				if r.IntN(n) < 2 {
					f.Edges = append(f.Edges, flow.Edge{From: from, To: to})
				}
			}
		}
		slices.SortFunc(f.Edges, func(a, b flow.Edge) int { return cmp.Or(a.From-b.From, a.To-b.To) })
		f.Current, f.Next = 1+r.IntN(n), n+1
		f.Heads = []flow.Head{{Name: "a", Index: 1 + r.IntN(n)}, {Name: "place", Index: f.Current}}
		var gone []flow.Member
		want := f
		for _, m := range f.Members {
			if r.IntN(2) > 0 {
				continue
			}
			gone = append(gone, m)
			c, err := want.Removal(m.Index, flow.Splice)
			if err != nil {
				t.Fatal(err)
			}
			want = want.Apply(c)
		}
		got, err := without(f, gone)
		if err != nil {
			t.Fatal(err)
		}
		if at, err := want.Head("place"); err == nil {
			want.Current = at.Index
		} else { // not the newest leaf of what was left meanwhile, and what that one continued
			want.Current = want.NewestLeaf()
		}
		if diff := gocmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("seed %d: %v without %v: %s", seed, f.Edges, gone, diff)
		}
	}
}

// The edges that lead past a member have the name of the one that they stand for, a cycle of the file stays its problem, and what would be
// more than a flow takes is refused.
func TestWithoutKeepsNames(t *testing.T) {
	t.Parallel()
	f := woven(4, flow.Edge{From: 1, To: 2, Name: "a"}, flow.Edge{From: 1, To: 4, Name: "direct"}, flow.Edge{From: 2, To: 3}, flow.Edge{From: 3, To: 4, Name: "b"})
	got, err := without(f, f.Members[1:2])
	if err != nil || !slices.Equal(got.Edges, []flow.Edge{{From: 1, To: 3, Name: "a"}, {From: 1, To: 4, Name: "direct"}, {From: 3, To: 4, Name: "b"}}) {
		t.Error(got.Edges, err)
	}
	f = woven(3, flow.Edge{From: 1, To: 2}, flow.Edge{From: 2, To: 3}, flow.Edge{From: 3, To: 1})
	f.Skipped = f.Edges[2:]
	if got, err := without(f, f.Members[1:2]); err != nil || !slices.Equal(got.Edges, []flow.Edge{{From: 1, To: 3}, {From: 3, To: 1}}) {
		t.Error("with a cycle of its file:", got.Edges, err)
	}
	var edges []flow.Edge
	for i := 1; i <= 500; i++ {
		edges = append(edges, flow.Edge{From: i, To: 501})
	}
	for i := 502; i <= 1000; i++ {
		edges = append(edges, flow.Edge{From: 501, To: i})
	}
	f = woven(1000, edges...)
	var full *flow.FullError
	if _, err := without(f, f.Members[500:501]); !errors.As(err, &full) {
		t.Errorf("got %v", err)
	}
}

// What 10,000 nodes of a row take to go is what the flow takes, and not the flow for each. Not parallel: it counts what the process
// allocates.
func TestWithoutCopiesNotForEach(t *testing.T) { //nolint:paralleltest // see above
	const row, most = 10_000, 32 << 20
	var edges []flow.Edge
	for i := 1; i < row; i++ {
		edges = append(edges, flow.Edge{From: i, To: i + 1})
	}
	f := woven(row, edges...)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	got, err := without(f, f.Members[1:row-1])
	runtime.ReadMemStats(&after)
	if took := after.TotalAlloc - before.TotalAlloc; err != nil || len(got.Members) != 2 || len(got.Edges) != 1 || took > most {
		t.Errorf("%d members, %d edges, %d KiB: %v", len(got.Members), len(got.Edges), took>>10, err)
	} else {
		t.Logf("%d KiB", took>>10)
	}
}
