package storetest

import (
	"errors"
	"fmt"
	"time"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/node"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store"
)

func revisionCases() []testCase {
	return []testCase{
		{Revisions, "a node gets other content, and what it was is kept", func(e *env) {
			first := e.createNode("a", "一")
			second := e.replaceNode("a", "二")
			third := e.replaceNode("a", "三")
			e.same(third, e.node("a"))
			e.same([]node.Node{second, first}, e.revisionsOfA())
			e.same([]string{"a"}, e.listed(e.store.Nodes, store.NewestFirst, 10))
		}},
		{Revisions, "a node that was never replaced has none, one that is not there is not found", func(e *env) {
			e.createNode("a", "a")
			e.same(0, len(e.revisionsOfA()))
			_, errList := e.store.Revisions(e.Context(), e.ns, id("none"))
			_, errOne := e.store.Revision(e.Context(), e.ns, id("a"), store.Revision{Number: 1 << 40})
			e.is(errList, store.ErrNodeNotFound)
			e.is(errOne, store.ErrNodeNotFound)
		}},
		{Revisions, "what is not there cannot be replaced", func(e *env) {
			e.is(e.update(func(tx store.Tx) error { return tx.ReplaceNode(textNode("none", "x")) }), store.ErrNodeNotFound)
			e.absent("none")
		}},
		{Revisions, "the function sees what it replaced, also what it made itself", seesReplaced},
		{Revisions, "a refused replacement leaves the node as it was", func(e *env) {
			before := e.createNode("a", "a")
			e.is(e.update(func(tx store.Tx) error { return errors.Join(tx.ReplaceNode(textNode("a", "b")), errRefused) }), errRefused)
			e.same(before, e.node("a"))
			e.same(0, len(e.revisionsOfA()))
		}},
		{Revisions, "the last ones are kept, the oldest go", func(e *env) {
			e.createNode("a", "0")
			for i := 1; i <= store.MaxRevisions+3; i++ {
				e.replaceNode("a", fmt.Sprint(i))
			}
			kept := e.revisionsOfA()
			e.same(store.MaxRevisions, len(kept))
			e.same(fmt.Sprint(store.MaxRevisions+2), kept[0].Texts[0].Content)
			e.same("3", kept[len(kept)-1].Texts[0].Content)
		}},
	}
}

func seesReplaced(e *env) {
	e.must(e.update(func(tx store.Tx) error {
		n := textNode("a", "a")
		e.must(tx.CreateNode(n))
		n.Texts = []node.Text{{Role: "user", Content: "b"}}
		e.must(tx.ReplaceNode(n))
		got, err := tx.Node(n.ID)
		e.same("b", got.Texts[0].Content)
		return err
	}))
	e.same("b", e.node("a").Texts[0].Content)
	e.same("a", e.revisionsOfA()[0].Texts[0].Content)
}

// replaceNode gives a node another text.
func (e *env) replaceNode(name, text string) node.Node {
	e.Helper()
	var n node.Node
	e.must(e.update(func(tx store.Tx) (err error) {
		n, err = tx.Node(id(name))
		n.Texts = []node.Text{{Role: "user", Content: text}}
		return errors.Join(err, tx.ReplaceNode(n))
	}))
	return n
}

// revisionsOfA reads what the node a was before, and holds it to what the list says.
func (e *env) revisionsOfA() (nodes []node.Node) {
	e.Helper()
	list, err := e.store.Revisions(e.Context(), e.ns, id("a"))
	e.must(err)
	last := e.clock.now().Add(time.Hour)
	for _, r := range list {
		n, err := e.store.Revision(e.Context(), e.ns, id("a"), r)
		e.must(err)
		if r.Number == 0 || r.Path != "" || !r.At.Before(last) {
			e.Errorf("revision %+v after one of %v", r, last)
		}
		last = r.At
		nodes = append(nodes, n)
	}
	return nodes
}
