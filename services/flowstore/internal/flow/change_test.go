package flow_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

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
		{"an edge away", flow.Change{Disconnect: edges("1-2")}, nil},
		{"an edge away that is not there", flow.Change{Disconnect: edges("1-3")}, &flow.NotConnectedError{Flow: id, From: node(1), To: node(3)}},
		{"an edge of nothing away", flow.Change{Disconnect: edges("9-2")}, &flow.UnknownIndexError{Flow: id, Index: 9}},
		{"turned round", flow.Change{Disconnect: edges("1-2"), Connect: edges("2-1")}, nil},
		{"a member away", flow.Change{Remove: members(2)}, nil},
		{"and what would have been a cycle through it", flow.Change{Remove: members(2), Connect: edges("3-1")}, nil},
		{"no such member away", flow.Change{Remove: members(4)}, &flow.UnknownIndexError{Flow: id, Index: 4}},
		{"a member away that stands elsewhere", flow.Change{Remove: []flow.Member{{Index: 1, Node: node(2)}}}, &flow.NotMemberError{Flow: id, Nodes: nodes(2)}},
		{"an edge to a member that goes", flow.Change{Remove: members(2), Connect: edges("1-2")}, &flow.UnknownIndexError{Flow: id, Index: 2}},
		{"the index of a member that goes", flow.Change{Remove: members(3), Add: []flow.Member{{Index: 3, Node: node(9)}}}, &flow.NextIndexError{Flow: id, Index: 3, Next: 4}},
		{"a member that goes comes again", flow.Change{Remove: members(3), Add: []flow.Member{{Index: 4, Node: node(3)}}}, nil},
		{"a member again", flow.Change{Add: []flow.Member{{Index: 4, Node: node(1)}}}, &flow.MemberError{Flow: id, Node: node(1)}},
		{"a member that goes comes back", flow.Change{Remove: members(3), Restore: members(3), Connect: edges("2-3")}, nil},
		{"back to an index that is taken", flow.Change{Restore: []flow.Member{{Index: 3, Node: node(9)}}}, &flow.OldIndexError{Flow: id, Index: 3}},
		{"back to an index that never was", flow.Change{Restore: members(4)}, &flow.OldIndexError{Flow: id, Index: 4}},
		{"back to no index", flow.Change{Restore: members(0)}, &flow.OldIndexError{Flow: id}},
		{"back to one index twice", flow.Change{Remove: members(2, 3), Restore: []flow.Member{{Index: 2, Node: node(8)}, {Index: 2, Node: node(9)}}}, &flow.OldIndexError{Flow: id, Index: 2}},
		{"back, and there still", flow.Change{Remove: members(2), Restore: []flow.Member{{Index: 2, Node: node(1)}}}, &flow.MemberError{Flow: id, Node: node(1)}},
		{"back into a cycle", flow.Change{Remove: members(2), Restore: members(2), Connect: edges("2-3 3-2")},
			&flow.CycleError{Flow: id, Path: nodes(3, 2, 3), Closing: [][2]uuid.UUID{{node(2), node(3)}, {node(3), node(2)}}}},
		{"a head", flow.Change{Heads: []flow.Head{{Name: "a", Index: 3}, {Name: "b"}}}, nil},
		{"a head of nothing", flow.Change{Heads: []flow.Head{{Name: "a", Index: 4}}}, &flow.UnknownIndexError{Flow: id, Index: 4}},
		{"a head of a new member", flow.Change{Add: members(4), Heads: []flow.Head{{Name: "a", Index: 4}}}, nil},
		{"a link", flow.Change{Link: []flow.Link{{From: 3, Flow: node(1)}, {Flow: node(1)}}}, nil},
		{"a link from nothing", flow.Change{Link: []flow.Link{{From: 9, Flow: node(1)}}}, &flow.UnknownIndexError{Flow: id, Index: 9}},
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

func members(indexes ...int) []flow.Member {
	list := make([]flow.Member, len(indexes))
	for i, index := range indexes {
		list[i] = flow.Member{Index: index, Node: node(index)}
	}
	return list
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
		{&flow.NotConnectedError{Flow: node(9), From: node(1), To: node(2)}, n(2) + " does not continue " + n(1) + " in " + f + ": there is no edge to take away"},
		{&flow.HasChildrenError{Flow: node(9), Node: node(1), Children: nodes(2, 3)}, n(1) + " cannot leave " + f +
			" with the mode RESTRICT, since others continue it: " + n(2) + ", " + n(3) + "; SPLICE has them continue what it continues, and SUBTREE removes them, too"},
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

func TestApplyTakesAway(t *testing.T) {
	t.Parallel()
	old := graph(4, "1-2 2-3 2-4")
	old.Edges[1].Name = "main"
	old.Current = 4
	got := old.Apply(flow.Change{Disconnect: edges("2-3"), Remove: members(4)})
	if diff := cmp.Diff(edges("1-2"), got.Edges); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(members(1, 2, 3), got.Members); diff != "" || got.Current != 0 || got.Next != 5 {
		t.Errorf("current %d, next %d, %s", got.Current, got.Next, diff)
	}
	// The last member has gone, and the file was read again: its index is not given twice.
	if again := flow.Examine(got); again.Next != 5 {
		t.Errorf("after reading again the next index is %d", again.Next)
	}
	kept := old.Apply(flow.Change{Remove: members(4), Current: ptr(3)})
	if kept.Current != 3 || old.Current != 4 || len(old.Members) != 4 || len(old.Edges) != 3 {
		t.Errorf("current is %d; the old value is %+v", kept.Current, old)
	}
}

// Taking an edge out of a hand-made cycle opens it: what was left out of paths is on them again, and is told no more.
func TestApplyOpensACycle(t *testing.T) {
	t.Parallel()
	f := graph(3, "1-2 2-3 3-1")
	if len(f.Skipped) != 1 || len(f.Problems) != 1 {
		t.Fatalf("%+v", f)
	}
	open := f.Apply(flow.Change{Disconnect: edges("1-2")})
	if len(open.Skipped)+len(open.Problems) > 0 || indexes(open.Path(1)) != "2 3 1" {
		t.Errorf("%q, skipped %v, path %s", open.Problems, open.Skipped, indexes(open.Path(1)))
	}
	if len(f.Problems) != 1 {
		t.Error("the old value changed")
	}
}

// New words settle what was wrong with the old ones in a file made by hand; the rest is told still.
func TestApplyRewrites(t *testing.T) {
	t.Parallel()
	f := flow.Flow{Name: "n", Story: flow.Story{Title: ptr("t"), Plot: ptr("p")}, Problems: []string{
		"name: line 2: must be a text; it is left out", "description: line 3: must be a text; it is left out", "story: line 4: must be a mapping",
		"story.title: line 5: stands there twice; the first counts", "updated: line 6: has no zone",
	}}
	to := f.Edited(flow.Flow{Name: "x", Description: "d", Story: flow.Story{Title: ptr("題")}}, []string{"description", "story.title"})
	got := f.Apply(f.Rewriting(to))
	if got.Name != "n" || got.Description != "d" || *got.Story.Title != "題" || *got.Story.Plot != "p" || *f.Story.Title != "t" {
		t.Errorf("%+v", got)
	}
	if diff := cmp.Diff([]string{f.Problems[0], f.Problems[4]}, got.Problems); diff != "" {
		t.Error(diff)
	}
	if got := got.Apply(flow.Change{Name: ptr("x")}); got.Name != "x" || len(got.Problems) != 1 {
		t.Errorf("%+v", got)
	}
	same := got
	same.Story.Keywords = []string{}
	if c := got.Rewriting(same); !c.Empty() {
		t.Errorf("the same words are a change: %+v", c)
	}
	for _, c := range []flow.Change{
		{Name: ptr("")}, {Description: ptr("")}, {Story: &flow.Story{}}, {Remove: members(1)}, {Disconnect: edges("1-2")}, {Add: members(1)},
		{Connect: edges("1-2")}, {Current: ptr(0)},
	} {
		if c.Empty() {
			t.Errorf("%+v is taken for nothing", c)
		}
	}
}

func TestNamesOfEdges(t *testing.T) {
	t.Parallel()
	named := func(name string) []flow.Edge { return []flow.Edge{{From: 1, To: 2, Name: name}} }
	f := graph(2, "1-2")
	for _, step := range []struct{ give, want string }{{"main", "main"}, {"", "main"}, {"other", "other"}} {
		f = f.Apply(flow.Change{Connect: named(step.give)})
		if diff := cmp.Diff(named(step.want), f.Edges); diff != "" {
			t.Error(diff)
		}
	}
	// Of two entries of a hand the first counts.
	twice := flow.Examine(flow.Flow{Members: members(1, 2), Edges: append(named("first"), named("second")...)})
	if diff := cmp.Diff(named("first"), twice.Edges); diff != "" {
		t.Error(diff)
	}
	long := flow.Flow{Members: members(1, 2), Next: 3}
	err := long.Check(flow.Change{Connect: named(strings.Repeat("x", flow.MaxEdgeNames+1))})
	if diff := cmp.Diff(error(&flow.FullError{What: "bytes of names of edges", Limit: flow.MaxEdgeNames}), err); diff != "" {
		t.Error(diff)
	}
}

// Whatever is in a flow is in its etag, and how it is held is not.
func TestEtag(t *testing.T) {
	t.Parallel()
	f := graph(3, "1-2")
	seen := map[string]string{}
	for name, edit := range map[string]func(*flow.Flow){
		"as it was":   func(*flow.Flow) {},
		"id":          func(f *flow.Flow) { f.ID = node(9) },
		"name":        func(f *flow.Flow) { f.Name = "x" },
		"description": func(f *flow.Flow) { f.Description = "x" },
		"created":     func(f *flow.Flow) { f.Created = at(1) },
		"updated":     func(f *flow.Flow) { f.Updated = at(1) },
		"title":       func(f *flow.Flow) { f.Story.Title = ptr("") },
		"synopsis":    func(f *flow.Flow) { f.Story.Synopsis = ptr("") },
		"setting":     func(f *flow.Flow) { f.Story.Setting = ptr("") },
		"plot":        func(f *flow.Flow) { f.Story.Plot = ptr("") },
		"note":        func(f *flow.Flow) { f.Story.Note = ptr("") },
		"dialogue":    func(f *flow.Flow) { f.Story.DialogueLevel = ptr("") },
		"rating":      func(f *flow.Flow) { f.Story.Rating = ptr("") },
		"keywords":    func(f *flow.Flow) { f.Story.Keywords = []string{"x"} },
		"genres":      func(f *flow.Flow) { f.Story.Genres = []string{"x"} },
		"member":      func(f *flow.Flow) { f.Members = members(1, 2) },
		"edge":        func(f *flow.Flow) { f.Edges = edges("1-3") },
		"edge's name": func(f *flow.Flow) { f.Edges = []flow.Edge{{From: 1, To: 2, Name: "x"}} },
		"current":     func(f *flow.Flow) { f.Current = 1 },
	} {
		g := f
		edit(&g)
		if other, taken := seen[g.Etag()]; taken {
			t.Errorf("%s and %s have one etag", name, other)
		}
		seen[g.Etag()] = name
	}
	same := f
	same.Updated = f.Updated.In(time.FixedZone("", 3600))
	same.Story.Keywords, same.Problems = []string{}, []string{"told"}
	if same.Etag() != f.Etag() {
		t.Error("the same flow has another etag")
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
	change := flow.Change{
		At: at(1), Name: ptr("n"), Description: ptr(""), Story: &flow.Story{Title: ptr("t"), Genres: []string{"g"}},
		Remove: members(3), Disconnect: edges("1-3"), Add: members(1), Connect: []flow.Edge{{From: 1, To: 2, Name: "main"}}, Current: ptr(0),
	}
	text, err := json.Marshal(change)
	if err != nil {
		t.Fatal(err)
	}
	want := `{"at":"2025-05-09T06:01:00Z","name":"n","description":"",` +
		`"story":{"Title":"t","Keywords":null,"Genres":["g"],"Synopsis":null,"Setting":null,"Plot":null,"Note":null,"DialogueLevel":null,"Rating":null},` +
		`"remove":[{"index":3,"node":"00000000-0000-4000-8000-000000000003"}],"disconnect":[{"from":1,"to":3}],` +
		`"add":[{"index":1,"node":"00000000-0000-4000-8000-000000000001"}],"connect":[{"from":1,"to":2,"name":"main"}],"current":0}`
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

// A long row that is connected at once, as an import does, is searched for cycles as a whole: once for each new edge, it would take
// memory for the whole row each time.
func TestCheckOfManyEdges(t *testing.T) {
	const row = 5000
	c := flow.Change{}
	for i := 1; i <= row; i++ {
		c.Add = append(c.Add, flow.Member{Index: i, Node: node(i)})
		if i > 1 {
			c.Connect = append(c.Connect, flow.Edge{From: i - 1, To: i})
		}
	}
	f := flow.Flow{Next: 1}
	check := func() error { return f.Check(c) }
	if allocations := testing.AllocsPerRun(1, func() { _ = check() }); allocations > 2*row || check() != nil {
		t.Errorf("%.0f allocations, %v", allocations, check())
	}
	c.Connect = append(c.Connect, flow.Edge{From: row, To: 1})
	var cycle *flow.CycleError
	if allocations := testing.AllocsPerRun(1, func() { _ = check() }); allocations > 2*row || !errors.As(check(), &cycle) || len(cycle.Closing) != row {
		t.Errorf("%.0f allocations, %v", allocations, check())
	}
}
