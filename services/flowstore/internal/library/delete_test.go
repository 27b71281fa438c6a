package library_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/flow"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/library"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/node"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store/memory"
	"github.com/tsumugi-dev/tsumugi/services/internal/etag"
	"github.com/tsumugi-dev/tsumugi/services/internal/testkit"
)

// shared is the drawn flow and another one that holds some of its nodes, all connected.
type shared struct {
	drawn
	other uuid.UUID
}

func share(t *testing.T, l *library.Library, nodes func(w drawn) []uuid.UUID) shared {
	t.Helper()
	w := shared{drawn: draw(t, l), other: id(2000)}
	if _, err := l.CreateFlow(t.Context(), ns, library.NewFlow{Flow: flow.Flow{Name: "other"}, ID: w.other}); err != nil {
		t.Fatal(err)
	}
	var parents []uuid.UUID
	for _, n := range nodes(w.drawn) {
		if _, err := l.AddNode(t.Context(), ns, library.Addition{Flow: w.other, Node: n, Parents: parents}); err != nil {
			t.Fatal(err)
		}
		parents = []uuid.UUID{n}
	}
	return w
}

func (w shared) delete(t *testing.T, n uuid.UUID, mode flow.RemoveMode) (library.Deleted, error) {
	t.Helper()
	return w.l.Delete(t.Context(), ns, library.Deletion{Node: n, Mode: mode})
}

// lost gives the nodes that left each flow, and expects that the answer shows the flows as they are stored.
func (w shared) lost(t *testing.T, d library.Deleted) map[uuid.UUID][]uuid.UUID {
	t.Helper()
	lost := map[uuid.UUID][]uuid.UUID{}
	for _, loss := range d.Flows {
		lost[loss.Flow.ID] = loss.Nodes
		stored, err := w.l.Flow(t.Context(), ns, loss.Flow.ID)
		if diff := cmp.Diff(stored, loss.Flow); diff != "" || err != nil {
			t.Errorf("the answer is not what is stored: %v %s", err, diff)
		}
	}
	return lost
}

// gone expects that a node is in the trash.
func (w shared) gone(t *testing.T, nodes ...uuid.UUID) {
	t.Helper()
	for _, n := range nodes {
		_, err := w.l.Node(t.Context(), ns, n)
		if missing := (*library.NotFoundError)(nil); !errors.As(err, &missing) || missing.Deleted.IsZero() {
			t.Errorf("%s: %v", n, err)
		}
	}
}

func (w shared) stored(t *testing.T, nodes ...uuid.UUID) {
	t.Helper()
	for _, n := range nodes {
		if _, err := w.l.Node(t.Context(), ns, n); err != nil {
			t.Error(err)
		}
	}
}

func TestDeleteWhatNoFlowHolds(t *testing.T) {
	t.Parallel()
	w := share(t, open(), func(w drawn) []uuid.UUID { return []uuid.UUID{w.b, w.c} })
	_, err := w.delete(t, w.b, flow.Restrict)
	expect(t, &library.InUseError{Node: w.b, Flows: []uuid.UUID{w.flow, w.other}}, err)
	w.stored(t, w.b)
	x, err := w.l.Node(t.Context(), ns, w.x)
	if err != nil {
		t.Fatal(err)
	}
	_, err = w.l.Delete(t.Context(), ns, library.Deletion{Node: w.x, Etag: "old"})
	expect(t, &etag.StaleError{Name: node.Name(w.x), Given: "old", Current: x.Etag()}, err)
	got, err := w.l.Delete(t.Context(), ns, library.Deletion{Node: w.x, Etag: x.Etag()})
	if diff := cmp.Diff(library.Deleted{Nodes: []uuid.UUID{w.x}}, got); diff != "" || err != nil {
		t.Error(err, diff)
	}
	w.gone(t, w.x)
	_, err = w.delete(t, id(900), flow.Subtree)
	expect(t, &library.NotFoundError{Kind: store.KindNode, ID: id(900)}, err)
	if _, err = w.delete(t, w.x, flow.Restrict); !errors.As(err, new(*library.NotFoundError)) {
		t.Errorf("deleted twice: %v", err)
	}
}

func TestDeleteSplice(t *testing.T) {
	t.Parallel()
	w := share(t, open(), func(w drawn) []uuid.UUID { return []uuid.UUID{w.e, w.b, w.c} })
	got, err := w.delete(t, w.b, flow.Splice)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]uuid.UUID{w.b}, got.Nodes); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(map[uuid.UUID][]uuid.UUID{w.flow: {w.b}, w.other: {w.b}}, w.lost(t, got)); diff != "" {
		t.Error(diff)
	}
	if got := edges(w.read(t)); got != "1-3" {
		t.Errorf("edges %s", got)
	}
	w.gone(t, w.b)
	w.stored(t, w.a, w.c, w.e)
}

// What continues the node goes with it from each flow that holds the node; it stays stored where another flow holds it.
func TestDeleteSubtree(t *testing.T) {
	t.Parallel()
	w := share(t, open(), func(w drawn) []uuid.UUID { return []uuid.UUID{w.c, w.d} })
	got, err := w.delete(t, w.a, flow.Subtree)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]uuid.UUID{w.a, w.b}, got.Nodes); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(map[uuid.UUID][]uuid.UUID{w.flow: {w.a, w.b, w.c}}, w.lost(t, got)); diff != "" {
		t.Error(diff)
	}
	w.gone(t, w.a, w.b)
	w.stored(t, w.c, w.d)
	// Now both flows lose the same: what both held goes with the last of them.
	got, err = w.delete(t, w.d, flow.Subtree)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[uuid.UUID][]uuid.UUID{w.flow: {w.d}, w.other: {w.d}}, w.lost(t, got)); diff != "" {
		t.Error(diff)
	}
}

func TestDeleteSubtreeOfSeveralFlows(t *testing.T) {
	t.Parallel()
	w := share(t, open(), func(w drawn) []uuid.UUID { return []uuid.UUID{w.b, w.c, w.e} })
	got, err := w.delete(t, w.b, flow.Subtree)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]uuid.UUID{w.b, w.c}, got.Nodes); diff != "" { // e stands in the first flow, apart from b.
		t.Error(diff)
	}
	if diff := cmp.Diff(map[uuid.UUID][]uuid.UUID{w.flow: {w.b, w.c}, w.other: {w.b, w.c, w.e}}, w.lost(t, got)); diff != "" {
		t.Error(diff)
	}
	w.stored(t, w.e)
}

// A member that is not stored any more leaves the flows; one that cannot be read stays, and so does everything.
func TestDeleteDamaged(t *testing.T) {
	t.Parallel()
	d := damagedTx{damaged{memory.New(clock), map[uuid.UUID]error{}}}
	w := share(t, library.New(d, &counting{}), func(drawn) []uuid.UUID { return nil })
	cause := &store.UnreadableError{Path: "nodes/000/002.xml", Reason: "torn"}
	d.errs[w.c] = cause
	before := w.read(t)
	_, err := w.delete(t, w.a, flow.Subtree)
	expect(t, &library.UnreadableError{Kind: store.KindNode, ID: w.c, Cause: cause}, err)
	w.stored(t, w.a, w.b)
	if diff := cmp.Diff(before, w.read(t)); diff != "" {
		t.Error(diff)
	}
	delete(d.errs, w.c)
	if err := d.Update(t.Context(), ns, func(tx store.Tx) error { return tx.Drop(store.Thing{Kind: store.KindNode, ID: w.c}) }); err != nil {
		t.Fatal(err)
	}
	got, err := w.delete(t, w.a, flow.Subtree)
	if diff := cmp.Diff([]uuid.UUID{w.a, w.b}, got.Nodes); diff != "" || err != nil {
		t.Error(err, diff)
	}
	if len(w.read(t).Members) != 2 {
		t.Errorf("members %v", w.read(t).Members)
	}
}

// damagedTx is damaged within transactions, too.
type damagedTx struct{ damaged }

func (d damagedTx) Update(ctx context.Context, ns string, fn func(store.Tx) error) error {
	return d.Store.Update(ctx, ns, func(tx store.Tx) error { return fn(damagedNodes{tx, d.errs}) })
}

type damagedNodes struct {
	store.Tx
	errs map[uuid.UUID]error
}

func (d damagedNodes) Node(id uuid.UUID) (node.Node, error) {
	if err := d.errs[id]; err != nil {
		return node.Node{}, err
	}
	return d.Tx.Node(id)
}

func (d damagedNodes) Drop(t store.Thing) error {
	if err := d.errs[t.ID]; err != nil {
		return err
	}
	return d.Tx.Drop(t)
}

func TestDeleteTooMany(t *testing.T) {
	t.Parallel()
	testkit.WithoutRace(t)
	s := memory.New(clock)
	w := shared{drawn: drawn{l: library.New(s, &counting{})}}
	big := flow.Flow{ID: id(1), Next: library.MaxRemoved + 2}
	for i := range library.MaxRemoved + 1 {
		big.Members = append(big.Members, flow.Member{Index: i + 1, Node: id(uint32(i + 1))})
		big.Edges = append(big.Edges, flow.Edge{From: 1, To: i + 2})
	}
	big.Edges = big.Edges[:library.MaxRemoved]
	err := s.Update(t.Context(), ns, func(tx store.Tx) error {
		for _, m := range big.Members {
			if err := tx.CreateNode(node.Node{ID: m.Node, Created: clock()}); err != nil {
				return err
			}
		}
		return tx.CreateFlow(big)
	})
	if err != nil {
		t.Fatal(err)
	}
	_, err = w.delete(t, id(1), flow.Subtree)
	expect(t, &library.TooManyError{Node: id(1)}, err)
	w.stored(t, id(1), id(2))
	if _, err = w.delete(t, id(2), flow.Subtree); err != nil {
		t.Fatal(err)
	}
	got, err := w.delete(t, id(1), flow.Subtree)
	if err != nil || len(got.Nodes) != library.MaxRemoved {
		t.Errorf("%d nodes: %v", len(got.Nodes), err)
	}
}

func TestUndelete(t *testing.T) {
	t.Parallel()
	w := share(t, open(), func(drawn) []uuid.UUID { return nil })
	ctx := t.Context()
	want, err := w.l.Brief(ctx, ns, w.x)
	if err != nil {
		t.Fatal(err)
	}
	first := library.Deletion{Node: w.x, Request: id(5000)}
	if _, err := w.l.Delete(ctx, ns, first); err != nil {
		t.Fatal(err)
	}
	back := library.Return{ID: w.x, Request: id(5001)}
	for range 2 {
		got, err := w.l.UndeleteNode(ctx, ns, back)
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Error(err, diff)
		}
	}
	again, err := w.l.Delete(ctx, ns, first)
	if err != nil || len(again.Nodes) != 0 {
		t.Errorf("the same request: %v %v", again, err)
	}
	w.stored(t, w.x)
	_, err = w.l.UndeleteNode(ctx, ns, library.Return{ID: w.x})
	expect(t, &library.NotDeletedError{Kind: store.KindNode, ID: w.x}, err)
	_, err = w.l.UndeleteNode(ctx, ns, library.Return{ID: id(900)})
	expect(t, &library.NotFoundError{Kind: store.KindNode, ID: id(900)}, err)
}

func TestDeleteFlow(t *testing.T) {
	t.Parallel()
	w := share(t, open(), func(drawn) []uuid.UUID { return nil })
	ctx := t.Context()
	before := w.read(t)
	op := library.Operation{Flow: w.flow, Etag: "old", Request: id(5000)}
	_, err := w.l.DeleteFlow(ctx, ns, op)
	expect(t, &etag.StaleError{Name: flow.Name(w.flow), Given: "old", Current: before.Etag()}, err)
	op.Etag = before.Etag()
	first, err := w.l.DeleteFlow(ctx, ns, op)
	if diff := cmp.Diff(before, first.Flow); diff != "" || err != nil || first.Deleted.IsZero() {
		t.Error(err, diff)
	}
	w.stored(t, w.a, w.b)
	_, err = w.l.Flow(ctx, ns, w.flow)
	missing := &library.NotFoundError{Kind: store.KindFlow, ID: w.flow, Deleted: first.Deleted}
	expect(t, missing, err)
	_, err = w.l.AddNode(ctx, ns, library.Addition{Flow: w.flow, Node: w.x})
	expect(t, missing, err)
	_, err = w.l.DeleteFlow(ctx, ns, library.Operation{Flow: w.flow})
	expect(t, missing, err)
	_, err = w.l.CreateFlow(ctx, ns, library.NewFlow{Flow: flow.Flow{Name: "n"}, ID: w.flow})
	expect(t, &library.TakenError{Kind: store.KindFlow, ID: w.flow, Deleted: first.Deleted}, err)
	again, err := w.l.DeleteFlow(ctx, ns, op)
	if diff := cmp.Diff(first, again); diff != "" || err != nil {
		t.Error(err, diff)
	}
	for range 2 {
		back, err := w.l.UndeleteFlow(ctx, ns, library.Return{ID: w.flow, Request: id(5001)})
		if diff := cmp.Diff(before, back); diff != "" || err != nil {
			t.Error(err, diff)
		}
	}
	again, err = w.l.DeleteFlow(ctx, ns, op)
	if diff := cmp.Diff(library.Trashed{Flow: before}, again); diff != "" || err != nil {
		t.Error(err, diff)
	}
	_, err = w.l.UndeleteFlow(ctx, ns, library.Return{ID: w.flow})
	expect(t, &library.NotDeletedError{Kind: store.KindFlow, ID: w.flow}, err)
}

// A deleted node is told of wherever it is named or stands: with the time, and that it can come back.
func TestDeletedNodesAreTold(t *testing.T) {
	t.Parallel()
	s := memory.New(clock)
	w := share(t, library.New(s, &counting{}), func(drawn) []uuid.UUID { return nil })
	ctx := t.Context()
	if err := s.Update(ctx, ns, func(tx store.Tx) error { return tx.Drop(store.Thing{Kind: store.KindNode, ID: w.b}) }); err != nil {
		t.Fatal(err)
	}
	_, err := w.l.Node(ctx, ns, w.b)
	told := &library.NotFoundError{}
	if !errors.As(err, &told) || told.Deleted.IsZero() {
		t.Fatal(err)
	}
	_, errCurrent := w.l.SetCurrent(ctx, ns, w.other, w.b)
	_, errAdd := w.l.AddNode(ctx, ns, library.Addition{Flow: w.other, Node: w.b})
	_, errConnect := w.l.Connect(ctx, ns, library.Connection{Operation: w.op(), Parent: w.a, Child: w.b})
	_, errRebuild := w.l.Rebuild(ctx, ns, library.Rebuilding{Operation: w.op(), Nodes: []uuid.UUID{w.b}})
	for _, err := range []error{errCurrent, errAdd, errConnect, errRebuild} {
		expect(t, told, err)
	}
	n := said("b")
	_, err = w.l.CreateNode(ctx, ns, library.NewNode{Node: n, ID: w.b})
	expect(t, &library.TakenError{Kind: store.KindNode, ID: w.b, Deleted: told.Deleted}, err)
	page, err := w.l.Path(ctx, ns, library.PathQuery{Flow: w.flow, Node: w.c, MaxNodes: 5, MaxBytes: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	at := slices.IndexFunc(page.Nodes, func(n library.PathNode) bool { return n.Problem != "" })
	if at != 1 || page.Nodes[at].Problem != told.Error() {
		t.Errorf("the path tells %+v", page.Nodes)
	}
}
