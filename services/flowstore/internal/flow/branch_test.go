package flow_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/flow"
)

func heads(text string) (list []flow.Head) {
	for word := range strings.FieldsSeq(text) {
		var h flow.Head
		name, index, _ := strings.Cut(word, "=")
		if _, err := fmt.Sscan(index, &h.Index); err != nil {
			panic(err)
		}
		h.Name = name
		list = append(list, h)
	}
	return list
}

func TestBranching(t *testing.T) {
	t.Parallel()
	f := graph(3, "1-2 1-3").Apply(flow.Change{Heads: heads("main=2")})
	for _, c := range []struct {
		name  string
		index int
		want  []flow.Head
		err   error
	}{
		{"other", 3, heads("other=3"), nil},
		{"other", 2, heads("other=2"), nil},
		{"main", 2, nil, nil},
		{"main", 3, nil, &flow.HeadTakenError{Flow: f.ID, Name: "main"}},
		{"other", 9, nil, &flow.UnknownIndexError{Flow: f.ID, Index: 9}},
	} {
		got, err := f.Branching(c.name, c.index)
		if diff := cmp.Diff(c.want, got.Heads); diff != "" {
			t.Errorf("%s at %d: %s", c.name, c.index, diff)
		}
		if diff := cmp.Diff(c.err, err); diff != "" {
			t.Errorf("%s at %d: %s", c.name, c.index, diff)
		}
	}
}

// A branch whose end leaves ends where it went on from; one without a beginning is gone.
func TestHeadsOfRemovedMembers(t *testing.T) {
	t.Parallel()
	f := graph(5, "1-2 2-3 4-5").Apply(flow.Change{Heads: heads("a=2 b=3 c=4 d=1")})
	for _, c := range []struct {
		index int
		mode  flow.RemoveMode
		want  string
	}{
		{3, flow.Restrict, "a=2 b=2 c=4 d=1"},
		{2, flow.Splice, "a=1 b=3 c=4 d=1"},
		{2, flow.Subtree, "a=1 b=1 c=4 d=1"},
		{4, flow.Splice, "a=2 b=3 d=1"},
	} {
		change, err := f.Removal(c.index, c.mode)
		if err != nil || f.Check(change) != nil {
			t.Fatal(err, f.Check(change))
		}
		if diff := cmp.Diff(heads(c.want), f.Apply(change).Heads, noneIsEmpty); diff != "" {
			t.Errorf("%d: %s", c.index, diff)
		}
	}
	if got := f.Apply(flow.Change{Remove: members(3)}).Heads; cmp.Diff(heads("a=2 c=4 d=1"), got) != "" {
		t.Errorf("without a plan: %v", got)
	}
}

// What a hand left at nothing stays, is told, and is settled by another place; a new member is not mistaken for it.
func TestDanglingHeadsAndLinks(t *testing.T) {
	t.Parallel()
	raw := graph(2, "1-2")
	raw.Heads = heads("z=7 a=2")
	raw.Links = []flow.Link{{From: 8, Flow: node(1)}, {Flow: node(1)}, {Flow: node(1)}}
	f := flow.Examine(raw)
	want := []string{`heads: "z": no node has index 7`, "links: 8 -> " + flow.Name(node(1)) + ": no node has index 8"}
	if diff := cmp.Diff(want, f.Problems); diff != "" {
		t.Error(diff)
	}
	kinds := []flow.Problem{
		{Kind: flow.DanglingHead, Text: want[0], Head: flow.Head{Name: "z", Index: 7}},
		{Kind: flow.DanglingLink, Text: want[1], Link: flow.Link{From: 8, Flow: node(1)}},
	}
	if diff := cmp.Diff(kinds, f.Validate()); diff != "" {
		t.Error(diff)
	}
	if f.Next != 9 || len(f.Links) != 2 || f.Heads[0].Name != "a" {
		t.Errorf("next %d, links %v, heads %v", f.Next, f.Links, f.Heads)
	}
	if _, err := f.Head("z"); cmp.Diff(&flow.HeadError{Flow: f.ID, Name: "z", Index: 7}, err) != "" {
		t.Error(err)
	}
	f = f.Apply(flow.Change{Heads: heads("z=1"), Unlink: f.Links[1:]})
	if len(f.Problems) > 0 {
		t.Errorf("told still: %q", f.Problems)
	}
}

func TestBranchesAreBounded(t *testing.T) {
	t.Parallel()
	f := graph(1, "")
	var c flow.Change
	for i := range flow.MaxHeads {
		c.Heads = append(c.Heads, flow.Head{Name: fmt.Sprint(i), Index: 1})
		c.Link = append(c.Link, flow.Link{Flow: node(i + 1)})
	}
	if err := f.Check(c); err != nil {
		t.Fatal(err)
	}
	f = f.Apply(c)
	full := &flow.FullError{Flow: f.ID, What: "heads", Limit: flow.MaxHeads}
	if diff := cmp.Diff(error(full), f.Check(flow.Change{Heads: heads("one=1")})); diff != "" {
		t.Error(diff)
	}
	full.What, full.Limit = "links", flow.MaxLinks
	if diff := cmp.Diff(error(full), f.Check(flow.Change{Link: []flow.Link{{Flow: node(flow.MaxLinks + 1)}}})); diff != "" {
		t.Error(diff)
	}
	if err := f.Check(flow.Change{Heads: heads("1=0 one=1")}); err != nil {
		t.Errorf("one for another: %v", err)
	}
}
