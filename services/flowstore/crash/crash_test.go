package main

import (
	"math/rand/v2"
	"testing"
	"time"

	flowstorev1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/flowstore/v1"
)

// A few real kills, so that the program that proves durability is itself known to run.
func TestFewKills(t *testing.T) {
	if testing.Short() {
		t.Skip("builds and kills a real flowstore")
	}
	r := &report{random: rand.New(rand.NewPCG(1, 1)), started: time.Now()}
	if err := run(t.Context(), options{kills: 3, writers: 4, seed: 1}, r); err != nil {
		t.Fatal(err)
	}
	if r.kills != 3 || r.lost > 0 || r.failedStarts > 0 || r.acknowledged == 0 {
		t.Errorf("%+v", r)
	}
}

// A comparison that finds nothing proves something only if it finds what is wrong.
func TestCompareFlowFindsLosses(t *testing.T) {
	t.Parallel()
	whole := func() *flowstorev1.Flow {
		return &flowstorev1.Flow{
			Nodes: []*flowstorev1.FlowNode{{Index: 1, Node: "a"}, {Index: 2, Node: "b"}, {Index: 3, Node: "c"}},
			Edges: []*flowstorev1.Edge{{From: 1, To: 3}, {From: 2, To: 3}},
		}
	}
	record := &flowRecord{name: "f", parents: map[string][]string{"a": nil, "b": nil, "c": {"a", "b"}}}
	for name, tt := range map[string]struct {
		spoil func(f *flowstorev1.Flow)
		lost  int
	}{
		"nothing wrong":            {func(*flowstorev1.Flow) {}, 0},
		"another order":            {func(f *flowstorev1.Flow) { f.Edges[0], f.Edges[1] = f.Edges[1], f.Edges[0] }, 0},
		"a node and its edges":     {func(f *flowstorev1.Flow) { f.Nodes, f.Edges = f.Nodes[:2], nil }, 1},
		"an edge":                  {func(f *flowstorev1.Flow) { f.Edges = f.Edges[:1] }, 1},
		"a node nobody asked for":  {func(f *flowstorev1.Flow) { f.Nodes = append(f.Nodes, &flowstorev1.FlowNode{Index: 4, Node: "d"}) }, 1},
		"an edge nobody asked for": {func(f *flowstorev1.Flow) { f.Edges = append(f.Edges, &flowstorev1.Edge{From: 1, To: 2}) }, 1},
		"a warning":                {func(f *flowstorev1.Flow) { f.Warnings = []string{"w"} }, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			trial := &trial{report: &report{}, ledger: newLedger()}
			got := whole()
			tt.spoil(got)
			if trial.compareFlow(record, got); trial.lost != tt.lost {
				t.Errorf("%d losses, want %d", trial.lost, tt.lost)
			}
		})
	}
}
