package library_test

import (
	"context"
	"testing"

	"github.com/google/uuid"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/flow"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/library"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/node"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store/memory"
	"github.com/tsumugi-dev/tsumugi/services/internal/etag"
)

func TestRebuild(t *testing.T) {
	t.Parallel()
	d := damaged{memory.New(clock), map[uuid.UUID]error{}}
	l := library.New(d, &counting{})
	w := draw(t, l)
	in := library.Rebuilding{Operation: library.Operation{Flow: w.flow, Etag: w.read(t).Etag()}, Nodes: []uuid.UUID{w.x, w.c, w.b}}
	w.changed(t, "1-2 3-2 6-3")(l.Rebuild(t.Context(), ns, in))
	old := in.Etag
	d.errs[w.e] = &store.UnreadableError{Path: "nodes/000/004.xml", Reason: "torn"}
	_, err := l.Rebuild(t.Context(), ns, library.Rebuilding{Operation: in.Operation, Nodes: []uuid.UUID{id(4000), w.a, w.e}})
	expect(t, &library.ManyError{Errs: []error{
		&library.NotFoundError{Kind: store.KindNode, ID: id(4000)},
		&library.UnreadableError{Kind: store.KindNode, ID: w.e, Cause: &store.UnreadableError{Path: "nodes/000/004.xml", Reason: "torn"}},
		&etag.StaleError{Name: flow.Name(w.flow), Given: old, Current: w.read(t).Etag()},
	}}, err)
}

// going is a store in which a node goes between the moment when it was read and the transaction.
type going struct {
	store.Store
	id uuid.UUID
}

func (g going) Node(ctx context.Context, ns string, id uuid.UUID) (node.Node, error) {
	if id == g.id {
		return node.Node{ID: id}, nil
	}
	return g.Store.Node(ctx, ns, id)
}

// A node that goes meanwhile is not put into a flow.
func TestANodeThatGoesMeanwhile(t *testing.T) {
	t.Parallel()
	g := going{memory.New(clock), id(4000)}
	l := library.New(g, &counting{})
	w := draw(t, l)
	gone := &library.NotFoundError{Kind: store.KindNode, ID: g.id}
	_, err := l.AddNode(t.Context(), ns, library.Addition{Flow: w.flow, Node: g.id})
	expect(t, gone, err)
	_, err = l.Rebuild(t.Context(), ns, library.Rebuilding{Operation: w.op(), Nodes: []uuid.UUID{w.a, g.id}})
	expect(t, gone, err)
	if _, held := w.read(t).IndexOf(g.id); held {
		t.Error("it is in the flow")
	}
}
