package library

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
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
	f := woven(7, flow.Edge{From: 1, To: 2}, flow.Edge{From: 1, To: 3}, flow.Edge{From: 2, To: 4}, flow.Edge{From: 2, To: 5}, flow.Edge{From: 3, To: 4},
		flow.Edge{From: 5, To: 7}, flow.Edge{From: 6, To: 5})
	there := map[int]int{1: 10, 4: 40, 5: 50, 6: 2, 7: 70}
	got, err := nearest(f, func(index int) (int, bool) { at, ok := there[index]; return at, ok })
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[int][]int{10: nil, 40: {10}, 50: {2, 10}, 2: nil, 70: {50}}, got); diff != "" {
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
	if err != nil || asked != 2*row || len(got) != row+1 || !cmp.Equal(got[2*row], []int{1}) {
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
