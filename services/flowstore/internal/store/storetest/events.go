package storetest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
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
		{Events, "each of many callers at once is told, also what takes back another's change", tellsEachAtOnce},
		{Events, "a request that comes many times at once is told once", func(e *env) {
			from := e.lastEvent()
			e.atOnce(func(tx store.Tx) error {
				if _, known, err := tx.Request(id("request")); known || err != nil {
					return err
				}
				return errors.Join(tx.CreateNode(textNode("a", "a")), tx.PutRequest(store.Request{ID: id("request"), Result: id("a")}))
			})
			e.happened(from, "node_created a ")
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

// callers is how many functions atOnce runs.
const callers = 24

// atOnce runs a function for many callers who come while the first one is at it, so that an engine may make one batch of them.
func (e *env) atOnce(fn func(tx store.Tx) error) {
	e.Helper()
	var came sync.WaitGroup
	came.Add(callers)
	for _, err := range together(callers, func(int) error {
		came.Done()
		return e.update(func(tx store.Tx) error {
			came.Wait()
			return fn(tx)
		})
	}) {
		e.must(err)
	}
}

func tellsEachAtOnce(e *env) {
	e.createFlow("f", "a")
	from := e.lastEvent()
	e.atOnce(func(tx store.Tx) error { return dropOrRestore(tx, aNode("a")) })
	e.happened(from, slices.Repeat([]string{"node_deleted a ", "node_created a "}, callers/2)...)
	from = e.lastEvent()
	e.atOnce(func(tx store.Tx) error { return dropOrRestore(tx, aFlow("f")) })
	e.happened(from, slices.Repeat([]string{"flow_deleted f ", "flow_created f "}, callers/2)...)
	from = e.lastEvent()
	e.atOnce(func(tx store.Tx) error {
		f, err := tx.Flow(id("f"))
		return errors.Join(err, tx.ChangeFlow(id("f"), flow.Change{At: f.Updated.Add(time.Second)}))
	})
	e.happened(from, slices.Repeat([]string{"flow_updated f "}, callers)...)
}

// dropOrRestore drops a thing, and takes it out of the trash where it is there.
func dropOrRestore(tx store.Tx, of store.Thing) error {
	if err := tx.Restore(of); !errors.Is(err, store.ErrNotDropped) {
		return err
	}
	return tx.Drop(of)
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
