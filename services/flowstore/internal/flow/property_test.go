package flow_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"pgregory.net/rapid"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/flow"
)

// drawChange draws a change that may or may not be right.
func drawChange(t *rapid.T, f flow.Flow) flow.Change {
	c := flow.Change{At: at(rapid.IntRange(0, 59).Draw(t, "minute"))}
	for range rapid.IntRange(0, 2).Draw(t, "new") {
		index := f.Next + len(c.Add)
		c.Add = append(c.Add, flow.Member{Index: index, Node: node(index)})
	}
	anyIndex := rapid.IntRange(0, f.Next+len(c.Add))
	name := rapid.SampledFrom([]string{"", "", "main", "other"})
	for range rapid.IntRange(0, 4).Draw(t, "edges") {
		c.Connect = append(c.Connect, flow.Edge{From: anyIndex.Draw(t, "from"), To: anyIndex.Draw(t, "to"), Name: name.Draw(t, "name")})
	}
	if rapid.IntRange(0, 2).Draw(t, "rewrite") == 0 {
		word := rapid.SampledFrom([]string{"", "a", "b"})
		c.Name, c.Description, c.Story = ptr(word.Draw(t, "words")), ptr(word.Draw(t, "description")), &flow.Story{Title: ptr(word.Draw(t, "title"))}
	}
	if len(f.Members) > 0 && rapid.IntRange(0, 2).Draw(t, "remove") == 0 {
		c.Remove = []flow.Member{rapid.SampledFrom(f.Members).Draw(t, "removed")}
	}
	if len(f.Edges) > 0 && rapid.IntRange(0, 2).Draw(t, "disconnect") == 0 {
		c.Disconnect = []flow.Edge{rapid.SampledFrom(f.Edges).Draw(t, "disconnected")}
	}
	drawBranches(t, f, &c, anyIndex)
	if rapid.Bool().Draw(t, "move") {
		c.Current = ptr(anyIndex.Draw(t, "current"))
	}
	return c
}

// drawBranches draws members that come back, heads and links.
func drawBranches(t *rapid.T, f flow.Flow, c *flow.Change, anyIndex *rapid.Generator[int]) {
	if back := rapid.IntRange(0, f.Next).Draw(t, "restored"); rapid.IntRange(0, 2).Draw(t, "restore") == 0 {
		c.Restore = []flow.Member{{Index: back, Node: node(back)}}
	}
	for range rapid.IntRange(0, 2).Draw(t, "heads") {
		c.Heads = append(c.Heads, flow.Head{Name: rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "head"), Index: anyIndex.Draw(t, "place")})
	}
	link := rapid.Custom(func(t *rapid.T) flow.Link {
		return flow.Link{From: anyIndex.Draw(t, "begin"), Flow: node(rapid.IntRange(1, 2).Draw(t, "flow"))}
	})
	c.Link = rapid.SliceOfN(link, 0, 2).Draw(t, "link")
	if len(f.Links) > 0 && rapid.Bool().Draw(t, "unlink") {
		c.Unlink = []flow.Link{rapid.SampledFrom(f.Links).Draw(t, "unlinked")}
	}
}

// hasCycle takes away members without parents until nothing changes: slow, short, and not the way the package does it.
func hasCycle(f flow.Flow) bool {
	left := slices.Clone(f.Edges)
	for {
		n := len(left)
		all := slices.Clone(left)
		left = slices.DeleteFunc(left, func(e flow.Edge) bool {
			return !slices.ContainsFunc(all, func(other flow.Edge) bool { return other.To == e.From })
		})
		if len(left) == n {
			return n > 0
		}
	}
}

// No sequence of accepted changes closes a cycle; a refusal for a cycle is right and its path is real; applying twice is
// applying once; old values stay; what Examine says of the result is what Apply kept up.
func TestChangesKeepTheFlowSound(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		f := graph(0, "")
		states := []flow.Flow{f}
		var changes []flow.Change
		for range rapid.IntRange(1, 12).Draw(t, "changes") {
			c := drawChange(t, f)
			before := fmt.Sprint(f)
			after := f.Apply(c)
			if err := f.Check(c); err != nil {
				checkRefusal(t, err, after)
				continue
			}
			if hasCycle(after) {
				t.Fatalf("%+v closed a cycle: %v", c, after.Edges)
			}
			if diff := cmp.Diff(after, after.Apply(c), noneIsEmpty); diff != "" {
				t.Fatalf("applied twice: %s", diff)
			}
			if diff := cmp.Diff(after, flow.Examine(after), noneIsEmpty); diff != "" {
				t.Fatalf("examined: %s", diff)
			}
			if fmt.Sprint(f) != before {
				t.Fatal("the old value changed")
			}
			if after.Next < f.Next {
				t.Fatalf("the next index fell from %d to %d", f.Next, after.Next)
			}
			f = after
			states, changes = append(states, f), append(changes, c)
		}
		checkPaths(t, f)
		checkHistory(t, f)
		checkReplays(t, states, changes)
	})
}

// checkReplays: a log that is replayed from its beginning onto a file that holds some of it already comes to the same.
func checkReplays(t *rapid.T, states []flow.Flow, changes []flow.Change) {
	want := states[len(changes)]
	for n, state := range states {
		for _, c := range changes {
			state = state.Apply(c)
		}
		want.Updated = state.Updated
		if diff := cmp.Diff(want, state, noneIsEmpty); diff != "" {
			t.Fatalf("replayed onto a file with %d of %d changes: %s", n, len(changes), diff)
		}
	}
}

func checkRefusal(t *rapid.T, err error, after flow.Flow) {
	var cycle *flow.CycleError
	if !errors.As(err, &cycle) {
		return
	}
	if !hasCycle(after) {
		t.Fatalf("refused without a cycle: %v", err)
	}
	way := cycle.Path
	if way[0] != way[len(way)-1] {
		t.Fatalf("the way %v does not come back", way)
	}
	for i, from := range way[:len(way)-1] {
		if !connected(after, from, way[i+1]) {
			t.Fatalf("the way %v has no edge at %d in %v", cycle.Path, i, after.Edges)
		}
	}
	checkClosing(t, cycle, after)
}

// checkClosing: all edges that close a cycle are told, and no others.
func checkClosing(t *rapid.T, cycle *flow.CycleError, after flow.Flow) {
	without := after
	without.Edges = slices.DeleteFunc(slices.Clone(after.Edges), func(e flow.Edge) bool {
		from, _ := after.NodeAt(e.From)
		to, _ := after.NodeAt(e.To)
		return slices.Contains(cycle.Closing, [2]uuid.UUID{from, to})
	})
	if hasCycle(without) {
		t.Fatalf("without %v there is a cycle still: %v", cycle.Closing, without.Edges)
	}
	for _, edge := range cycle.Closing {
		from, _ := after.IndexOf(edge[0])
		to, _ := after.IndexOf(edge[1])
		if !ancestors(after, from)[to] {
			t.Fatalf("%d-%d closes no cycle in %v", from, to, after.Edges)
		}
	}
}

func connected(f flow.Flow, from, to uuid.UUID) bool {
	a, _ := f.IndexOf(from)
	b, _ := f.IndexOf(to)
	return slices.ContainsFunc(f.Edges, func(e flow.Edge) bool { return e.From == a && e.To == b })
}

// checkHistory: a history holds every member once, and each path is what is left of it without the others.
func checkHistory(t *rapid.T, f flow.Flow) {
	history := f.History()
	if len(history) != len(f.Members) {
		t.Fatalf("the history has %d of %d members", len(history), len(f.Members))
	}
	for _, m := range f.Members {
		before := ancestors(f, m.Index)
		left := slices.DeleteFunc(slices.Clone(history), func(s flow.Step) bool { return !before[s.Index] })
		if got, want := indexes(f.Path(m.Index)), indexes(left); got != want {
			t.Fatalf("path of %d: %s, in the history: %s", m.Index, got, want)
		}
	}
}

// checkPaths: a path holds each ancestor once and nothing else, parents before what continues them, and ends with the
// member asked for.
func checkPaths(t *rapid.T, f flow.Flow) {
	for _, m := range f.Members {
		want := ancestors(f, m.Index)
		seen := map[int]bool{}
		for _, step := range f.Path(m.Index) {
			if seen[step.Index] || !want[step.Index] {
				t.Fatalf("path of %d: %d stands there twice or is no ancestor", m.Index, step.Index)
			}
			for _, p := range step.Parents {
				if !seen[p.Index] {
					t.Fatalf("path of %d: %d comes before its parent %d", m.Index, step.Index, p.Index)
				}
			}
			seen[step.Index] = true
		}
		if len(seen) != len(want) {
			t.Fatalf("path of %d has %d members, want %d", m.Index, len(seen), len(want))
		}
	}
}

func skipped(f flow.Flow, e flow.Edge) bool {
	return slices.ContainsFunc(f.Skipped, func(s flow.Edge) bool { return s.From == e.From && s.To == e.To })
}

// ancestors follows edges that are not skipped backwards until nothing is new.
func ancestors(f flow.Flow, index int) map[int]bool {
	found := map[int]bool{index: true}
	for n := 0; n != len(found); {
		n = len(found)
		for _, e := range f.Edges {
			if found[e.To] && !skipped(f, e) {
				found[e.From] = true
			}
		}
	}
	return found
}

// drawHandMade draws what a hand may write.
func drawHandMade(t *rapid.T) flow.Flow {
	var raw flow.Flow
	some := rapid.IntRange(-1, 9)
	for range rapid.IntRange(0, 9).Draw(t, "members") {
		raw.Members = append(raw.Members, flow.Member{Index: some.Draw(t, "index"), Node: node(some.Draw(t, "node") + 1)})
	}
	for range rapid.IntRange(0, 20).Draw(t, "edges") {
		raw.Edges = append(raw.Edges, flow.Edge{From: some.Draw(t, "from"), To: some.Draw(t, "to")})
	}
	for _, name := range []string{"a", "b"}[:rapid.IntRange(0, 2).Draw(t, "named")] {
		raw.Heads = append(raw.Heads, flow.Head{Name: name, Index: some.Draw(t, "head")})
		raw.Links = append(raw.Links, flow.Link{From: some.Draw(t, "link"), Flow: node(1)})
	}
	raw.Current = some.Draw(t, "current")
	return flow.Examine(raw)
}

// Whatever a hand wrote: the flow opens, what is left has no cycle, paths hold, and accepted changes do not alter which
// edges are left out when the file is read again.
func TestHandMadeGraphs(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		f := drawHandMade(t)
		walked := f
		walked.Edges = slices.DeleteFunc(slices.Clone(f.Edges), func(e flow.Edge) bool { return skipped(f, e) })
		if hasCycle(walked) {
			t.Fatalf("a cycle is left: %v without %v", f.Edges, f.Skipped)
		}
		checkPaths(t, f)
		checkHistory(t, f)
		for range 4 {
			if c := drawChange(t, f); f.Check(c) == nil {
				f = f.Apply(c)
			}
		}
		read := f
		read.Problems = nil
		again := flow.Examine(read)
		if !slices.Equal(again.Skipped, f.Skipped) {
			t.Fatalf("left out %v, after reading again %v", f.Skipped, again.Skipped)
		}
		if got, want := skips(f.Problems), skips(again.Problems); !slices.Equal(got, want) {
			t.Fatalf("told %q, after reading again %q", got, want)
		}
	})
}

// skips gives the problems that speak of edges which paths leave out.
func skips(problems []string) (list []string) {
	for _, p := range problems {
		if strings.Contains(p, "left out of paths") || strings.HasPrefix(p, "heads: ") || strings.HasPrefix(p, "links: ") {
			list = append(list, p)
		}
	}
	slices.Sort(list)
	return list
}
