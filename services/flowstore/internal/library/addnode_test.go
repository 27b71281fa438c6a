package library_test

import (
	"context"
	"errors"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/flow"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/library"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store"
)

func TestAddNode(t *testing.T) {
	t.Parallel()
	l := open()
	f := newFlow(t, l)
	a, b := add(t, l, f, "a"), add(t, l, f, "b")
	text := said("between")
	placed, err := l.AddNode(t.Context(), ns, library.Addition{Flow: f, New: &text, Parents: []uuid.UUID{b, a}})
	if err != nil {
		t.Fatal(err)
	}
	if placed.Index != 3 || !cmp.Equal(placed.Parents, []uuid.UUID{a, b}) || placed.Node.Texts[0].Content != "between" {
		t.Errorf("%+v", placed)
	}
	first := said("before all")
	front, err := l.AddNode(t.Context(), ns, library.Addition{Flow: f, New: &first, Children: []uuid.UUID{a, b}, SetCurrent: true})
	if err != nil {
		t.Fatal(err)
	}
	got, err := l.Flow(t.Context(), ns, f)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]flow.Edge{{From: 1, To: 3}, {From: 2, To: 3}, {From: 4, To: 1}, {From: 4, To: 2}}, got.Edges); diff != "" || got.Current != 4 {
		t.Errorf("current %d, %s", got.Current, diff)
	}
	if text := path(t, l, library.PathQuery{Flow: f, Node: placed.Node.ID, MaxNodes: 10, MaxBytes: 1 << 20}); text != "before all a b between" {
		t.Errorf("path %q", text)
	}
	stored, err := l.Node(t.Context(), ns, front.Node.ID)
	if diff := cmp.Diff(front.Node, stored); diff != "" || err != nil {
		t.Error(err, diff)
	}
}

func TestAddStoredNode(t *testing.T) {
	t.Parallel()
	l := open()
	f := newFlow(t, l)
	a := add(t, l, f, "a")
	b, err := l.CreateNode(t.Context(), ns, library.NewNode{Node: said("b")})
	if err != nil {
		t.Fatal(err)
	}
	placed, err := l.AddNode(t.Context(), ns, library.Addition{Flow: f, Node: b.ID})
	if diff := cmp.Diff(library.Placed{Node: b, Index: 2, Parents: []uuid.UUID{}}, placed); diff != "" || err != nil {
		t.Error(err, diff)
	}
	// The flow holds it now: only the edge is new.
	placed, err = l.AddNode(t.Context(), ns, library.Addition{Flow: f, Node: b.ID, Parents: []uuid.UUID{a}})
	if diff := cmp.Diff(library.Placed{Node: b, Index: 2, Parents: []uuid.UUID{a}}, placed); diff != "" || err != nil {
		t.Error(err, diff)
	}
	got, err := l.Flow(t.Context(), ns, f)
	if err != nil || len(got.Members) != 2 || len(got.Edges) != 1 {
		t.Errorf("%v, %+v", err, got)
	}
}

// What is refused leaves nothing: no node, no member, no edge.
func TestAddNodeRefusals(t *testing.T) {
	t.Parallel()
	l := open()
	f := newFlow(t, l)
	a := add(t, l, f, "a")
	b := add(t, l, f, "b", a)
	alone, err := l.CreateNode(t.Context(), ns, library.NewNode{Node: said("alone")})
	if err != nil {
		t.Fatal(err)
	}
	before, err := l.Flow(t.Context(), ns, f)
	if err != nil {
		t.Fatal(err)
	}
	text, chosen := said("new"), id(3000)
	cases := map[string]struct {
		in   library.Addition
		want error
	}{
		"no such flow":     {library.Addition{Flow: id(1), New: &text, Node: chosen}, &library.NotFoundError{Kind: store.KindFlow, ID: id(1)}},
		"no such node":     {library.Addition{Flow: f, Node: id(4000)}, &library.NotFoundError{Kind: store.KindNode, ID: id(4000)}},
		"the id is taken":  {library.Addition{Flow: f, New: &text, Node: a}, &library.TakenError{Kind: store.KindNode, ID: a}},
		"no such parent":   {library.Addition{Flow: f, New: &text, Node: chosen, Parents: []uuid.UUID{id(4000)}}, &library.NotFoundError{Kind: store.KindNode, ID: id(4000)}},
		"parent elsewhere": {library.Addition{Flow: f, New: &text, Node: chosen, Parents: []uuid.UUID{a, alone.ID}}, &flow.NotMemberError{Flow: f, Nodes: []uuid.UUID{alone.ID}}},
		"child elsewhere":  {library.Addition{Flow: f, New: &text, Node: chosen, Children: []uuid.UUID{alone.ID}}, &flow.NotMemberError{Flow: f, Nodes: []uuid.UUID{alone.ID}}},
		"its own parent":   {library.Addition{Flow: f, New: &text, Node: chosen, Parents: []uuid.UUID{chosen}}, ring(f, chosen, chosen)},
		"its own child":    {library.Addition{Flow: f, Node: b, Children: []uuid.UUID{b}}, ring(f, b, b)},
		"a cycle":          {library.Addition{Flow: f, Node: a, Parents: []uuid.UUID{b}}, &flow.CycleError{Flow: f, Path: []uuid.UUID{a, b, a}, Closing: [][2]uuid.UUID{{b, a}}}},
		"a cycle through the new node": {library.Addition{Flow: f, New: &text, Node: chosen, Parents: []uuid.UUID{b}, Children: []uuid.UUID{a}},
			&flow.CycleError{Flow: f, Path: []uuid.UUID{chosen, a, b, chosen}, Closing: [][2]uuid.UUID{{b, chosen}, {chosen, a}}}},
		"all at once": {library.Addition{Flow: f, New: &text, Node: b, Parents: []uuid.UUID{id(4000), alone.ID, b}, Children: []uuid.UUID{id(4001), a}},
			&library.ManyError{Errs: []error{
				&library.TakenError{Kind: store.KindNode, ID: b}, ring(f, b, b),
				&library.NotFoundError{Kind: store.KindNode, ID: id(4000)}, &library.NotFoundError{Kind: store.KindNode, ID: id(4001)},
				&flow.NotMemberError{Flow: f, Nodes: []uuid.UUID{alone.ID}},
			}}},
		"nothing is there": {library.Addition{Flow: id(1), Node: id(4000), Parents: []uuid.UUID{id(4001), alone.ID}},
			&library.ManyError{Errs: []error{
				&library.NotFoundError{Kind: store.KindFlow, ID: id(1)}, &library.NotFoundError{Kind: store.KindNode, ID: id(4000)},
				&library.NotFoundError{Kind: store.KindNode, ID: id(4001)},
			}}},
	}
	for name, c := range cases {
		_, err := l.AddNode(t.Context(), ns, c.in)
		if diff := cmp.Diff(c.want, err); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		if _, err := l.Node(t.Context(), ns, chosen); err == nil {
			t.Fatalf("%s: the new node was stored", name)
		}
	}
	after, err := l.Flow(t.Context(), ns, f)
	if diff := cmp.Diff(before, after); diff != "" || err != nil {
		t.Errorf("the flow changed: %v %s", err, diff)
	}
}

func ring(f uuid.UUID, from, to uuid.UUID) error {
	return &flow.CycleError{Flow: f, Path: []uuid.UUID{from, to}, Closing: [][2]uuid.UUID{{from, to}}}
}

// Callers that try to close a cycle between them at once: one of each pair is refused.
func TestPairsThatCloseACycle(t *testing.T) {
	t.Parallel()
	l := open()
	f := newFlow(t, l)
	const pairs = 1000
	for range pairs {
		a, b := add(t, l, f, "a"), add(t, l, f, "b")
		var group sync.WaitGroup
		errs := make([]error, 2)
		for i, edge := range [][2]uuid.UUID{{a, b}, {b, a}} {
			group.Go(func() {
				_, errs[i] = l.AddNode(context.Background(), ns, library.Addition{Flow: f, Node: edge[1], Parents: []uuid.UUID{edge[0]}})
			})
		}
		group.Wait()
		refused := 0
		for _, err := range errs {
			if cycle := (*flow.CycleError)(nil); errors.As(err, &cycle) {
				refused++
			} else if err != nil {
				t.Fatal(err)
			}
		}
		if refused != 1 {
			t.Fatalf("%d of the two edges were refused", refused)
		}
	}
	got, err := l.Flow(t.Context(), ns, f)
	if err != nil || len(got.Edges) != pairs || len(flow.Examine(got).Skipped) > 0 {
		t.Errorf("%v: %d edges, on a cycle %v", err, len(got.Edges), flow.Examine(got).Skipped)
	}
}

// cases/flowstore.md 1: switching branches hides nothing.
func TestFlowstore01SwitchingBranches(t *testing.T) {
	t.Parallel()
	l := open()
	f := newFlow(t, l)
	a := add(t, l, f, "A")
	b := add(t, l, f, "B", a)
	c, d := add(t, l, f, "C", b), add(t, l, f, "D", b)
	for _, step := range []struct {
		to   uuid.UUID
		want string
	}{{c, "A B C"}, {d, "A B D"}, {c, "A B C"}} {
		got, err := l.SetCurrent(t.Context(), ns, f, step.to)
		if err != nil || len(got.Members) != 4 || len(got.Edges) != 3 {
			t.Errorf("%v: %d nodes, %d edges", err, len(got.Members), len(got.Edges))
		}
		if text := path(t, l, library.PathQuery{Flow: f, MaxNodes: 10, MaxBytes: 1 << 20}); text != step.want {
			t.Errorf("path %q, want %q", text, step.want)
		}
	}
}

// cases/flowstore.md 2: many writers under one node lose nothing.
func TestFlowstore02ManyWriters(t *testing.T) {
	t.Parallel()
	l := open()
	f := newFlow(t, l)
	root := add(t, l, f, "root")
	const writers = 50
	var group sync.WaitGroup
	for range writers {
		group.Go(func() {
			n := said("a")
			if _, err := l.AddNode(context.Background(), ns, library.Addition{Flow: f, New: &n, Parents: []uuid.UUID{root}}); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	got, err := l.Flow(t.Context(), ns, f)
	if err != nil || len(got.Members) != writers+1 || len(got.Edges) != writers || len(flow.Examine(got).Problems) > 0 {
		t.Errorf("%v: %d nodes, %d edges", err, len(got.Members), len(got.Edges))
	}
}

// A purged node is told with all else that is wrong, wherever it is named.
func TestAddNodeTellsPurgedNodesWithTheRest(t *testing.T) {
	t.Parallel()
	s := holder(t)
	purgeThing(t, s, store.KindNode, 2)
	l := library.New(s, &counting{})
	_, err := l.AddNode(t.Context(), ns, library.Addition{Flow: id(404), Node: id(2), Parents: []uuid.UUID{id(405)}, Children: []uuid.UUID{id(2)}})
	var many *library.ManyError
	if !errors.As(err, &many) || len(many.Errs) < 3 || !wasPurged(err) {
		t.Errorf("only %v is told", err)
	}
}
