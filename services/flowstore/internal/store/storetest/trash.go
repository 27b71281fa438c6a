package storetest

import (
	"errors"
	"slices"

	"github.com/google/uuid"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/flow"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store"
)

func trashCases() []testCase {
	return []testCase{
		{Trash, "what is dropped is out of sight and comes back as it was", dropsAndRestores},
		{Trash, "a thing that is not there is not dropped, and only what was dropped comes back", func(e *env) {
			e.createFlow("f", "a")
			e.is(e.drop(aNode("none")), store.ErrNodeNotFound)
			e.is(e.drop(aFlow("none")), store.ErrFlowNotFound)
			e.is(e.restore(aNode("a")), store.ErrNotDropped)
			e.must(e.drop(aNode("a")))
			var dropped *store.DroppedError
			if err := e.drop(aNode("a")); !errors.As(err, &dropped) {
				e.Errorf("dropped twice: %v", err)
			}
			e.is(e.restore(aNode("none")), store.ErrNotDropped)
		}},
		{Trash, "an id in the trash is taken, and what is there cannot be changed", func(e *env) {
			e.createFlow("f", "a")
			e.must(errors.Join(e.drop(aNode("a")), e.drop(aFlow("f"))))
			e.must(e.update(func(tx store.Tx) error {
				taken := tx.CreateNode(textNode("a", "other"))
				e.is(taken, store.ErrTaken)
				if dropped := (*store.DroppedError)(nil); !errors.As(taken, &dropped) {
					e.Errorf("%v does not tell of the trash", taken)
				}
				e.is(tx.CreateFlow(flow.Flow{ID: id("f"), Next: 1}), store.ErrTaken)
				e.is(tx.ReplaceNode(textNode("a", "other")), store.ErrNodeNotFound)
				e.is(tx.ChangeFlow(id("f"), flow.Change{}), store.ErrFlowNotFound)
				return nil
			}))
		}},
		{Trash, "what is in the trash can be read there, with the time when it went", readsTrash},
		{Trash, "the function sees what it dropped and restored", seesWhatItDropped},
		{Trash, "made, replaced and dropped in one function", func(e *env) {
			e.must(e.update(func(tx store.Tx) error {
				return errors.Join(tx.CreateNode(textNode("a", "a")), tx.ReplaceNode(textNode("a", "b")), tx.Drop(aNode("a")))
			}))
			e.absent("a")
			e.must(e.restore(aNode("a")))
			e.same("b", e.node("a").Texts[0].Content)
		}},
		{Trash, "a refused drop leaves it where it was", func(e *env) {
			e.createFlow("f", "a")
			e.is(e.update(func(tx store.Tx) error { return errors.Join(tx.Drop(aNode("a")), errRefused) }), errRefused)
			e.node("a")
			e.same(0, len(e.dropped(store.KindNode)))
		}},
		{Trash, "the trash lists what was dropped last first, in pages", listsTrash},
		{Trash, "the flows of a node are those that hold it now", flowsOfANode},
	}
}

func aNode(name string) store.Thing { return store.Thing{Kind: store.KindNode, ID: id(name)} }
func aFlow(name string) store.Thing { return store.Thing{Kind: store.KindFlow, ID: id(name)} }

func (e *env) drop(t store.Thing) error {
	return e.update(func(tx store.Tx) error { return tx.Drop(t) })
}

func (e *env) restore(t store.Thing) error {
	return e.update(func(tx store.Tx) error { return tx.Restore(t) })
}

// dropped lists the whole trash.
func (e *env) dropped(kind store.Kind) (ids []uuid.UUID) {
	e.Helper()
	list, err := e.store.Dropped(e.Context(), e.ns, kind, store.Entry{}, 1000)
	e.must(err)
	for _, entry := range list {
		ids = append(ids, entry.ID)
	}
	return ids
}

func dropsAndRestores(e *env) {
	f := e.createFlow("f", "a", "b")
	a, before := e.node("a"), e.listed(e.store.Nodes, store.NewestFirst, 10)
	e.must(errors.Join(e.drop(aNode("a")), e.drop(aFlow("f"))))
	e.absent("a")
	e.absent("f")
	e.same([]string{"b"}, e.listed(e.store.Nodes, store.NewestFirst, 10))
	var dropped *store.DroppedError
	if _, err := e.store.Node(e.Context(), e.ns, id("a")); !errors.As(err, &dropped) || dropped.At.IsZero() || dropped.Thing != aNode("a") {
		e.Errorf("a dropped node: %v", err)
	}
	e.must(errors.Join(e.restore(aNode("a")), e.restore(aFlow("f"))))
	e.same(a, e.node("a"))
	e.same(f, e.flow("f"))
	e.same(0, len(e.dropped(store.KindNode))+len(e.dropped(store.KindFlow)))
	e.same(before, e.listed(e.store.Nodes, store.NewestFirst, 10))
}

func readsTrash(e *env) {
	f := e.createFlow("f", "a", "b")
	a := e.node("a")
	e.must(errors.Join(e.drop(aNode("a")), e.drop(aFlow("f"))))
	for range 2 {
		n, at, err := e.store.DroppedNode(e.Context(), e.ns, id("a"))
		e.must(err)
		e.same(a, n)
		var dropped *store.DroppedError
		if _, err := e.store.Node(e.Context(), e.ns, id("a")); !errors.As(err, &dropped) || !dropped.At.Equal(at) {
			e.Errorf("%v, in the trash since %v", err, at)
		}
		got, at, err := e.store.DroppedFlow(e.Context(), e.ns, id("f"))
		e.must(err)
		e.same(f, got)
		listed, err := e.store.Dropped(e.Context(), e.ns, store.KindFlow, store.Entry{}, 1)
		e.must(err)
		e.same(true, listed[0].Created.Equal(at))
		_, err = e.store.Flush(e.Context(), e.ns)
		e.must(err)
	}
	for _, name := range []string{"b", "none"} {
		_, _, err := e.store.DroppedNode(e.Context(), e.ns, id(name))
		e.is(err, store.ErrNotDropped)
		_, _, err = e.store.DroppedFlow(e.Context(), e.ns, id(name))
		e.is(err, store.ErrNotDropped)
	}
}

func listsTrash(e *env) {
	e.createFlow("f", "a", "b", "c")
	for _, name := range []string{"b", "a", "c"} {
		e.must(e.drop(aNode(name)))
	}
	e.must(e.restore(aNode("a")))
	e.same([]uuid.UUID{id("c"), id("b")}, e.dropped(store.KindNode))
	e.same(0, len(e.dropped(store.KindFlow)))
	first, err := e.store.Dropped(e.Context(), e.ns, store.KindNode, store.Entry{}, 1)
	e.must(err)
	second, err := e.store.Dropped(e.Context(), e.ns, store.KindNode, first[0], 5)
	e.must(err)
	e.same(id("b"), second[0].ID)
	e.same(1, len(second))
}

func flowsOfANode(e *env) {
	e.createFlow("f", "a")
	e.createFlow("g", "b")
	e.createFlow("h", "c")
	join := flow.Change{At: start, Add: []flow.Member{{Index: 2, Node: id("a")}}}
	e.must(e.update(func(tx store.Tx) error {
		return errors.Join(tx.ChangeFlow(id("g"), join), tx.ChangeFlow(id("h"), join))
	}))
	leave := flow.Change{At: start, Remove: []flow.Member{{Index: 2, Node: id("a")}}}
	e.must(errors.Join(e.update(func(tx store.Tx) error { return tx.ChangeFlow(id("g"), leave) }), e.drop(aFlow("h"))))
	e.holding("a", "f")
	e.must(e.restore(aFlow("h")))
	e.holding("a", "f", "h")
	e.must(e.update(func(tx store.Tx) error {
		e.must(tx.ChangeFlow(id("g"), flow.Change{At: start, Add: []flow.Member{{Index: 3, Node: id("a")}}}))
		got, err := tx.FlowsOf(id("a"))
		e.same(3, len(got))
		return err
	}))
	e.holding("none")
}

// holding compares the flows of a node.
func (e *env) holding(node string, flows ...string) {
	e.Helper()
	var want []uuid.UUID
	for _, name := range flows {
		want = append(want, id(name))
	}
	slices.SortFunc(want, func(a, b uuid.UUID) int { return slices.Compare(a[:], b[:]) })
	e.must(e.update(func(tx store.Tx) error {
		got, err := tx.FlowsOf(id(node))
		e.same(want, got)
		return err
	}))
}

func seesWhatItDropped(e *env) {
	e.createFlow("f", "a")
	e.must(e.update(func(tx store.Tx) error {
		e.must(errors.Join(tx.Drop(aNode("a")), tx.Drop(aFlow("f"))))
		there, err := tx.HasNode(id("a"))
		e.same(false, there)
		_, errNode := tx.Node(id("a"))
		_, errFlow := tx.Flow(id("f"))
		e.is(errNode, store.ErrNodeNotFound)
		e.is(errFlow, store.ErrFlowNotFound)
		e.must(errors.Join(err, tx.Restore(aNode("a")), tx.Restore(aFlow("f"))))
		there, err = tx.HasNode(id("a"))
		e.same(true, there)
		_, errFlow = tx.Flow(id("f"))
		return errors.Join(err, errFlow)
	}))
	e.same("a", e.node("a").Texts[0].Content)
	e.same(1, len(e.flow("f").Members))
}
