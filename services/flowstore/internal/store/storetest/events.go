package storetest

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/flow"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/node"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store"
)

func eventCases() []testCase {
	return []testCase{
		{Events, "every change once, in order, with its origin", tellsChanges},
		{Events, "a transaction tells a thing and kind once, and a refused one nothing", func(e *env) {
			e.createFlow("f", "a")
			from := e.lastEvent()
			e.is(e.update(func(tx store.Tx) error { return errors.Join(tx.Drop(aNode("a")), errRefused) }), errRefused)
			e.must(e.update(func(tx store.Tx) error {
				return errors.Join(tx.CreateNode(textNode("b", "b")),
					tx.ChangeFlow(id("f"), flow.Change{At: start, Add: []flow.Member{{Index: 2, Node: id("b")}}}),
					tx.ChangeFlow(id("f"), flow.Change{At: start, Connect: []flow.Edge{{From: 1, To: 2}}}))
			}))
			e.happened(from, "node_created b ", "flow_updated f ")
		}},
		{Events, "what of a node changed", func(e *env) {
			n := e.createNode("a", "a")
			from := e.lastEvent()
			for _, change := range []func(){
				func() { n.Tags = []string{"t"} },
				func() { n.Summary = node.Summary{Text: "s", Built: start} },
				func() { n.Texts = []node.Text{{Role: "user", Content: "b"}}; n.Summary.Stale = true },
				func() {},
			} {
				change()
				e.must(e.update(func(tx store.Tx) error { return tx.ReplaceNode(n) }))
			}
			e.happened(from, "tags_updated a ", "summary_updated a ", "node_updated a ", "summary_updated a ")
		}},
		{Events, "in pages, from anywhere", func(e *env) {
			from := e.lastEvent()
			for i := range 5 {
				e.createNode(numbered("n", i), "x")
			}
			first, err := e.store.Events(e.Context(), e.ns, from, 2)
			e.must(err)
			e.same(2, len(first))
			rest, err := e.store.Events(e.Context(), e.ns, first[1].Seq, 100)
			e.must(err)
			e.same(3, len(rest))
			e.same(e.lastEvent(), rest[2].Seq)
		}},
		{Events, "a reader waits for the next one, or until it gives up", waitsForEvents},
		{Events, "what is not kept, and what never was, is told", func(e *env) {
			last := e.lastEvent()
			for _, since := range []int64{last + 1, last - 1, -1} {
				_, err := e.store.Events(e.Context(), e.ns, since, 1)
				e.is(err, store.ErrPruned)
			}
		}},
	}
}

func (e *env) lastEvent() int64 {
	e.Helper()
	last, err := e.store.LastEvent(e.Context(), e.ns)
	e.must(err)
	return last
}

// happened compares the events since one, each as kind, name and origin.
func (e *env) happened(since int64, want ...string) {
	e.Helper()
	var got []string
	for e.lastEvent() > since {
		events, err := e.store.Events(e.Context(), e.ns, since, 3)
		e.must(err)
		for _, event := range events {
			e.same(since+1, event.Seq)
			since = event.Seq
			for _, name := range []string{"a", "b", "c", "f"} {
				if id(name) == event.Of.ID {
					got = append(got, fmt.Sprintf("%s %s %s", event.Kind, name, event.Origin))
				}
			}
		}
	}
	e.same(want, got)
}

func tellsChanges(e *env) {
	from := e.lastEvent()
	ctx := store.WithOrigin(e.Context(), "client 1")
	for _, write := range []func(tx store.Tx) error{
		func(tx store.Tx) error { return tx.CreateNode(textNode("a", "a")) },
		func(tx store.Tx) error { return tx.CreateFlow(flow.Flow{ID: id("f"), Name: "f", Next: 1}) },
		func(tx store.Tx) error { return tx.Drop(aNode("a")) },
		func(tx store.Tx) error { return tx.Drop(aFlow("f")) },
		func(tx store.Tx) error { return errors.Join(tx.Restore(aNode("a")), tx.Restore(aFlow("f"))) },
	} {
		e.must(e.store.Update(ctx, e.ns, write))
	}
	e.createNode("b", "b")
	e.happened(from, "node_created a client 1", "flow_created f client 1", "node_deleted a client 1", "flow_deleted f client 1",
		"node_created a client 1", "flow_created f client 1", "node_created b ")
}

func waitsForEvents(e *env) {
	from := e.lastEvent()
	ctx, cancel := context.WithTimeout(e.Context(), 20*time.Millisecond)
	defer cancel()
	_, err := e.store.Events(ctx, e.ns, from, 1)
	e.is(err, context.DeadlineExceeded)
	got := make(chan error)
	for range 3 {
		go func() {
			events, err := e.store.Events(e.Context(), e.ns, from, 10)
			if err == nil && (len(events) == 0 || events[0].Of != aNode("a")) {
				err = fmt.Errorf("events %v", events)
			}
			got <- err
		}()
	}
	e.createNode("a", "a")
	for range 3 {
		e.must(<-got)
	}
}
