package storetest

import (
	"context"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/flow"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store"
)

// lister is one of the port's lists.
type lister func(ctx context.Context, ns string, order store.Order, after store.Entry, n int) ([]store.Entry, error)

func listCases() []testCase {
	return append(orderCases(), []testCase{
		{Lists, "a namespace that nobody wrote to is empty", func(e *env) {
			e.same([]string(nil), e.listed(e.store.Nodes, store.NewestFirst, 10))
			e.same([]string(nil), e.listed(e.store.Flows, store.NewestFirst, 10))
		}},
		{Lists, "newest first, each once, whatever the page", func(e *env) {
			want := e.makeListed()
			for _, size := range []int{1, 2, 3, 100} {
				e.same(want, e.listed(e.store.Nodes, store.NewestFirst, size))
				e.same(want, e.listed(e.store.Flows, store.NewestFirst, size))
			}
		}},
		{Lists, "the order of files is that of memory", func(e *env) {
			want := e.makeListed()
			_, err := e.store.Flush(e.Context(), e.ns)
			e.must(err)
			e.same(want, e.listed(e.store.Nodes, store.NewestFirst, 2))
			e.same(want, e.listed(e.store.Flows, store.NewestFirst, 2))
		}},
		{Lists, "a change of a flow does not move it", func(e *env) {
			want := e.makeListed()
			e.clock.move(time.Hour)
			current := 0
			e.must(e.update(func(tx store.Tx) error {
				return tx.ChangeFlow(id("c"), flow.Change{At: tx.Now(), Current: &current})
			}))
			e.same(want, e.listed(e.store.Flows, store.NewestFirst, 2))
		}},
		{Lists, "what comes between two pages shifts nothing", func(e *env) {
			want := e.makeListed()
			first, err := e.store.Nodes(e.Context(), e.ns, store.NewestFirst, store.Entry{}, 2)
			e.must(err)
			e.createNode("later", "x")
			rest, err := e.store.Nodes(e.Context(), e.ns, store.NewestFirst, first[1], 100)
			e.must(err)
			e.same(want, names(append(first, rest...)))
		}},
		{Lists, "a function that fails leaves nothing in the list", func(e *env) {
			e.is(e.update(func(tx store.Tx) error {
				e.must(tx.CreateNode(textNode("a", "x")))
				return store.ErrFull
			}), store.ErrFull)
			e.same([]string(nil), e.listed(e.store.Nodes, store.NewestFirst, 10))
		}},
		{Durability, "lists are the same when the store is opened again", func(e *env) {
			want := e.makeListed()
			e.reopen()
			e.same(want, e.listed(e.store.Nodes, store.NewestFirst, 2))
			e.same(want, e.listed(e.store.Flows, store.NewestFirst, 2))
		}},
	}...)
}

func orderCases() []testCase {
	return []testCase{
		{Lists, "oldest first is the same backwards", func(e *env) {
			want := e.makeListed()
			slices.Reverse(want)
			for _, size := range []int{1, 2, 3, 100} {
				e.same(want, e.listed(e.store.Nodes, store.OldestFirst, size))
				e.same(want, e.listed(e.store.Flows, store.OldestFirst, size))
			}
		}},
		{Lists, "a place where nothing is parts what is before from what is behind", func(e *env) {
			e.makeListed()
			at := store.Entry{Created: start.Add(-2 * time.Hour)}
			older, err := e.store.Nodes(e.Context(), e.ns, store.NewestFirst, at, 100)
			e.must(err)
			e.same([]string{"a", "c"}, names(older))
			newer, err := e.store.Nodes(e.Context(), e.ns, store.OldestFirst, at, 1)
			e.must(err)
			e.same([]string{"d"}, names(newer))
		}},
	}
}

// makeListed stores nodes and flows of the same names that were made in another order than they are stored, two of them at
// the same time, and gives the names, newest first.
func (e *env) makeListed() []string {
	e.Helper()
	ages := map[string]time.Duration{"a": 3 * time.Hour, "b": 0, "c": 5 * time.Hour, "d": time.Hour, "e": 0}
	for _, name := range []string{"a", "b", "c", "d", "e"} {
		e.must(e.update(func(tx store.Tx) error {
			made := start.Add(-ages[name])
			n := textNode(name, name)
			n.Created = made
			if err := tx.CreateNode(n); err != nil {
				return err
			}
			return tx.CreateFlow(flow.Flow{ID: id(name), Name: name, Created: made, Updated: tx.Now(), Next: 1})
		}))
	}
	if a, b := id("b"), id("e"); string(a[:]) > string(b[:]) {
		return []string{"b", "e", "d", "a", "c"}
	}
	return []string{"e", "b", "d", "a", "c"}
}

// listed goes through all pages of a list.
func (e *env) listed(list lister, order store.Order, size int) []string {
	e.Helper()
	var all []store.Entry
	for {
		var after store.Entry
		if len(all) > 0 {
			after = all[len(all)-1]
		}
		page, err := list(e.Context(), e.ns, order, after, size)
		e.must(err)
		if len(page) > size || len(all) > 100 {
			e.Fatalf("%d entries on a page of %d, after %d", len(page), size, len(all))
		}
		if len(page) == 0 {
			return names(all)
		}
		all = append(all, page...)
	}
}

func names(entries []store.Entry) []string {
	known := map[uuid.UUID]string{}
	for _, name := range []string{"a", "b", "c", "d", "e", "later"} {
		known[id(name)] = name
	}
	var list []string
	for _, e := range entries {
		list = append(list, known[e.ID])
	}
	return list
}
