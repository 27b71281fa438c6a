package library_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/flow"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/library"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store/memory"
	"github.com/tsumugi-dev/tsumugi/services/internal/etag"
)

// A fork goes its own way: neither flow sees what the other one does later, and the nodes are the same.
func TestFork(t *testing.T) {
	t.Parallel()
	l := library.New(memory.New(clock), &counting{})
	w := draw(t, l)
	before := w.read(t)
	abandoned := add(t, l, w.flow, "abandoned", w.b)
	in := library.Forking{Operation: library.Operation{Flow: w.flow, Request: id(3000)}, Way: flow.ForkPath, Node: w.c, Name: "fork"}
	made, err := l.Fork(t.Context(), ns, in)
	if err != nil {
		t.Fatal(err)
	}
	if _, held := made.IndexOf(abandoned); held || edges(made) != "1-2 2-3" || made.Name != "fork" || made.Created.IsZero() || made.Updated != made.Created {
		t.Errorf("made was %+v", made)
	}
	if diff := cmp.Diff([]flow.Link{{From: 3, Flow: w.flow}}, made.Links); diff != "" {
		t.Error(diff)
	}
	next := add(t, l, made.ID, "next", w.c)
	if _, held := w.read(t).IndexOf(next); held {
		t.Error("the origin holds a node of the fork")
	}
	again, err := l.Fork(t.Context(), ns, in)
	if err != nil || again.ID != made.ID || len(again.Members) != 4 {
		t.Errorf("asked again: %+v, %v", again, err)
	}
	in.Name = "other"
	_, err = l.Fork(t.Context(), ns, in)
	expect(t, &library.RequestReusedError{Request: in.Request}, err)
	_, err = l.Fork(t.Context(), ns, library.Forking{Operation: library.Operation{Flow: w.flow, Etag: before.Etag()}, Way: flow.ForkSubtree, Node: w.x})
	expect(t, &library.ManyError{Errs: []error{
		&flow.NotMemberError{Flow: w.flow, Nodes: []uuid.UUID{w.x}},
		&etag.StaleError{Name: flow.Name(w.flow), Given: before.Etag(), Current: w.read(t).Etag()},
	}}, err)
	_, err = l.Fork(t.Context(), ns, library.Forking{Operation: w.op(), ID: w.flow})
	expect(t, &library.TakenError{Kind: store.KindFlow, ID: w.flow}, err)
}
