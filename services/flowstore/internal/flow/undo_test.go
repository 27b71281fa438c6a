package flow_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/flow"
)

// butUndone leaves out what undoing does not bring back.
var butUndone = cmpopts.IgnoreFields(flow.Flow{}, "Updated", "Next")

// Whatever a change did, its inverse takes back, may be applied, and is itself taken back by its own inverse; and what
// a change left stands behind it.
func TestInvert(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		f := graph(0, "")
		for range rapid.IntRange(1, 12).Draw(t, "changes") {
			c := drawChange(t, f)
			if f.Check(c) != nil {
				continue
			}
			after := f.Apply(c)
			if err := flow.Stands(after, c); err != nil {
				t.Fatalf("%+v does not stand: %v", c, err)
			}
			checkInverse(t, f, c)
			f = after
		}
	})
}

func checkInverse(t *rapid.T, before flow.Flow, c flow.Change) {
	after := before.Apply(c)
	back := flow.Invert(before, c)
	if err := after.Check(back); err != nil {
		t.Fatalf("%+v cannot be taken back by %+v: %v", c, back, err)
	}
	undone := after.Apply(back)
	if diff := cmp.Diff(before, undone, butUndone, noneIsEmpty, sameStory); diff != "" {
		t.Fatalf("%+v, taken back by %+v: %s", c, back, diff)
	}
	if err := flow.Stands(undone, back); err != nil {
		t.Fatalf("%+v does not stand: %v", back, err)
	}
	again := flow.Invert(after, back)
	if err := undone.Check(again); err != nil {
		t.Fatalf("%+v cannot be done again by %+v: %v", c, again, err)
	}
	if diff := cmp.Diff(after, undone.Apply(again), butUndone, noneIsEmpty, sameStory); diff != "" {
		t.Fatalf("%+v, done again by %+v: %s", c, again, diff)
	}
	if changed := !cmp.Equal(before, after, cmpopts.IgnoreFields(flow.Flow{}, "Updated", "Next", "Current"), noneIsEmpty, sameStory); changed != back.Step() {
		t.Fatalf("%+v: the flow changed is %v, the inverse is a step is %v", c, changed, back.Step())
	}
}

// sameStory compares stories by what they say.
var sameStory = cmp.Comparer(func(a, b flow.Story) bool { return a.Same(b) })

// In a flow that hands edited, everything comes back but what no operation may make.
func TestInvertHandMade(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		before := drawHandMade(t)
		c := drawChange(t, before)
		if before.Check(c) != nil {
			return
		}
		after := before.Apply(c)
		back := flow.Invert(before, c)
		got := after.Apply(back)
		if diff := cmp.Diff(before, got, cmpopts.IgnoreFields(flow.Flow{}, "Updated", "Next", "Edges", "Skipped", "Heads", "Links", "Problems"), noneIsEmpty, sameStory); diff != "" {
			t.Fatal(diff)
		}
		for _, e := range before.Edges {
			if now, held := got.Edge(e.From, e.To); !skipped(before, e) && (!held || now != e) {
				t.Fatalf("the edge %v is %v", e, now)
			}
		}
		for _, e := range got.Edges {
			if _, was := before.Edge(e.From, e.To); !was {
				t.Fatalf("the edge %v was not there", e)
			}
		}
		for _, h := range before.Heads {
			_, sound := before.NodeAt(h.Index)
			if sound && !slices.Contains(got.Heads, h) {
				t.Fatalf("the head %v did not come back: %v", h, got.Heads)
			}
		}
		for _, h := range got.Heads {
			if !slices.Contains(before.Heads, h) {
				t.Fatalf("the head %v was not there", h)
			}
		}
		var cycle *flow.CycleError
		if err := after.Check(back); err != nil && (!errors.As(err, &cycle) || len(before.Skipped) == 0) {
			t.Fatalf("%+v cannot be taken back by %+v: %v", c, back, err)
		}
	})
}

// What drawing meets by chance alone: the place at an index that one node leaves and another takes, and a head that is written twice.
func TestInvertRare(t *testing.T) {
	t.Parallel()
	start := graph(2, "1-2").Apply(flow.Change{Current: ptr(1)})
	for name, c := range map[string]flow.Change{
		"another node at the place":           {Remove: members(1), Restore: []flow.Member{{Index: 1, Node: node(9)}}, Current: ptr(1)},
		"another node, and the place is lost": {Remove: members(1), Restore: []flow.Member{{Index: 1, Node: node(9)}}},
		"a head that comes and goes":          {Heads: []flow.Head{{Name: "c", Index: 1}, {Name: "c"}}},
		"a head that is moved twice":          {Heads: heads("c=1 c=2")},
	} {
		after := start.Apply(c)
		back := flow.Invert(start, c)
		if err := after.Check(back); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if diff := cmp.Diff(start, after.Apply(back), butUndone, noneIsEmpty, sameStory); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		if changed := !cmp.Equal(start, after, cmpopts.IgnoreFields(flow.Flow{}, "Updated", "Current"), noneIsEmpty, sameStory); changed != back.Step() {
			t.Errorf("%s: the flow changed is %v, the inverse is a step is %v", name, changed, back.Step())
		}
	}
}

func TestStep(t *testing.T) {
	t.Parallel()
	for _, c := range []flow.Change{{}, {At: time.Now()}, {Current: ptr(3)}} {
		if c.Step() {
			t.Errorf("%+v is a step", c)
		}
	}
	for _, c := range []flow.Change{
		{Name: ptr("")}, {Description: ptr("")}, {Story: &flow.Story{}}, {Remove: members(1)}, {Disconnect: edges("1-2")}, {Unlink: []flow.Link{{}}},
		{Restore: members(1)}, {Add: members(1)}, {Connect: edges("1-2")}, {Heads: heads("a=1")}, {Link: []flow.Link{{}}},
	} {
		if !c.Step() {
			t.Errorf("%+v is no step", c)
		}
	}
}

// A later edit of the same key, or of what would go with a member, is told with what it should be and what it is.
func TestStands(t *testing.T) {
	t.Parallel()
	link := flow.Link{From: 4, Flow: node(1)}
	start := graph(3, "1-2 2-3").Apply(flow.Change{Heads: heads("main=3"), Link: []flow.Link{{Flow: node(9)}}})
	grown := flow.Change{Add: members(4), Connect: []flow.Edge{{From: 3, To: 4}}, Heads: heads("main=4"), Link: []flow.Link{link}, Current: ptr(4)}
	named := flow.Change{Connect: []flow.Edge{{From: 1, To: 2, Name: "x"}}}
	unnamed := flow.Change{Disconnect: edges("1-2"), Connect: edges("1-2")}
	cut := flow.Change{Remove: members(3), Disconnect: edges("1-2")}
	words := flow.Change{Name: ptr("a"), Description: ptr("b"), Story: &flow.Story{Title: ptr("c")}}
	back := flow.Change{Remove: members(2), Restore: members(2), Unlink: []flow.Link{{Flow: node(9)}}}
	for _, c := range []struct {
		name   string
		change flow.Change
		later  flow.Change
		want   string
	}{
		{"read on", grown, flow.Change{Current: ptr(1)}, ""},
		{"an edit elsewhere", grown, flow.Change{Connect: edges("1-3"), Name: ptr("n")}, ""},
		{"continued", grown, flow.Change{Add: members(5), Connect: edges("4-5")}, "the edge from 4 to 5 was left absent and is there now"},
		{"its edge cut", grown, flow.Change{Disconnect: edges("3-4")}, "the edge from 3 to 4 was left there and is absent now"},
		{"removed", grown, flow.Change{Remove: members(4)}, "index 4 was left " + "nodes/" + node(4).String() + " and is absent now"},
		{"the head moved", grown, flow.Change{Heads: heads("main=1")}, `the head "main" was left at index 4 and is at index 1 now`},
		{"another head", grown, flow.Change{Heads: heads("z=4")}, `the head "z" was left elsewhere and is at index 4 now`},
		{"unlinked", grown, flow.Change{Unlink: []flow.Link{link}}, "the link from 4 to " + flow.Name(node(1)) + " was left there and is absent now"},
		{"linked", grown, flow.Change{Link: []flow.Link{{From: 4, Flow: node(2)}}}, "the link from 4 to " + flow.Name(node(2)) + " was left absent and is there now"},
		{"another name of an edge", named, flow.Change{Connect: []flow.Edge{{From: 1, To: 2, Name: "y"}}}, `the edge from 1 to 2 was left named "x" and is named "y" now`},
		{"a name for an edge that lost it", unnamed, named, `the edge from 1 to 2 was left there and is named "x" now`},
		{"connected again", cut, flow.Change{Connect: edges("1-2")}, "the edge from 1 to 2 was left absent and is there now"},
		{"in the flow again", cut, flow.Change{Add: []flow.Member{{Index: 4, Node: node(3)}}}, "nodes/" + node(3).String() + " was left absent and is at index 4 now"},
		{"another name", words, flow.Change{Name: ptr("z")}, `the name was left "a" and is "z" now`},
		{"another description", words, flow.Change{Description: ptr("z")}, `the description was left "b" and is "z" now`},
		{"another story", words, flow.Change{Story: &flow.Story{}}, "the story was left as that change wrote it and is another one now"},
		{"linked again", back, flow.Change{Link: []flow.Link{{Flow: node(9)}}}, "the link from 0 to " + flow.Name(node(9)) + " was left absent and is there now"},
		{"an edge to one that came back", back, flow.Change{Connect: edges("1-2")}, "the edge from 1 to 2 was left absent and is there now"},
	} {
		now := start.Apply(c.change).Apply(c.later)
		err := flow.Stands(now, c.change)
		if c.want == "" {
			if err != nil {
				t.Errorf("%s: %v", c.name, err)
			}
			continue
		}
		var undo *flow.UndoError
		if !errors.As(err, &undo) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %s", c.name, err, c.want)
		}
	}
	all := flow.Stands(start.Apply(words).Apply(flow.Change{Name: ptr(""), Description: ptr(""), Story: &flow.Story{}}), words)
	if undo := (*flow.UndoError)(nil); !errors.As(all, &undo) || len(undo.Moved) != 3 || undo.Flow != start.ID {
		t.Errorf("not all is told: %v", all)
	}
}
