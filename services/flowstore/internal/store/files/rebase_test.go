package files

import (
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/flow"
)

func at[T any](v T) *T { return &v }

// Onto the flow that it was made for, each part of a change does what it does there. A new part of flow.Change needs a row here
// and its place in rebase: without that it would be lost at a crash that meets the edit of a hand.
func TestRebaseKnowsEveryPart(t *testing.T) {
	t.Parallel()
	when := time.Date(2025, 5, 9, 6, 0, 0, 0, time.UTC)
	base := flow.Flow{ID: idOf("novel"), Next: 1}.Apply(flow.Change{
		Add:     []flow.Member{{Index: 1, Node: idOf("a")}, {Index: 2, Node: idOf("b")}, {Index: 3, Node: idOf("c")}},
		Connect: []flow.Edge{{From: 1, To: 2}}, Heads: []flow.Head{{Name: "main", Index: 2}}, Link: []flow.Link{{From: 1, Flow: idOf("x")}},
	}).Apply(flow.Change{Remove: []flow.Member{{Index: 3, Node: idOf("c")}}})
	parts := map[string]flow.Change{
		"At":          {At: when},
		"Name":        {Name: at("n")},
		"Description": {Description: at("d")},
		"Story":       {Story: &flow.Story{Title: at("t")}},
		"Remove":      {Remove: []flow.Member{{Index: 2, Node: idOf("b")}}},
		"Disconnect":  {Disconnect: []flow.Edge{{From: 1, To: 2}}},
		"Unlink":      {Unlink: []flow.Link{{From: 1, Flow: idOf("x")}}},
		"Restore":     {Restore: []flow.Member{{Index: 3, Node: idOf("c")}}},
		"Add":         {Add: []flow.Member{{Index: 4, Node: idOf("d")}}},
		"Connect":     {Connect: []flow.Edge{{From: 1, To: 2, Name: "named"}}},
		"Heads":       {Heads: []flow.Head{{Name: "main"}, {Name: "other", Index: 1}}},
		"Link":        {Link: []flow.Link{{From: 2, Flow: idOf("y")}, {Flow: idOf("y")}}},
		"Current":     {Current: at(2)},
	}
	for _, field := range reflect.VisibleFields(reflect.TypeFor[flow.Change]()) {
		if field.Name == "Trashed" { // What became of nodes is in records of their own: it is nothing of the flow.
			continue
		}
		c, known := parts[field.Name]
		if !known {
			t.Errorf("no row for flow.Change.%s", field.Name)
			continue
		}
		c.At = when
		got, lost := rebase(base, []flow.Change{c})
		if diff := cmp.Diff(base.Apply(c), got, cmpopts.EquateEmpty()); diff != "" || len(lost) > 0 {
			t.Errorf("%s: lost %q %s", field.Name, lost, diff)
		}
		if cmp.Equal(base, got) {
			t.Errorf("%s changes nothing", field.Name)
		}
	}
}

// Where a hand gave an index to another node meanwhile, heads and links follow ours, and a member that cannot come back at its
// old index gets a new one. What would stand at nothing is told.
func TestRebaseMovesHeadsAndLinks(t *testing.T) {
	t.Parallel()
	theirs := flow.Flow{ID: idOf("novel"), Next: 1}.Apply(flow.Change{
		Add: []flow.Member{{Index: 1, Node: idOf("a")}, {Index: 2, Node: idOf("theirs")}, {Index: 3, Node: idOf("more")}},
	})
	got, lost := rebase(theirs, []flow.Change{
		{Add: []flow.Member{{Index: 2, Node: idOf("b")}}, Heads: []flow.Head{{Name: "main", Index: 2}, {Name: "gone", Index: 9}}, Link: []flow.Link{{From: 2, Flow: idOf("x")}}},
		{Restore: []flow.Member{{Index: 3, Node: idOf("c")}}, Connect: []flow.Edge{{From: 2, To: 3}}},
		{Link: []flow.Link{{From: 1, Flow: idOf("y")}}},
		{Unlink: []flow.Link{{From: 1, Flow: idOf("y")}}},
	})
	b, _ := got.IndexOf(idOf("b"))
	c, back := got.IndexOf(idOf("c"))
	if b != 4 || c != 5 || !back || !slices.Equal(got.Edges, []flow.Edge{{From: b, To: c}}) {
		t.Errorf("b stands at %d, c at %d, %v", b, c, got.Edges)
	}
	if !slices.Equal(got.Heads, []flow.Head{{Name: "main", Index: b}}) || !slices.Equal(got.Links, []flow.Link{{From: b, Flow: idOf("x")}}) {
		t.Errorf("heads %v, links %v", got.Heads, got.Links)
	}
	if len(lost) != 1 || lost[0] != `the head "gone" could not be made: no node of `+flow.Name(got.ID)+" has index 9" {
		t.Errorf("told %q", lost)
	}
}
