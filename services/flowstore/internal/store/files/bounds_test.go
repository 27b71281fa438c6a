package files

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/flow"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store/files/commitlog"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store/format"
)

func TestTheLastSlot(t *testing.T) {
	t.Parallel()
	u := gated(t, byHand, nil)
	must(t, errors.Join(u.createNode("one"), u.createFlow("novel")))
	sp := u.store.spaces[ns].space
	must(t, sp.onWriter(func() error {
		sp.mu.Lock()
		defer sp.mu.Unlock()
		sp.nodes.names, sp.flows.names = format.NewNames(format.Slots-1), format.NewNames(format.Slots-1)
		return nil
	}))
	err := u.store.Update(t.Context(), ns, func(tx store.Tx) error {
		if err := errors.Join(tx.CreateNode(nodeOf("last", "")), tx.CreateFlow(flow.Flow{ID: idOf("last"), Name: "last", Next: 1})); err != nil {
			return err
		}
		if err := tx.CreateNode(nodeOf("too many", "")); !errors.Is(err, store.ErrFull) {
			t.Errorf("a node too many: %v", err)
		}
		if err := tx.CreateFlow(flow.Flow{ID: idOf("too many")}); !errors.Is(err, store.ErrFull) {
			t.Errorf("a flow too many: %v", err)
		}
		return nil
	})
	must(t, err)
	must(t, u.flush())
	if got := sp.nodes.heads[idOf("last")].path; got != "nodes/999/999.xml" {
		t.Errorf("the last node is in %s", got)
	}
	if err := u.createNode("afterwards"); !errors.Is(err, store.ErrFull) {
		t.Errorf("error %v", err)
	}
}

func TestNamespacesAreBounded(t *testing.T) {
	t.Parallel()
	u := gated(t, byHand, nil)
	for i := range MaxNamespaces {
		u.store.spaces[fmt.Sprint(i)] = &opening{ready: closedChannel()}
	}
	var crowded *store.CrowdedError
	if err := u.createNode("one"); !errors.As(err, &crowded) || *crowded != (store.CrowdedError{Namespace: ns, Limit: MaxNamespaces}) {
		t.Errorf("error %v", err)
	}
}

func closedChannel() chan struct{} {
	ch := make(chan struct{})
	close(ch)
	return ch
}

func TestTheFlowCacheIsBounded(t *testing.T) {
	t.Parallel()
	c := newFlowCache(3000)
	for _, name := range []string{"a", "b", "c", "d", "e", "f"} {
		c.put(loadedFlow{flow: flow.Flow{ID: idOf(name), Name: name}, path: name})
		if _, ok := c.get(idOf("a")); !ok {
			t.Fatalf("the flow that is used all the time is gone after %s", name)
		}
	}
	c.put(loadedFlow{flow: flow.Flow{ID: idOf("a"), Name: "a"}, path: "again"})
	if l, _ := c.get(idOf("a")); l.path != "again" || c.order.Len() != 5 || c.bytes > 3000 {
		t.Errorf("%+v, %d flows, %d bytes", l, c.order.Len(), c.bytes)
	}
	if _, ok := c.get(idOf("b")); ok {
		t.Error("the flow that was not used stays")
	}
}

// One file that a hand named far ahead does not fill the namespace: what is made goes behind the other names, also after a start, with or
// without local.db, and where an older version had let such a name end its counter.
func TestAHandsNameDoesNotFillTheNamespace(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.must(errors.Join(d.createNode("one"), d.createFlow("one")))
	d.flushed()
	d.put("nodes/999/999.xml", strings.ReplaceAll(d.read("nodes/000/000.xml"), idOf("one").String(), idOf("theirs").String()))
	d.put("flows/999/998.yaml", strings.ReplaceAll(d.read("flows/000/000.yaml"), idOf("one").String(), idOf("theirs").String()))
	d.must(d.store.Rescan(t.Context(), ns))
	next := 1
	made := func() {
		t.Helper()
		name := fmt.Sprint("made ", next)
		d.must(errors.Join(d.createNode(name), d.createFlow(name)))
		d.flushed()
		if !d.exists(fmt.Sprintf("nodes/000/%03d.xml", next)) || !d.exists(fmt.Sprintf("flows/000/%03d.yaml", next)) {
			t.Errorf("%s has another name", name)
		}
		next++
	}
	made()
	made()
	d.must(errors.Join(os.Remove(d.path("nodes/000/002.xml")), os.Remove(d.path("flows/000/002.yaml"))))
	d.restart()
	made() // and not the names that a hand made free
	sp := d.store.spaces[ns].space
	d.must(sp.onWriter(func() error {
		return sp.apply(commitlog.Changes{State: &commitlog.State{Last: sp.last, NextNode: format.Slots, NextFlow: format.Slots}})
	}))
	d.must(os.Remove(d.path("nodes/999/999.xml")))
	d.crash(func() {})
	made()
	d.must(d.store.Close())
	d.must(os.RemoveAll(d.path(localFolder)))
	d.open()
	made()
}
