package storetest

import (
	"errors"

	"github.com/google/uuid"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/flow"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store"
)

func purgeCases() []testCase {
	return []testCase{
		{Purges, "what is purged is gone, whether it was in the trash or not, and a tombstone tells of it", purges},
		{Purges, "a thing that is not there is not purged, and one that was is not again", func(e *env) {
			e.createFlow("f", "a")
			e.is(e.purge(aNode("none")), store.ErrNodeNotFound)
			e.is(e.purge(aFlow("none")), store.ErrFlowNotFound)
			e.must(e.purge(aNode("a")))
			e.isPurged(e.purge(aNode("a")))
			_, err := e.store.Purged(e.Context(), e.ns, aNode("none"))
			e.is(err, store.ErrNodeNotFound)
			_, err = e.store.Purged(e.Context(), e.ns, aFlow("f"))
			e.is(err, store.ErrFlowNotFound)
		}},
		{Purges, "erasing once more changes nothing that is told, and is for what was purged", erasesAgain},
		{Purges, "the id of what was purged is not given again, and nothing can be done with it", givesNoIDAgain},
		{Purges, "revisions and steps go, too", func(e *env) {
			e.createFlow("f", "a")
			name := "other"
			e.must(e.update(func(tx store.Tx) error {
				return errors.Join(tx.ReplaceNode(textNode("a", "b")), tx.ChangeFlow(id("f"), flow.Change{At: start, Name: &name}))
			}))
			e.must(errors.Join(e.purge(aNode("a")), e.purge(aFlow("f"))))
			_, err := e.store.Flush(e.Context(), e.ns)
			e.must(err)
			_, err = e.store.Revisions(e.Context(), e.ns, id("a"))
			e.is(err, store.ErrNodeNotFound)
			e.must(e.update(func(tx store.Tx) error {
				steps, err := tx.Steps(id("f"))
				e.same(0, len(steps))
				return err
			}))
		}},
		{Purges, "made and purged in one function", func(e *env) {
			e.must(e.update(func(tx store.Tx) error {
				return errors.Join(tx.CreateNode(textNode("a", "a")), tx.ReplaceNode(textNode("a", "b")), tx.Drop(aNode("a")), tx.Purge(aNode("a"), "why"))
			}))
			e.absent("a")
			e.same(0, len(e.dropped(store.KindNode)))
			e.same(0, len(e.listed(e.store.Nodes, store.NewestFirst, 10)))
		}},
		{Purges, "a refused purge leaves it where it was", func(e *env) {
			e.createFlow("f", "a")
			e.is(e.update(func(tx store.Tx) error { return errors.Join(tx.Purge(aNode("a"), "why"), errRefused) }), errRefused)
			e.node("a")
		}},
		{Purges, "a purge sees the trash, and who holds a node there", seesEverything},
	}
}

func (e *env) purge(t store.Thing) error {
	return e.update(func(tx store.Tx) error { return tx.Purge(t, "因みに why") })
}

// isPurged wants the error of what was purged.
func (e *env) isPurged(err error) {
	e.Helper()
	var purged *store.PurgedError
	if !errors.As(err, &purged) || purged.Reason != "因みに why" || purged.At.IsZero() || !errors.Is(err, purged.Kind.NotFound()) {
		e.Errorf("want *store.PurgedError, got %v", err)
	}
}

func purges(e *env) {
	e.createFlow("f", "a", "b", "c")
	e.must(errors.Join(e.drop(aNode("b")), e.purge(aNode("a")), e.purge(aNode("b"))))
	for range 2 {
		for _, name := range []string{"a", "b"} {
			_, err := e.store.Node(e.Context(), e.ns, id(name))
			e.isPurged(err)
			tomb, err := e.store.Purged(e.Context(), e.ns, aNode(name))
			e.must(err)
			e.same(store.Tombstone{Thing: aNode(name), At: tomb.At, Reason: "因みに why"}, tomb.Tombstone)
		}
		e.same([]string{"c"}, e.listed(e.store.Nodes, store.NewestFirst, 10))
		e.same(0, len(e.dropped(store.KindNode)))
		e.same(3, len(e.flow("f").Members))
		_, err := e.store.Flush(e.Context(), e.ns)
		e.must(err)
	}
	e.must(e.update(func(tx store.Tx) error {
		return errors.Join(tx.Purge(aFlow("f"), "因みに why"), tx.Purge(aNode("c"), "因みに why"))
	}))
	for range 2 {
		told, err := e.store.Purged(e.Context(), e.ns, aFlow("f"))
		e.must(err)
		e.same([]uuid.UUID{id("c")}, told.Nodes) // a and b were purged before, each by itself
		_, err = e.store.Flush(e.Context(), e.ns)
		e.must(err)
	}
	_, err := e.store.Flow(e.Context(), e.ns, id("f"))
	e.isPurged(err)
	e.same(0, len(e.listed(e.store.Flows, store.NewestFirst, 10)))
}

func erasesAgain(e *env) {
	e.createFlow("f", "a")
	erase := func(t store.Thing) error {
		return e.update(func(tx store.Tx) error { return tx.Erase(t) })
	}
	e.is(erase(aNode("a")), store.ErrNodeNotFound)
	e.is(erase(aFlow("none")), store.ErrFlowNotFound)
	e.node("a")
	e.must(errors.Join(e.purge(aNode("a")), e.purge(aFlow("f"))))
	for _, t := range []store.Thing{aNode("a"), aFlow("f")} {
		before, err := e.store.Purged(e.Context(), e.ns, t)
		e.must(err)
		last, err := e.store.LastEvent(e.Context(), e.ns)
		e.must(errors.Join(err, erase(t)))
		_, err = e.store.Flush(e.Context(), e.ns)
		e.must(err)
		after, err := e.store.Purged(e.Context(), e.ns, t)
		e.must(err)
		e.same(before, after)
		told, err := e.store.LastEvent(e.Context(), e.ns)
		e.must(err)
		e.same(last, told)
	}
	e.is(e.purge(aNode("b")), store.ErrNodeNotFound)
}

func givesNoIDAgain(e *env) {
	e.createFlow("f", "a")
	e.must(errors.Join(e.purge(aNode("a")), e.purge(aFlow("f"))))
	e.must(e.update(func(tx store.Tx) error {
		e.isPurged(tx.CreateNode(textNode("a", "other")))
		e.isPurged(tx.CreateFlow(flow.Flow{ID: id("f"), Next: 1}))
		e.isPurged(tx.ReplaceNode(textNode("a", "other")))
		e.isPurged(tx.ChangeFlow(id("f"), flow.Change{}))
		e.isPurged(tx.Drop(aNode("a")))
		e.is(tx.Restore(aNode("a")), store.ErrNotDropped)
		there, err := tx.HasNode(id("a"))
		e.same(false, there)
		return err
	}))
}

func seesEverything(e *env) {
	e.createFlow("f", "a")
	e.createFlow("g")
	join := flow.Change{At: start, Add: []flow.Member{{Index: 1, Node: id("a")}}}
	e.must(e.update(func(tx store.Tx) error { return tx.ChangeFlow(id("g"), join) }))
	e.must(errors.Join(e.drop(aNode("a")), e.drop(aFlow("g"))))
	e.must(e.update(func(tx store.Tx) error {
		all := tx.Everything()
		n, err := all.Node(id("a"))
		e.must(err)
		e.same(id("a"), n.ID)
		g, err := all.Flow(id("g"))
		e.must(err)
		e.same(1, len(g.Members))
		flows, err := all.FlowsOf(id("a"))
		e.must(err)
		e.same(2, len(flows))
		e.must(tx.Purge(aFlow("g"), "因みに why"))
		_, err = all.Flow(id("g"))
		e.isPurged(err)
		flows, err = all.FlowsOf(id("a"))
		e.same(1, len(flows))
		return err
	}))
}
