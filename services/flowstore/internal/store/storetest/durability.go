package storetest

import (
	"errors"
	"time"

	"github.com/google/uuid"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/flow"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/node"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store"
)

func durabilityCases() []testCase {
	return []testCase{
		{Durability, "what was replaced, dropped and restored is so when it is opened again", changedThingsAreThereAgain},
		{Durability, "events go on where they were", func(e *env) {
			from := e.lastEvent()
			e.createNode("a", "a")
			e.reopen()
			e.createNode("b", "b")
			e.reopen()
			e.happened(from, "node_created a ", "node_created b ")
		}},
		{Durability, "everything is there again", everythingAgain},
		{Durability, "a flow goes on where it was", func(e *env) {
			e.createFlow("f", "a")
			for i := range 5 {
				name := numbered("n", i)
				e.createNode(name, name)
				e.must(e.update(func(tx store.Tx) error { return e.addTo(tx, name, i+1) }))
				want := e.flow("f")
				e.reopen()
				e.same(want, e.flow("f"))
			}
		}},
		{Durability, "other words stay", func(e *env) {
			e.createFlow("f", "a")
			name, title := "名前", "題\n"
			want := e.change(flow.Change{Name: &name, Story: &flow.Story{Title: &title, Keywords: []string{"k"}}})
			for range 2 {
				e.reopen()
				e.same(want, e.flow("f"))
			}
		}},
		{Durability, "what was taken away stays away", staysAway},
		{Durability, "requests are remembered", func(e *env) {
			want := store.Request{ID: id("request"), Digest: "digest", Result: id("n")}
			e.must(e.update(func(tx store.Tx) error { return tx.PutRequest(want) }))
			e.reopen()
			e.same(&want, e.request(want.ID))
			e.clock.move(store.RequestLifetime)
			e.same((*store.Request)(nil), e.request(want.ID))
		}},
		{Durability, "time rises across a restart, also when the clock goes back", func(e *env) {
			before := e.createNode("a", "a").Created
			e.clock.move(-time.Hour)
			e.reopen()
			if after := e.createNode("b", "b").Created; !after.After(before) {
				e.Errorf("%v after %v", after, before)
			}
		}},
	}
}

func everythingAgain(e *env) {
	wantNode, wantFlow := fullNode(), fullFlow()
	e.must(e.update(func(tx store.Tx) error {
		if err := tx.CreateNode(wantNode); err != nil {
			return err
		}
		return tx.CreateFlow(wantFlow)
	}))
	e.createFlow("later", "x", "y")
	e.must(e.connect("later", flow.Edge{From: 1, To: 2}))
	wantLater := e.flow("later")
	for range 2 {
		e.reopen()
		e.same(wantNode, e.node("full"))
		e.same(wantFlow, e.flow("full"))
		e.same(wantLater, e.flow("later"))
		problems, err := e.store.Problems(e.Context(), e.ns)
		e.must(err)
		e.same([]store.Problem(nil), problems)
	}
}

// staysAway reads the flow out of its log, and out of its file.
func staysAway(e *env) {
	e.createFlow("f", "a", "b", "c")
	for _, c := range []flow.Change{
		{Connect: []flow.Edge{{From: 1, To: 2, Name: "雨"}, {From: 2, To: 3}, {From: 1, To: 3}}},
		{Disconnect: []flow.Edge{{From: 1, To: 3}}},
		{Remove: []flow.Member{{Index: 3, Node: id("c")}}},
	} {
		want := e.change(c)
		e.reopen()
		e.same(want, e.flow("f"))
	}
	_, err := e.store.Flush(e.Context(), e.ns)
	e.must(err)
	want := e.flow("f")
	e.reopen()
	e.same(want, e.flow("f"))
	e.same(4, want.Next)
}

func changedThingsAreThereAgain(e *env) {
	f, g := e.createFlow("f", "a", "b"), e.createFlow("g", "c")
	before := e.node("a")
	after := e.replaceNode("a", "二")
	for _, t := range []store.Thing{aNode("b"), aNode("c"), aFlow("g"), aFlow("f")} {
		e.must(e.drop(t))
	}
	e.must(errors.Join(e.restore(aNode("c")), e.restore(aFlow("f"))))
	c := e.replaceNode("c", "後")
	trash := e.dropped(store.KindNode)
	for range 2 {
		e.same(after, e.node("a"))
		e.same([]node.Node{before}, e.revisionsOfA())
		e.same(c, e.node("c"))
		e.same(f, e.flow("f"))
		e.same(trash, e.dropped(store.KindNode))
		e.same([]uuid.UUID{id("g")}, e.dropped(store.KindFlow))
		e.absent("b")
		e.holding("a", "f")
		e.holding("c")
		e.reopen()
	}
	e.must(errors.Join(e.restore(aNode("b")), e.restore(aFlow("g"))))
	e.reopen()
	e.same("b", e.node("b").Texts[0].Content)
	e.same(g, e.flow("g"))
	e.holding("c", "g")
}
