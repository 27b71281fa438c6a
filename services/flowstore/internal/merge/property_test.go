package merge_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/google/uuid"
	"pgregory.net/rapid"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/flow"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/merge"
)

func node(n int) uuid.UUID { return uuid.MustParse(fmt.Sprintf("0192f000-0000-7000-8000-%012d", n)) }

func at(minute int) time.Time { return time.Date(2026, 4, 1, 9, minute, 0, 0, time.UTC) }

func ptr[T any](v T) *T { return &v }

// drawChange draws a change that may or may not be right; fresh makes the ids of new nodes.
func drawChange(t *rapid.T, f flow.Flow, fresh func() uuid.UUID) flow.Change {
	c := flow.Change{At: at(rapid.IntRange(0, 59).Draw(t, "minute"))}
	for range rapid.IntRange(0, 2).Draw(t, "new") {
		c.Add = append(c.Add, flow.Member{Index: f.Next + len(c.Add), Node: fresh()})
	}
	anyIndex := rapid.IntRange(1, max(f.Next+len(c.Add)-1, 1))
	for range rapid.IntRange(0, 4).Draw(t, "edges") {
		c.Connect = append(c.Connect, flow.Edge{From: anyIndex.Draw(t, "from"), To: anyIndex.Draw(t, "to"), Name: rapid.SampledFrom([]string{"", "main", "rain"}).Draw(t, "name")})
	}
	words := rapid.SampledFrom([]string{"", "a", "b", "c"})
	if rapid.IntRange(0, 2).Draw(t, "rewrite") == 0 {
		c.Name = ptr(words.Draw(t, "words"))
		c.Story = &flow.Story{Title: ptr(words.Draw(t, "title")), Keywords: rapid.SliceOfNDistinct(words, 0, 3, rapid.ID).Draw(t, "keywords")}
	}
	if len(f.Members) > 0 && rapid.IntRange(0, 2).Draw(t, "remove") == 0 {
		c.Remove = []flow.Member{rapid.SampledFrom(f.Members).Draw(t, "removed")}
		mode := rapid.SampledFrom([]flow.RemoveMode{flow.Restrict, flow.Splice, flow.Subtree}).Draw(t, "mode")
		if removal, err := f.Removal(c.Remove[0].Index, mode); err == nil {
			c.Remove, c.Connect = removal.Remove, append(c.Connect, removal.Connect...)
		}
	}
	if len(f.Edges) > 0 && rapid.IntRange(0, 2).Draw(t, "disconnect") == 0 {
		c.Disconnect = []flow.Edge{rapid.SampledFrom(f.Edges).Draw(t, "disconnected")}
	}
	if rapid.IntRange(0, 2).Draw(t, "branches") == 0 {
		c.Heads = []flow.Head{{Name: rapid.SampledFrom([]string{"main", "rain"}).Draw(t, "head"), Index: anyIndex.Draw(t, "head at")}}
		c.Link = []flow.Link{{From: rapid.SampledFrom([]int{0, 1, 2}).Draw(t, "link from"), Flow: node(900 + rapid.IntRange(0, 1).Draw(t, "link to"))}}
	}
	if len(f.Links) > 0 && rapid.IntRange(0, 2).Draw(t, "unlink") == 0 {
		c.Unlink = f.Links[:1]
	}
	if rapid.Bool().Draw(t, "move") {
		c.Current = ptr(anyIndex.Draw(t, "current"))
	}
	return c
}

func grow(t *rapid.T, f flow.Flow, most int, fresh func() uuid.UUID) flow.Flow {
	for range rapid.IntRange(0, most).Draw(t, "changes") {
		if c := drawChange(t, f, fresh); f.Check(c) == nil {
			f = f.Apply(c)
		}
	}
	return f
}

// draw gives a flow and what became of it in two clones; some nodes are new in both. Hands may have been at work.
func draw(t *rapid.T, hands bool) (base, ours, theirs flow.Flow) {
	n := 0
	fresh := func() uuid.UUID { n++; return node(n) }
	base = grow(t, flow.Examine(flow.Flow{ID: node(999), Created: at(0)}), 8, fresh)
	ours = grow(t, base, 6, fresh)
	if rapid.Bool().Draw(t, "shared") {
		n = rapid.IntRange(0, n).Draw(t, "last")
	}
	theirs = grow(t, base, 6, func() uuid.UUID {
		for {
			if id := fresh(); !slices.ContainsFunc(base.Members, func(m flow.Member) bool { return m.Node == id }) {
				return id
			}
		}
	})
	if hands {
		base, ours, theirs = byHand(t, base), byHand(t, ours), byHand(t, theirs)
	}
	return base, ours, theirs
}

// byHand adds edges as they come: to nothing, in a circle.
func byHand(t *rapid.T, f flow.Flow) flow.Flow {
	index := rapid.IntRange(0, f.Next+3)
	for range rapid.IntRange(0, 3).Draw(t, "hand-made") {
		f.Edges = append(slices.Clone(f.Edges), flow.Edge{From: index.Draw(t, "from"), To: index.Draw(t, "to")})
	}
	f.Problems = nil
	return flow.Examine(f)
}

// ends gives the edges between nodes, by node.
func ends(f flow.Flow) map[[2]uuid.UUID]bool {
	list := map[[2]uuid.UUID]bool{}
	for _, e := range f.Edges {
		from, ok := f.NodeAt(e.From)
		to, alsoOK := f.NodeAt(e.To)
		if ok && alsoOK {
			list[[2]uuid.UUID{from, to}] = true
		}
	}
	return list
}

func holds(f flow.Flow, id uuid.UUID) bool { _, ok := f.IndexOf(id); return ok }

// Whatever two clones did: nothing that either added is lost without a word, what nobody touched is there, what is of ours
// keeps its index, no index is given twice, there is no cycle, and merging again changes nothing.
func TestNothingIsLost(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		base, ours, theirs := draw(t, false)
		got, told, err := merge.Flows(base, ours, theirs)
		if err != nil {
			t.Fatal(err)
		}
		checkNodes(t, base, ours, theirs, got)
		checkEdges(t, base, ours, theirs, got, told)
		checkHistory(t, base, ours, theirs, got, told)
		if len(got.Problems) > 0 {
			t.Fatalf("problems: %q", got.Problems)
		}
		again, _, err := merge.Flows(base, got, theirs)
		if diff := cmp.Diff(got, again, cmpopts.EquateEmpty()); diff != "" || err != nil {
			t.Fatalf("merged twice: %v %s", err, diff)
		}
	})
}

func checkNodes(t *rapid.T, base, ours, theirs, got flow.Flow) {
	for _, f := range []flow.Flow{ours, theirs} {
		for _, m := range f.Members {
			index, in := got.IndexOf(m.Node)
			if (holds(ours, m.Node) && holds(theirs, m.Node) || !holds(base, m.Node)) && !in {
				t.Fatalf("node %s is lost", m.Node)
			}
			if own, held := ours.IndexOf(m.Node); held && in && own != index {
				t.Fatalf("node %s of ours has index %d, and had %d", m.Node, index, own)
			}
			if !holds(base, m.Node) && !holds(ours, m.Node) && index < ours.Next {
				t.Fatalf("index %d was given before", index)
			}
		}
	}
	for _, m := range got.Members {
		if !holds(ours, m.Node) && !holds(theirs, m.Node) {
			t.Fatalf("node %s is of neither", m.Node)
		}
	}
	if got.Next < ours.Next || got.Next < theirs.Next {
		t.Fatalf("next is %d, of ours %d, of theirs %d", got.Next, ours.Next, theirs.Next)
	}
}

func checkEdges(t *rapid.T, base, ours, theirs, got flow.Flow, told []string) {
	was, mine, others, now := ends(base), ends(ours), ends(theirs), ends(got)
	for e := range mine {
		if !now[e] && (others[e] || !was[e] && !isRemoval(base, ours, got, e)) {
			t.Fatalf("edge %v of ours is lost", e)
		}
	}
	for e := range others {
		if !now[e] && !was[e] && !isRemoval(base, theirs, got, e) && !isTold(told, e, "of theirs is left out") {
			t.Fatalf("edge %v of theirs is lost", e)
		}
	}
	for e := range now {
		gone := func(id uuid.UUID) bool { return !holds(got, id) }
		rejoined := leads(ours, e, gone) && leads(theirs, e, gone) && isTold(told, e, "is new")
		if !mine[e] && !others[e] && !rejoined {
			t.Fatalf("edge %v is of neither", e)
		}
	}
}

func isTold(told []string, e [2]uuid.UUID, what string) bool {
	return slices.ContainsFunc(told, func(s string) bool { return strings.Contains(s, fmt.Sprintf("%s -> %s %s", e[0], e[1], what)) })
}

// isRemoval says of an edge that one side made that it leads past what this side took out, to or from what is gone.
func isRemoval(base, on, got flow.Flow, e [2]uuid.UUID) bool {
	return (!holds(got, e[0]) || !holds(got, e[1])) && leads(base, e, func(id uuid.UUID) bool { return !holds(on, id) })
}

// leads says whether a flow leads from one end to the other past nodes that are gone, or at once.
func leads(f flow.Flow, e [2]uuid.UUID, gone func(uuid.UUID) bool) bool {
	edges, seen := ends(f), map[uuid.UUID]bool{}
	var from func(id uuid.UUID) bool
	from = func(id uuid.UUID) bool {
		seen[id] = true
		for next := range edges {
			if next[0] == id && (next[1] == e[1] || gone(next[1]) && !seen[next[1]] && from(next[1])) {
				return true
			}
		}
		return false
	}
	return from(e[0])
}

// Hand-made flows come through, too: what is wrong in them stays in them, and no edge of one comes to lead to a node of the
// other by chance.
func TestHandMadeFlowsMerge(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		base, ours, theirs := draw(t, true)
		got, told, err := merge.Flows(base, ours, theirs)
		if err != nil {
			t.Fatal(err)
		}
		checkNodes(t, base, ours, theirs, got)
		checkEdges(t, base, ours, theirs, got, told)
		checkHistory(t, base, ours, theirs, got, told)
		alone := got
		alone.Problems = nil
		if diff := cmp.Diff(flow.Examine(alone), got, cmpopts.EquateEmpty()); diff != "" {
			t.Fatalf("read back from its file it is another one: %s", diff)
		}
		again, _, err := merge.Flows(base, got, theirs)
		if diff := cmp.Diff(got, again, cmpopts.EquateEmpty()); diff != "" || err != nil {
			t.Fatalf("merged twice: %v %s", err, diff)
		}
	})
}

// Where one side did nothing, the result is the other's.
func TestOneSideOnly(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		base, ours, _ := draw(t, false)
		for _, sides := range [][3]flow.Flow{{base, ours, base}, {base, base, ours}, {base, ours, ours}, {{}, ours, ours}} {
			got, told, err := merge.Flows(sides[0], sides[1], sides[2])
			want := ours
			want.Updated = got.Updated // the later one
			if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" || err != nil || len(told) > 0 {
				t.Fatalf("%v, %q, %s", err, told, diff)
			}
		}
	})
}
