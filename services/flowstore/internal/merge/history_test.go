package merge_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/google/uuid"
	"pgregory.net/rapid"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/flow"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/merge"
)

// Two clones of a conversation that is mostly one line take nodes and branches out of it, lead past some and go on behind others.
func TestNoBranchLosesItsHistory(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		n := 0
		fresh := func() uuid.UUID { n++; return node(n) }
		base := flow.Examine(flow.Flow{ID: node(999)})
		for range rapid.IntRange(3, 7).Draw(t, "nodes") {
			base = goOn(base, max(0, len(base.Members)-rapid.SampledFrom([]int{1, 1, 1, 2}).Draw(t, "back")), fresh())
		}
		ours, theirs := work(t, base, fresh), work(t, base, fresh)
		got, told, err := merge.Flows(base, ours, theirs)
		if err != nil {
			t.Fatal(err)
		}
		checkNodes(t, base, ours, theirs, got)
		checkEdges(t, base, ours, theirs, got, told)
		checkHistory(t, base, ours, theirs, got, told)
		again, _, err := merge.Flows(base, got, theirs)
		if diff := cmp.Diff(got, again, cmpopts.EquateEmpty()); diff != "" || err != nil {
			t.Fatalf("merged twice: %v %s", err, diff)
		}
	})
}

// goOn adds a node behind the one at a position.
func goOn(f flow.Flow, at int, id uuid.UUID) flow.Flow {
	c := flow.Change{Add: []flow.Member{{Index: f.Next, Node: id}}}
	if at < len(f.Members) {
		c.Connect = []flow.Edge{{From: f.Members[at].Index, To: f.Next}}
	}
	return f.Apply(c)
}

func work(t *rapid.T, f flow.Flow, fresh func() uuid.UUID) flow.Flow {
	for range rapid.IntRange(0, 4).Draw(t, "steps") {
		if len(f.Members) == 0 {
			return f
		}
		at := rapid.IntRange(0, len(f.Members)-1)
		a := at.Draw(t, "at")
		var c flow.Change
		switch rapid.IntRange(0, 4).Draw(t, "step") {
		case 0:
			f = goOn(f, a, fresh())
			continue
		case 1:
			c, _ = f.Removal(f.Members[a].Index, flow.Subtree)
		case 2:
			if len(f.Edges) == 0 {
				continue
			}
			old := rapid.SampledFrom(f.Edges).Draw(t, "edge")
			c.Connect = []flow.Edge{{From: f.Members[a].Index, To: old.To}}
			if rapid.Bool().Draw(t, "reconnect") {
				c.Disconnect = []flow.Edge{old}
			}
		default:
			c, _ = f.Removal(f.Members[a].Index, flow.Splice)
		}
		if f.Check(c) == nil {
			f = f.Apply(c)
		}
	}
	return f
}

// checkHistory wants behind a node that stays, though one side took it out, all that it continues on the other side; and
// what both sides lead to past what is gone.
func checkHistory(t *rapid.T, base, ours, theirs, got flow.Flow, told []string) {
	now := ends(got)
	for _, sides := range [][2]flow.Flow{{ours, theirs}, {theirs, ours}} {
		for e := range ends(sides[0]) {
			back := holds(got, e[1]) && holds(base, e[1]) && !holds(sides[1], e[1])
			if back && !now[e] && !isTold(told, e, "of theirs is left out") {
				t.Fatalf("node %s does not continue %s any more", e[1], e[0])
			}
		}
	}
	for _, a := range got.Members {
		for _, b := range got.Members {
			e := [2]uuid.UUID{a.Node, b.Node}
			gone := func(id uuid.UUID) bool { return !holds(got, id) }
			if a != b && !now[e] && leads(ours, e, gone) && leads(theirs, e, gone) && !isTold(told, e, "of theirs is left out") {
				t.Fatalf("node %s does not lead to %s any more", e[0], e[1])
			}
		}
	}
}
