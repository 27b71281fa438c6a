package files

import (
	"errors"
	"fmt"
	"testing"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/flow"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store"
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
		sp.nodes.next, sp.flows.next = format.Slots-1, format.Slots-1
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
