package flow_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/flow"
)

func TestCheck(t *testing.T) {
	t.Parallel()
	line := graph(3, "1-2 2-3")
	id := line.ID
	cases := []struct {
		name   string
		change flow.Change
		want   error
	}{
		{"nothing", flow.Change{}, nil},
		{"a new end", flow.Change{Add: []flow.Member{{Index: 4, Node: node(4)}}, Connect: edges("3-4"), Current: ptr(4)}, nil},
		{"a new beginning", flow.Change{Add: []flow.Member{{Index: 4, Node: node(4)}}, Connect: edges("4-1")}, nil},
		{"between two", flow.Change{Add: []flow.Member{{Index: 4, Node: node(4)}}, Connect: edges("1-4 4-3")}, nil},
		{"an edge that is there", flow.Change{Connect: edges("1-2")}, nil},
		{"a short cut", flow.Change{Connect: edges("1-3")}, nil},
		{"the place taken away", flow.Change{Current: ptr(0)}, nil},
		{"to itself", flow.Change{Connect: edges("2-2")}, &flow.CycleError{Flow: id, Path: nodes(2, 2), Closing: [][2]uuid.UUID{{node(2), node(2)}}}},
		{"back", flow.Change{Connect: edges("3-1")}, &flow.CycleError{Flow: id, Path: nodes(1, 2, 3, 1), Closing: [][2]uuid.UUID{{node(3), node(1)}}}},
		{"back over a new member", flow.Change{Add: []flow.Member{{Index: 4, Node: node(4)}}, Connect: edges("3-4 4-2")},
			&flow.CycleError{Flow: id, Path: nodes(4, 2, 3, 4), Closing: [][2]uuid.UUID{{node(3), node(4)}, {node(4), node(2)}}}},
		{"two new edges against each other", flow.Change{
			Add:     []flow.Member{{Index: 4, Node: node(4)}, {Index: 5, Node: node(5)}},
			Connect: edges("4-5 5-4")}, &flow.CycleError{Flow: id, Path: nodes(5, 4, 5), Closing: [][2]uuid.UUID{{node(4), node(5)}, {node(5), node(4)}}}},
		{"two ways back", flow.Change{Connect: edges("2-1 3-1")},
			&flow.CycleError{Flow: id, Path: nodes(1, 2, 1), Closing: [][2]uuid.UUID{{node(2), node(1)}, {node(3), node(1)}}}},
		{"an unknown parent", flow.Change{Connect: edges("9-2")}, &flow.UnknownIndexError{Flow: id, Index: 9}},
		{"an unknown child", flow.Change{Connect: edges("2-0")}, &flow.UnknownIndexError{Flow: id, Index: 0}},
		{"an unknown place", flow.Change{Current: ptr(-1)}, &flow.UnknownIndexError{Flow: id, Index: -1}},
		{"a number left out", flow.Change{Add: []flow.Member{{Index: 5, Node: node(5)}}}, &flow.NextIndexError{Flow: id, Index: 5, Next: 4}},
		{"a number given before", flow.Change{Add: []flow.Member{{Index: 3, Node: node(5)}}}, &flow.NextIndexError{Flow: id, Index: 3, Next: 4}},
		{"a member again", flow.Change{Add: []flow.Member{{Index: 4, Node: node(1)}}}, &flow.MemberError{Flow: id, Node: node(1)}},
		{"a new member twice", flow.Change{Add: []flow.Member{{Index: 4, Node: node(4)}, {Index: 5, Node: node(4)}}}, &flow.MemberError{Flow: id, Node: node(4)}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			err := line.Check(c.change)
			if diff := cmp.Diff(c.want, err); diff != "" {
				t.Error(diff)
			}
			if err != nil && err.Error() == "" {
				t.Error("the error says nothing")
			}
		})
	}
}

func nodes(indexes ...int) []uuid.UUID {
	ids := make([]uuid.UUID, len(indexes))
	for i, index := range indexes {
		ids[i] = node(index)
	}
	return ids
}

// A message names things as the contract does, and is of bounded length: a long cycle still shows that it is one.
func TestMessages(t *testing.T) {
	t.Parallel()
	f := flow.Name(node(9))
	long := make([]int, 50)
	for i := range long {
		long[i] = i%49 + 1
	}
	n := func(index int) string { return "nodes/" + node(index).String() }
	for _, c := range []struct {
		err  error
		want string
	}{
		{&flow.CycleError{Path: nodes(1, 1)}, "a node cannot continue itself: " + n(1)},
		{&flow.CycleError{Path: nodes(1, 2, 1)}, "the edge would close a cycle: " + n(1) + " -> " + n(2) + " -> " + n(1)},
		{&flow.CycleError{Path: nodes(long...)}, "the edge would close a cycle: " + n(1) + " -> " + n(2) + " -> " + n(3) + " -> " + n(4) + " -> (42 more) -> " +
			n(47) + " -> " + n(48) + " -> " + n(49) + " -> " + n(1)},
		{&flow.NotMemberError{Flow: node(9), Nodes: nodes(1)}, n(1) + " is not in " + f + "; add it first"},
		{&flow.NotMemberError{Flow: node(9), Nodes: nodes(1, 2)}, n(1) + ", " + n(2) + " are not in " + f + "; add them first"},
		{&flow.NoCurrentError{Flow: node(9)}, f + " has no current node; name the node, or set a current one first"},
	} {
		if diff := cmp.Diff(c.want, c.err.Error()); diff != "" {
			t.Error(diff)
		}
	}
}

func TestCheckLimits(t *testing.T) {
	t.Parallel()
	full := flow.Flow{Next: flow.MaxMembers + 1, Members: make([]flow.Member, flow.MaxMembers)}
	for i := range full.Members {
		full.Members[i] = flow.Member{Index: i + 1, Node: node(i + 1)}
	}
	one := flow.Change{Add: []flow.Member{{Index: full.Next, Node: node(full.Next)}}}
	if diff := cmp.Diff(error(&flow.FullError{What: "nodes", Limit: flow.MaxMembers}), full.Check(one)); diff != "" {
		t.Error(diff)
	}
	if err := full.Check(flow.Change{Connect: edges("1-2"), Current: ptr(2)}); err != nil {
		t.Errorf("a full flow still takes edges: %v", err)
	}
	far := flow.Flow{Next: flow.MaxIndex + 1}
	late := flow.Change{Add: []flow.Member{{Index: flow.MaxIndex + 1, Node: node(1)}}}
	if diff := cmp.Diff(error(&flow.FullError{What: "indexes", Limit: flow.MaxIndex}), far.Check(late)); diff != "" {
		t.Error(diff)
	}
	dense := flow.Flow{Edges: make([]flow.Edge, flow.MaxEdges)}
	if diff := cmp.Diff(error(&flow.FullError{What: "edges", Limit: flow.MaxEdges}), dense.Check(flow.Change{Connect: edges("1-2")})); diff != "" {
		t.Error(diff)
	}
}

func TestApply(t *testing.T) {
	t.Parallel()
	old := graph(3, "1-2 1-3")
	before := graph(3, "1-2 1-3")
	got := old.Apply(flow.Change{
		At:      at(7),
		Add:     []flow.Member{{Index: 4, Node: node(4)}, {Index: 5, Node: node(5)}},
		Connect: edges("4-5 1-2 2-4"),
		Current: ptr(5),
	})
	want := graph(5, "1-2 1-3 2-4 4-5")
	want.Updated, want.Current, want.Next = at(7), 5, 6
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(before, old); diff != "" {
		t.Errorf("the old value changed: %s", diff)
	}
}

// Two changes of one value know nothing of each other, although they share what they do not touch.
func TestApplyTwiceFromOneValue(t *testing.T) {
	t.Parallel()
	old := graph(2, "1-2")
	left := old.Apply(flow.Change{Add: []flow.Member{{Index: 3, Node: node(3)}}, Connect: edges("2-3")})
	right := old.Apply(flow.Change{Add: []flow.Member{{Index: 3, Node: node(30)}}, Connect: edges("1-3")})
	if n, _ := left.NodeAt(3); n != node(3) {
		t.Errorf("left: member 3 is %s", n)
	}
	if n, _ := right.NodeAt(3); n != node(30) {
		t.Errorf("right: member 3 is %s", n)
	}
	if diff := cmp.Diff(edges("1-2 2-3"), left.Edges); diff != "" {
		t.Error(diff)
	}
}

func TestChangeIsPureData(t *testing.T) {
	t.Parallel()
	change := flow.Change{At: at(1), Add: []flow.Member{{Index: 1, Node: node(1)}}, Connect: edges("1-2"), Current: ptr(0)}
	text, err := json.Marshal(change)
	if err != nil {
		t.Fatal(err)
	}
	want := `{"at":"2025-05-09T06:01:00Z","add":[{"index":1,"node":"00000000-0000-4000-8000-000000000001"}],"connect":[{"from":1,"to":2}],"current":0}`
	if string(text) != want {
		t.Errorf("got  %s\nwant %s", text, want)
	}
	var back flow.Change
	if err := json.Unmarshal(text, &back); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(change, back); diff != "" {
		t.Error(diff)
	}
}

func TestIndexOf(t *testing.T) {
	t.Parallel()
	f := graph(3, "")
	if index, ok := f.IndexOf(node(2)); index != 2 || !ok {
		t.Errorf("got %d, %v", index, ok)
	}
	if _, ok := f.IndexOf(node(4)); ok {
		t.Error("node 4 is no member")
	}
	if _, ok := f.NodeAt(4); ok {
		t.Error("index 4 is no member's")
	}
}
