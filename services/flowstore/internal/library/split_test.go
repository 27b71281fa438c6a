package library_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/flow"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/library"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/node"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store"
	"github.com/tsumugi-dev/tsumugi/services/internal/etag"
)

// The first part stands beside the whole, behind all that it continues; the whole, its edges and the current node stay.
func TestSplitNode(t *testing.T) {
	t.Parallel()
	l := open()
	f := newFlow(t, l)
	a, b := add(t, l, f, "a"), add(t, l, f, "b")
	whole := add(t, l, f, "夜が明けた", a, b)
	add(t, l, f, "その後", whole)
	if _, err := l.Connect(t.Context(), ns, library.Connection{Operation: library.Operation{Flow: f}, Parent: a, Child: whole, Name: "雨"}); err != nil {
		t.Fatal(err)
	}
	in := library.Splitting{Flow: f, Node: whole, Characters: 2, ID: id(500), Request: id(80)}
	var got library.Placed
	for range 2 {
		var err error
		if got, err = l.SplitNode(t.Context(), ns, in); err != nil {
			t.Fatal(err)
		}
	}
	if got.Node.ID != id(500) || got.Node.Texts[0].Content != "夜が" || got.Index != 5 || !cmp.Equal(got.Parents, []uuid.UUID{a, b}) {
		t.Errorf("got %+v", got)
	}
	after, err := l.Flow(t.Context(), ns, f)
	if err != nil {
		t.Fatal(err)
	}
	want := []flow.Edge{{From: 1, To: 3, Name: "雨"}, {From: 1, To: 5}, {From: 2, To: 3}, {From: 2, To: 5}, {From: 3, To: 4}}
	if diff := cmp.Diff(want, after.Edges); diff != "" || after.Current != 4 {
		t.Errorf("the current node is %d, edges %s", after.Current, diff)
	}
	if n, err := l.Node(t.Context(), ns, whole); err != nil || n.Texts[0].Content != "夜が明けた" {
		t.Errorf("the whole is %+v, %v", n, err)
	}
	if got, err = l.SplitNode(t.Context(), ns, library.Splitting{Flow: f, Node: a, SetCurrent: true}); err != nil || len(got.Parents) != 0 {
		t.Errorf("of a root: %+v, %v", got, err)
	}
	if now, err := l.Flow(t.Context(), ns, f); err != nil || now.Current != got.Index {
		t.Errorf("the current node is %d, %v", now.Current, err)
	}
}

// All that stands in the way is told, and nothing is made.
func TestRefusedSplits(t *testing.T) {
	t.Parallel()
	l := open()
	w := draw(t, l)
	n, err := l.Node(t.Context(), ns, w.x)
	if err != nil {
		t.Fatal(err)
	}
	try := func(in library.Splitting) error {
		_, err := l.SplitNode(t.Context(), ns, in)
		return err
	}
	expect(t, &library.ManyError{Errs: []error{
		&flow.NotMemberError{Flow: w.flow, Nodes: []uuid.UUID{w.x}}, &node.OutsideError{InText: true, At: 9, Most: 1},
		&etag.StaleError{Name: node.Name(w.x), Given: "x", Current: n.Etag()}, &library.TakenError{Kind: store.KindNode, ID: w.a},
	}}, try(library.Splitting{Flow: w.flow, Node: w.x, Characters: 9, Etag: "x", ID: w.a}))
	expect(t, &library.ManyError{Errs: []error{
		&library.NotFoundError{Kind: store.KindFlow, ID: id(404)}, &library.NotFoundError{Kind: store.KindNode, ID: id(405)},
	}}, try(library.Splitting{Flow: id(404), Node: id(405), ID: id(500)}))
	expect(t, &node.NothingCutError{Characters: 1}, try(library.Splitting{Flow: w.flow, Node: w.a, Characters: 1, ID: id(500)}))
	_, err = l.Node(t.Context(), ns, id(500))
	expect(t, &library.NotFoundError{Kind: store.KindNode, ID: id(500)}, err)
}
