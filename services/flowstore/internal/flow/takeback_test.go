package flow_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/flow"
)

// Any changes are taken back one by one, and then done again, whatever the reader does meanwhile.
func TestTakingBack(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		type step struct{ done, back flow.Change }
		var steps []step
		reads := rapid.Bool().Draw(t, "reads")
		f := graph(0, "")
		states := []flow.Flow{f}
		for range rapid.IntRange(1, 10).Draw(t, "changes") {
			c := drawChange(t, f)
			if !c.Step() || f.Check(c) != nil {
				continue
			}
			steps = append(steps, step{c, flow.Invert(f, c)})
			f = f.Apply(c)
			states = append(states, f)
		}
		// take gives what takes back what it does, and what it did.
		take := func(left, back flow.Change, want flow.Flow) (inverse, did flow.Change) {
			if reads && len(f.Members) > 0 {
				place := rapid.SampledFrom(f.Members).Draw(t, "place").Index
				f = f.Apply(flow.Change{Current: &place})
			}
			did, err := f.TakingBack(left, back)
			if err != nil {
				t.Fatalf("%+v: %v", back, err)
			}
			before := f
			f = f.Apply(did)
			same := cmp.Options{butUndone, noneIsEmpty, sameStory}
			if reads {
				same = append(same, cmpopts.IgnoreFields(flow.Flow{}, "Current"))
				readOn := left.Current == nil || *left.Current != before.Current
				if _, held := f.NodeAt(before.Current); held && readOn && f.Current != before.Current {
					t.Fatalf("the reader was moved from %d to %d", before.Current, f.Current)
				}
				if _, held := f.NodeAt(f.Current); !held && f.Current != 0 {
					t.Fatalf("the reader stands at %d, which is gone", f.Current)
				}
			}
			if diff := cmp.Diff(want, f, same); diff != "" {
				t.Fatal(diff)
			}
			return flow.Invert(before, did), did
		}
		for i := len(steps) - 1; i >= 0; i-- {
			steps[i].done, steps[i].back = take(steps[i].done, steps[i].back, states[i])
		}
		for i, s := range steps {
			take(s.back, s.done, states[i+1])
		}
	})
}

func TestPlaceAfterTakingBack(t *testing.T) {
	t.Parallel()
	at := func(index int) *int { return &index }
	f := graph(4, "1-2 3-4") // 1 -> 2 was there first; 3 -> 4 came to it
	grow := flow.Change{Add: []flow.Member{f.Members[2], f.Members[3]}, Connect: []flow.Edge{{From: 2, To: 3}, {From: 3, To: 4}}}
	before := flow.Flow{ID: f.ID, Members: f.Members[:2], Edges: f.Edges[:1], Next: 3}
	moving := grow
	moving.Current = at(4)
	for title, tt := range map[string]struct {
		was, now int
		change   flow.Change
		want     int
	}{
		"back to where he was":                   {1, 4, moving, 1},
		"he read on, and stays":                  {1, 2, moving, 2},
		"he read on to what goes":                {1, 3, moving, 1},
		"he had no place":                        {0, 4, moving, 0},
		"where nothing goes, he stays":           {1, 1, grow, 1},
		"he came by himself: the parent's place": {1, 4, grow, 2},
	} {
		t.Run(title, func(t *testing.T) {
			t.Parallel()
			was := before.Apply(flow.Change{Current: at(tt.was)})
			now := was.Apply(tt.change).Apply(flow.Change{Current: at(tt.now)})
			c, err := now.TakingBack(tt.change, flow.Invert(was, tt.change))
			if err != nil {
				t.Fatal(err)
			}
			if got := now.Apply(c).Current; got != tt.want {
				t.Errorf("he stands at %d, want %d", got, tt.want)
			}
		})
	}
	alone := flow.Change{Add: []flow.Member{{Index: 3, Node: f.Members[2].Node}}}
	now := before.Apply(alone).Apply(flow.Change{Current: at(3)})
	c, err := now.TakingBack(alone, flow.Invert(before, alone))
	if err != nil || now.Apply(c).Current != 2 {
		t.Errorf("without a parent he stands at %d, want the newest leaf: %v", now.Apply(c).Current, err)
	}
}

func TestTakingBackIsRefused(t *testing.T) {
	t.Parallel()
	f := graph(2, "1-2")
	f.Next = 3
	name := "雨"
	c := flow.Change{Name: &name}
	back := flow.Invert(f, c)
	other := "晴"
	now := f.Apply(c).Apply(flow.Change{Name: &other})
	if _, err := now.TakingBack(c, back); !errors.As(err, new(*flow.UndoError)) {
		t.Errorf("%v", err)
	}
	// What the change left stands, but what it took away cannot come back.
	c = flow.Change{Remove: f.Members[1:]}
	back = flow.Invert(f, c)
	now = f.Apply(c)
	now.Members = nil
	if _, err := now.TakingBack(c, back); !errors.As(err, new(*flow.UnknownIndexError)) {
		t.Errorf("%v", err)
	}
}

func TestTold(t *testing.T) {
	t.Parallel()
	text := "x"
	for want, c := range map[string]flow.Change{
		"":                            {},
		"name changed, story changed": {Name: &text, Story: &flow.Story{}},
		"description changed, 1 node removed, 1 link removed, 1 link made": {Description: &text, Remove: make([]flow.Member, 1), Unlink: make([]flow.Link, 1), Link: make([]flow.Link, 1)},
		"3 nodes added, 2 edges ended, 1 edge made":                        {Restore: make([]flow.Member, 1), Add: make([]flow.Member, 2), Disconnect: make([]flow.Edge, 2), Connect: make([]flow.Edge, 1)},
		"1 head placed, 2 heads taken away":                                {Heads: []flow.Head{{Name: "a"}, {Name: "b", Index: 1}, {Name: "c"}}},
	} {
		if got := c.Told(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
