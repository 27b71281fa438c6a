package flow_test

import (
	"testing"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/flow"
)

// tree is a flow of 10,000 members and 12,000 edges in which nearly everything hangs from member 1.
func tree() flow.Flow {
	const n = 10_000
	f := graph(n, "")
	for i := 2; i <= n; i++ {
		f.Edges = append(f.Edges, flow.Edge{From: i / 2, To: i})
		if i%5 == 0 {
			f.Edges = append(f.Edges, flow.Edge{From: i - 1, To: i})
		}
	}
	return flow.Examine(f)
}

func BenchmarkCheckNewEnd(b *testing.B) {
	f := tree()
	c := flow.Change{Add: []flow.Member{{Index: f.Next, Node: node(f.Next)}}, Connect: []flow.Edge{{From: 9_999, To: f.Next}}}
	for b.Loop() {
		if err := f.Check(c); err != nil {
			b.Fatal(err)
		}
	}
}

// The worst edge: everything behind member 1 is searched. Goal: at most 1 ms (field/perf.md row 28).
func BenchmarkCheckWorstEdge(b *testing.B) {
	f := tree().Apply(flow.Change{Add: []flow.Member{{Index: 10_001, Node: node(10_001)}}})
	c := flow.Change{Connect: []flow.Edge{{From: 10_001, To: 1}}}
	for b.Loop() {
		if err := f.Check(c); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkApplyNewEnd(b *testing.B) {
	f := tree()
	c := flow.Change{Add: []flow.Member{{Index: f.Next, Node: node(f.Next)}}, Connect: []flow.Edge{{From: 9_999, To: f.Next}}}
	for b.Loop() {
		f.Apply(c)
	}
}

func BenchmarkPath(b *testing.B) {
	f := tree()
	for b.Loop() {
		f.Path(10_000)
	}
}

func BenchmarkExamine(b *testing.B) {
	f := tree()
	for b.Loop() {
		flow.Examine(f)
	}
}
