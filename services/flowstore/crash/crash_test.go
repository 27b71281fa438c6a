package main

import (
	"io"
	"maps"
	"slices"
	"testing"

	flowstorev1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/flowstore/v1"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/flow"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/node"
	"github.com/tsumugi-dev/tsumugi/services/internal/kill"
)

// A few real kills, so that the program that proves durability is itself known to run.
func TestFewKills(t *testing.T) {
	if testing.Short() {
		t.Skip("builds and kills a real flowstore")
	}
	r := kill.NewReport(io.Discard, 1)
	if err := run(t.Context(), options{kills: 3, writers: 4, seed: 1}, r); err != nil {
		t.Fatal(err)
	}
	if r.Kills != 3 || !r.Sound() {
		t.Errorf("%+v", r)
	}
	for _, row := range rows {
		if r.Acknowledged[row.rpc] == 0 {
			t.Errorf("nothing was asked of %s", row.rpc)
		}
	}
}

// Whoever adds an RPC says here whether it writes.
func TestEveryRPCHasARow(t *testing.T) {
	t.Parallel()
	var known []string
	for _, r := range rows {
		known = append(known, r.rpc)
	}
	known = append(known, reads...)
	var all []string
	for _, m := range flowstorev1.FlowStoreService_ServiceDesc.Methods {
		all = append(all, m.MethodName)
	}
	for _, s := range flowstorev1.FlowStoreService_ServiceDesc.Streams {
		all = append(all, s.StreamName)
	}
	for _, rpc := range all {
		if !slices.Contains(known, rpc) {
			t.Errorf("%s: if it writes, give it a line in rows; if it does not, name it in reads", rpc)
		}
	}
	for i, rpc := range known {
		if !slices.Contains(all, rpc) || slices.Contains(known[:i], rpc) {
			t.Errorf("%s is named twice, or is no RPC", rpc)
		}
	}
}

// held is a flow with two nodes, the second continuing the first under a name, with a head.
func held() *flowstorev1.Flow {
	return &flowstorev1.Flow{
		Name: "flows/f", Description: "d", Current: "nodes/b",
		Nodes: []*flowstorev1.FlowNode{{Index: 1, Node: "nodes/a"}, {Index: 2, Node: "nodes/b"}, {Index: 3, Node: "nodes/c"}},
		Edges: []*flowstorev1.Edge{{From: 1, To: 3, DisplayName: "枝"}, {From: 2, To: 3}},
		Heads: []*flowstorev1.FlowHead{{DisplayName: "h", Node: "nodes/c"}},
		Links: []*flowstorev1.FlowLink{{Flow: "flows/g", Node: "nodes/a"}},
	}
}

// trialOf is a trial that was acknowledged a flow.
func trialOf(f *flowstorev1.Flow) *trial {
	t := &trial{Report: kill.NewReport(io.Discard, 1), ledger: newLedger()}
	for part, value := range flowParts(f) {
		t.ledger.set(key{f.GetName(), part}, value)
	}
	return t
}

// A comparison that finds nothing proves something only if it finds what is wrong.
func TestCompareFindsLosses(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		spoil func(f *flowstorev1.Flow)
		lost  int
	}{
		"nothing wrong":            {func(*flowstorev1.Flow) {}, 0},
		"another order":            {func(f *flowstorev1.Flow) { slices.Reverse(f.GetEdges()) }, 0},
		"a node and its edges":     {func(f *flowstorev1.Flow) { f.Nodes, f.Edges = f.GetNodes()[:2], nil }, 1},
		"an edge":                  {func(f *flowstorev1.Flow) { f.Edges = f.GetEdges()[:1] }, 1},
		"the name of an edge":      {func(f *flowstorev1.Flow) { f.Edges[0].DisplayName = "" }, 1},
		"the place":                {func(f *flowstorev1.Flow) { f.Current = "nodes/a" }, 1},
		"the description":          {func(f *flowstorev1.Flow) { f.Description = "" }, 1},
		"a head":                   {func(f *flowstorev1.Flow) { f.Heads = nil }, 1},
		"a head elsewhere":         {func(f *flowstorev1.Flow) { f.Heads[0].Node = "nodes/a" }, 1},
		"a link":                   {func(f *flowstorev1.Flow) { f.Links[0].Node = "" }, 2},
		"an edge to nowhere":       {func(f *flowstorev1.Flow) { f.Edges = append(f.Edges, &flowstorev1.Edge{From: 1, To: 9}) }, 1},
		"a node nobody asked for":  {func(f *flowstorev1.Flow) { f.Nodes = append(f.Nodes, &flowstorev1.FlowNode{Index: 4, Node: "nodes/d"}) }, 1},
		"an edge nobody asked for": {func(f *flowstorev1.Flow) { f.Edges = append(f.Edges, &flowstorev1.Edge{From: 1, To: 2}) }, 1},
		"a warning":                {func(f *flowstorev1.Flow) { f.Warnings = []string{"w"} }, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			trial, got := trialOf(held()), held()
			tt.spoil(got)
			if trial.compareParts("f", trial.ledger.is["flows/f"], flowParts(got)); trial.Lost != tt.lost {
				t.Errorf("%d losses, want %d", trial.Lost, tt.lost)
			}
		})
	}
}

// What was under way is done or not, as a whole; everything else stands as it was acknowledged.
func TestCompareUnderWay(t *testing.T) {
	t.Parallel()
	moved := &operation{rpc: "AddNode", writes: map[key]string{
		head("flows/f", "h"): "nodes/d", member("flows/f", "nodes/d"): continues(map[string]string{"nodes/c": ""}),
	}}
	chosen := &operation{rpc: "AddNode", token: "new", writes: map[key]string{
		{"flows/f", partCurrent}: "new", member("flows/f", "new"): continues(nil),
	}}
	withD := func(f *flowstorev1.Flow) {
		f.Nodes = append(f.GetNodes(), &flowstorev1.FlowNode{Index: 4, Node: "nodes/d"})
		f.Edges = append(f.GetEdges(), &flowstorev1.Edge{From: 3, To: 4})
	}
	for name, tt := range map[string]struct {
		underWay *operation
		change   func(f *flowstorev1.Flow)
		lost     int
	}{
		"not done":                 {moved, func(*flowstorev1.Flow) {}, 0},
		"done":                     {moved, func(f *flowstorev1.Flow) { withD(f); f.Heads[0].Node = "nodes/d" }, 0},
		"half done":                {moved, withD, 1},
		"something else":           {moved, func(f *flowstorev1.Flow) { f.Heads[0].Node = "nodes/a" }, 1},
		"something besides":        {moved, func(f *flowstorev1.Flow) { f.Description = "" }, 1},
		"a name that nobody knows": {chosen, withD, 0},
		"a name in a value":        {chosen, func(f *flowstorev1.Flow) { withD(f); f.Current = "nodes/d" }, 0},
		"and a loss besides":       {chosen, func(f *flowstorev1.Flow) { withD(f); f.Heads = nil }, 1},
		"a name, and nobody asks":  {&operation{}, withD, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			trial, got := trialOf(held()), held()
			trial.underWay = []*operation{tt.underWay}
			tt.change(got)
			if trial.compareUnderWay(map[string]map[string]string{"flows/f": flowParts(got)}); trial.Lost != tt.lost {
				t.Errorf("%d losses, want %d", trial.Lost, tt.lost)
			}
		})
	}
}

// Two operations under way never write the same, nor one what another one needs.
func TestLedgerKeepsOperationsApart(t *testing.T) {
	t.Parallel()
	l := newLedger()
	f, a := key{"flows/f", partIs}, member("flows/f", "nodes/a")
	first := &operation{writes: map[key]string{a: continues(nil)}, shares: []key{f}}
	second := &operation{writes: map[key]string{member("flows/f", "nodes/b"): continues(nil)}, shares: []key{f}}
	for name, o := range map[string]*operation{
		"writes what is written": {writes: map[key]string{a: ""}},
		"needs what is written":  {shares: []key{a}},
		"owns what is needed":    {owns: []key{f}},
	} {
		if l = newLedger(); !l.take(first) || !l.take(second) || l.take(o) {
			t.Errorf("%s: taken", name)
		}
		l.acknowledge(first, "")
		l.acknowledge(second, "")
		if !l.take(o) {
			t.Errorf("%s: not taken when the others are done", name)
		}
	}
	if l.is["flows/f"][a.Part] == "" {
		t.Error("what was acknowledged is not noted")
	}
}

// What the service tells and what stands in the files is compared in the same form.
func TestFilesHaveTheSameParts(t *testing.T) {
	t.Parallel()
	a, b, c, g := [16]byte{1}, [16]byte{2}, [16]byte{3}, [16]byte{4}
	f := flow.Flow{
		Description: "d", Current: 2, Members: []flow.Member{{Index: 1, Node: a}, {Index: 2, Node: b}, {Index: 3, Node: c}},
		Edges: []flow.Edge{{From: 1, To: 3, Name: "枝"}, {From: 2, To: 3}}, Heads: []flow.Head{{Name: "h", Index: 3}}, Links: []flow.Link{{From: 1, Flow: g}},
	}
	p := held()
	p.Current, p.Heads[0].Node, p.Links[0].Flow, p.Links[0].Node = node.Name(b), node.Name(c), flow.Name(g), node.Name(a)
	for i, id := range [][16]byte{a, b, c} {
		p.Nodes[i].Node = node.Name(id)
	}
	if got, want := flowFileParts(f), flowParts(p); !maps.Equal(got, want) {
		t.Errorf("%q, not %q", got, want)
	}
}
