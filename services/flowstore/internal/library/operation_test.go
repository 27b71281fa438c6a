package library_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/flow"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/library"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store/memory"
	"github.com/tsumugi-dev/tsumugi/services/internal/etag"
)

// drawn is a flow with the nodes a -> b -> c, d and e, the last two without edges, and a node of no flow.
type drawn struct {
	l                *library.Library
	flow             uuid.UUID
	a, b, c, d, e, x uuid.UUID
}

func draw(t *testing.T, l *library.Library) drawn {
	t.Helper()
	w := drawn{l: l, flow: newFlow(t, l)}
	w.a = add(t, l, w.flow, "a")
	w.b = add(t, l, w.flow, "b", w.a)
	w.c = add(t, l, w.flow, "c", w.b)
	w.d, w.e = add(t, l, w.flow, "d"), add(t, l, w.flow, "e")
	n, err := l.CreateNode(t.Context(), ns, library.NewNode{Node: said("x")})
	if err != nil {
		t.Fatal(err)
	}
	w.x = n.ID
	return w
}

func (w drawn) read(t *testing.T) flow.Flow {
	t.Helper()
	f, err := w.l.Flow(t.Context(), ns, w.flow)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func (w drawn) op() library.Operation { return library.Operation{Flow: w.flow} }

// edges writes the edges of a flow as `1-2 2-3:name`.
func edges(f flow.Flow) (text string) {
	for i, e := range f.Edges {
		if i > 0 {
			text += " "
		}
		text += fmt.Sprintf("%d-%d", e.From, e.To)
		if e.Name != "" {
			text += ":" + e.Name
		}
	}
	return text
}

// changed expects that an operation left these edges, and answered what is stored.
func (w drawn) changed(t *testing.T, want string) func(flow.Flow, error) flow.Flow {
	t.Helper()
	return func(f flow.Flow, err error) flow.Flow {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		if got := edges(f); got != want {
			t.Errorf("edges are %s, want %s", got, want)
		}
		if diff := cmp.Diff(w.read(t), f); diff != "" {
			t.Errorf("the answer is not what is stored: %s", diff)
		}
		return f
	}
}

// refused expects that an operation was refused and changed nothing.
func (w drawn) refused(t *testing.T, want error) func(flow.Flow, error) {
	t.Helper()
	return func(_ flow.Flow, err error) {
		t.Helper()
		expect(t, want, err)
	}
}

func (w drawn) joined(parent, child uuid.UUID, name string) library.Connection {
	return library.Connection{Operation: w.op(), Parent: parent, Child: child, Name: name}
}

func TestConnect(t *testing.T) {
	t.Parallel()
	w := draw(t, open())
	ctx := t.Context()
	w.changed(t, "1-2 2-3 2-4:雨")(w.l.Connect(ctx, ns, w.joined(w.b, w.d, "雨")))
	w.changed(t, "1-2 2-3 2-4:雨 3-4")(w.l.Connect(ctx, ns, w.joined(w.c, w.d, "")))
	w.changed(t, "1-2 2-3 2-4:雪 3-4")(w.l.Connect(ctx, ns, w.joined(w.b, w.d, "雪")))
	before := w.read(t)
	for _, name := range []string{"", "雪"} {
		w.changed(t, "1-2 2-3 2-4:雪 3-4")(w.l.Connect(ctx, ns, w.joined(w.b, w.d, name)))
	}
	if diff := cmp.Diff(before, w.read(t)); diff != "" {
		t.Errorf("what was there already was written: %s", diff)
	}
	w.refused(t, &flow.CycleError{Flow: w.flow, Path: []uuid.UUID{w.a, w.b, w.c, w.a}, Closing: [][2]uuid.UUID{{w.c, w.a}}})(w.l.Connect(ctx, ns, w.joined(w.c, w.a, "")))
	w.refused(t, ring(w.flow, w.a, w.a))(w.l.Connect(ctx, ns, w.joined(w.a, w.a, "")))
	w.refused(t, &flow.NotMemberError{Flow: w.flow, Nodes: []uuid.UUID{w.x}})(w.l.Connect(ctx, ns, w.joined(w.x, w.a, "")))
	w.refused(t, &library.NotFoundError{Kind: store.KindNode, ID: id(900)})(w.l.Connect(ctx, ns, w.joined(w.a, id(900), "")))
	gone := w.joined(id(900), w.x, "")
	gone.Flow, gone.Etag = id(901), "old"
	w.refused(t, &library.ManyError{Errs: []error{
		&library.NotFoundError{Kind: store.KindFlow, ID: id(901)}, &library.NotFoundError{Kind: store.KindNode, ID: id(900)},
	}})(w.l.Connect(ctx, ns, gone))
	if diff := cmp.Diff(before, w.read(t)); diff != "" {
		t.Errorf("a refusal changed the flow: %s", diff)
	}
}

// A node that cannot be read is not continued; what leads to it may be taken away.
func TestConnectWithDamagedNodes(t *testing.T) {
	t.Parallel()
	cause := &store.UnreadableError{Path: "nodes/000/002.xml", Reason: "holds no element"}
	d := damaged{memory.New(clock), map[uuid.UUID]error{}}
	w := draw(t, library.New(d, &counting{}))
	d.errs[w.b] = cause
	d.errs[w.c] = store.ErrNodeNotFound
	w.refused(t, &library.ManyError{Errs: []error{
		&library.UnreadableError{Kind: store.KindNode, ID: w.b, Cause: cause}, &library.NotFoundError{Kind: store.KindNode, ID: w.c},
	}})(w.l.Connect(t.Context(), ns, w.joined(w.b, w.c, "")))
	w.changed(t, "1-2")(w.l.Disconnect(t.Context(), ns, w.joined(w.b, w.c, "")))
}

// cases/flowstore.md 19: taking one edge away leaves the others.
func TestFlowstore19Disconnect(t *testing.T) {
	t.Parallel()
	w := draw(t, open())
	ctx := t.Context()
	w.changed(t, "1-2 2-3 3-4")(w.l.Connect(ctx, ns, w.joined(w.c, w.d, "")))
	f := w.changed(t, "1-2 2-3")(w.l.Disconnect(ctx, ns, w.joined(w.c, w.d, "")))
	if len(f.Members) != 5 {
		t.Errorf("%d nodes", len(f.Members))
	}
	w.refused(t, &flow.NotConnectedError{Flow: w.flow, From: w.c, To: w.d})(w.l.Disconnect(ctx, ns, w.joined(w.c, w.d, "")))
	w.refused(t, &flow.NotConnectedError{Flow: w.flow, From: w.b, To: w.a})(w.l.Disconnect(ctx, ns, w.joined(w.b, w.a, "")))
	w.refused(t, &flow.NotMemberError{Flow: w.flow, Nodes: []uuid.UUID{w.x}})(w.l.Disconnect(ctx, ns, w.joined(w.x, w.a, "")))
	w.changed(t, "1-2 2-3")(w.read(t), nil)
}

func TestReconnect(t *testing.T) {
	t.Parallel()
	d := damaged{memory.New(clock), map[uuid.UUID]error{}}
	w := draw(t, library.New(d, &counting{}))
	ctx := t.Context()
	reconnect := func(child, from, to uuid.UUID) (flow.Flow, error) {
		return w.l.Reconnect(ctx, ns, library.Reconnection{Operation: w.op(), Child: child, From: from, To: to})
	}
	w.changed(t, "1-2 2-3:雨")(w.l.Connect(ctx, ns, w.joined(w.b, w.c, "雨")))
	w.changed(t, "1-2 1-3:雨")(reconnect(w.c, w.b, w.a))
	w.changed(t, "1-2 2-3:雨")(reconnect(w.c, w.a, w.b))
	// What would be a cycle with the old edge is none without it, and a cycle is refused as a whole.
	w.refused(t, &flow.CycleError{Flow: w.flow, Path: []uuid.UUID{w.b, w.c, w.b}, Closing: [][2]uuid.UUID{{w.c, w.b}}})(reconnect(w.b, w.a, w.c))
	w.refused(t, &flow.NotConnectedError{Flow: w.flow, From: w.a, To: w.c})(reconnect(w.c, w.a, w.d))
	w.refused(t, &library.ManyError{Errs: []error{
		&library.NotFoundError{Kind: store.KindNode, ID: id(900)}, &flow.NotMemberError{Flow: w.flow, Nodes: []uuid.UUID{w.x}},
	}})(reconnect(id(900), w.a, w.x))
	d.errs[w.d], d.errs[w.b] = store.ErrNodeNotFound, store.ErrNodeNotFound
	w.refused(t, &library.NotFoundError{Kind: store.KindNode, ID: w.d})(reconnect(w.c, w.b, w.d))
	w.changed(t, "1-2 2-3:雨")(w.read(t), nil)
	// A node whose old parent cannot be read gets another one; an edge that is there keeps its name.
	w.changed(t, "1-2 2-3:雨 5-3:雪")(w.l.Connect(ctx, ns, w.joined(w.e, w.c, "雪")))
	w.changed(t, "1-2 5-3:雪")(reconnect(w.c, w.b, w.e))
}

func TestUpdateFlow(t *testing.T) {
	t.Parallel()
	w := draw(t, open())
	before := w.read(t)
	title, plot := "題", "筋"
	update := func(words flow.Flow, fields ...string) (flow.Flow, error) {
		return w.l.UpdateFlow(t.Context(), ns, library.Update{Flow: w.flow, Words: words, Fields: fields})
	}
	got := w.changed(t, edges(before))(update(flow.Flow{Name: "夜", Story: flow.Story{Title: &title, Plot: &plot}}, "display_name", "story.title"))
	want := before
	want.Name, want.Story.Title, want.Updated = "夜", &title, got.Updated
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	// The same words again are no change.
	again := w.changed(t, edges(before))(update(flow.Flow{Name: "夜", Story: flow.Story{Title: &title, Keywords: []string{}}}, "display_name", "story"))
	if diff := cmp.Diff(got, again); diff != "" {
		t.Error(diff)
	}
	got = w.changed(t, edges(before))(update(flow.Flow{Description: "第二稿"}, "description", "story"))
	if got.Description != "第二稿" || got.Name != "夜" || !got.Story.Same(flow.Story{}) {
		t.Errorf("%+v", got)
	}
	_, err := w.l.UpdateFlow(t.Context(), ns, library.Update{Flow: id(900)})
	expect(t, &library.NotFoundError{Kind: store.KindFlow, ID: id(900)}, err)
	stale := library.Update{Flow: w.flow, Etag: before.Etag(), Words: flow.Flow{Name: "x"}, Fields: []string{"display_name"}}
	_, err = w.l.UpdateFlow(t.Context(), ns, stale)
	expect(t, &etag.StaleError{Name: flow.Name(w.flow), Given: before.Etag(), Current: got.Etag()}, err)
}

func TestRemove(t *testing.T) {
	t.Parallel()
	d := damaged{memory.New(clock), map[uuid.UUID]error{}}
	w := draw(t, library.New(d, &counting{}))
	ctx := t.Context()
	remove := func(id uuid.UUID, mode flow.RemoveMode) (flow.Flow, error) {
		return w.l.Remove(ctx, ns, library.Removal{Operation: w.op(), Node: id, Mode: mode})
	}
	w.refused(t, &flow.HasChildrenError{Flow: w.flow, Node: w.a, Children: []uuid.UUID{w.b}})(remove(w.a, flow.Restrict))
	w.refused(t, &flow.NotMemberError{Flow: w.flow, Nodes: []uuid.UUID{w.x}})(remove(w.x, flow.Subtree))
	w.refused(t, &library.NotFoundError{Kind: store.KindNode, ID: id(900)})(remove(id(900), flow.Splice))
	// A node whose file is gone or cannot be read can still leave.
	d.errs[w.b] = store.ErrNodeNotFound
	w.changed(t, "1-3")(remove(w.b, flow.Splice))
	f := w.changed(t, "1-3")(remove(w.e, flow.Restrict))
	if f.Current != 4 || len(f.Members) != 3 || f.Next != 6 {
		t.Errorf("%+v", f)
	}
	// It is stored still, and comes back under a new number.
	placed, err := w.l.AddNode(ctx, ns, library.Addition{Flow: w.flow, Node: w.e})
	if err != nil || placed.Index != 6 {
		t.Errorf("%v: index %d", err, placed.Index)
	}
	if f := w.changed(t, "")(remove(w.a, flow.Subtree)); len(f.Members) != 2 {
		t.Errorf("%+v", f)
	}
}

// operations calls every operation on a flow with what is right, such as it may be done once.
func (w drawn) operations(t *testing.T) map[string]func(op library.Operation) (flow.Flow, error) {
	t.Helper()
	ctx := t.Context()
	return map[string]func(op library.Operation) (flow.Flow, error){
		"Connect": func(op library.Operation) (flow.Flow, error) {
			return w.l.Connect(ctx, ns, library.Connection{Operation: op, Parent: w.c, Child: w.d})
		},
		"Disconnect": func(op library.Operation) (flow.Flow, error) {
			return w.l.Disconnect(ctx, ns, library.Connection{Operation: op, Parent: w.a, Child: w.b})
		},
		"Reconnect": func(op library.Operation) (flow.Flow, error) {
			return w.l.Reconnect(ctx, ns, library.Reconnection{Operation: op, Child: w.c, From: w.b, To: w.d})
		},
		"Remove": func(op library.Operation) (flow.Flow, error) {
			return w.l.Remove(ctx, ns, library.Removal{Operation: op, Node: w.b, Mode: flow.Splice})
		},
	}
}

// cases/flowstore.md 2: who read the flow before somebody else changed it is told both versions, and changes nothing.
func TestFlowstore02StaleEtag(t *testing.T) {
	t.Parallel()
	for name := range draw(t, open()).operations(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := draw(t, open())
			call := w.operations(t)[name]
			read := w.read(t).Etag()
			if _, err := w.l.SetCurrent(t.Context(), ns, w.flow, w.a); err != nil {
				t.Fatal(err)
			}
			now := w.read(t)
			op := w.op()
			op.Etag = read
			_, err := call(op)
			expect(t, &etag.StaleError{Name: flow.Name(w.flow), Given: read, Current: now.Etag()}, err)
			if diff := cmp.Diff(now, w.read(t)); diff != "" {
				t.Errorf("the flow changed: %s", diff)
			}
			op.Etag = now.Etag()
			f, err := call(op)
			if err != nil || f.Etag() == now.Etag() || !f.Updated.After(now.Updated) {
				t.Errorf("with the etag of now: %v", err)
			}
		})
	}
}

// The same request again changes nothing, also when its etag is an old one by then; the same id for something else is refused.
func TestOperationsAgain(t *testing.T) {
	t.Parallel()
	for name := range draw(t, open()).operations(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := draw(t, open())
			call := w.operations(t)[name]
			op := library.Operation{Flow: w.flow, Etag: w.read(t).Etag(), Request: id(3000)}
			first, err := call(op)
			if err != nil {
				t.Fatal(err)
			}
			again, err := call(op)
			if diff := cmp.Diff(first, again); diff != "" || err != nil {
				t.Errorf("again: %v %s", err, diff)
			}
			op.Etag = ""
			_, err = call(op)
			if reused := (*library.RequestReusedError)(nil); !errors.As(err, &reused) {
				t.Errorf("the id for another request: %v", err)
			}
		})
	}
}
