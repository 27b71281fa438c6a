package overlay

import (
	"bytes"
	"errors"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/flow"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/node"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store"
)

// Purged implements Reader.
func (o *Overlay) Purged(t store.Thing) (store.Tombstone, bool) {
	if tomb, ok := o.purged[t]; ok {
		return tomb, true
	}
	return o.base.Purged(t)
}

// Purge implements store.Tx.
func (tx Tx) Purge(t store.Thing, reason string) error {
	if err := everything(tx).purged(t.Kind, t.ID); err != nil {
		return err
	}
	if err := tx.o.Check(t); err != nil {
		if traces, failed := tx.o.traces(t, err); !traces {
			return errors.Join(failed, err)
		}
	}
	tomb := store.Tombstone{Thing: t, At: tx.o.now, Reason: reason}
	tx.o.purged[t], tx.o.dropped[t] = tomb, time.Time{}
	tx.wrote(Op{Purge: &tomb})
	return nil
}

// traces says whether something is kept of a thing that Check did not find; found is what that said.
func (o *Overlay) traces(t store.Thing, found error) (bool, error) {
	if !errors.Is(found, t.Kind.NotFound()) {
		return false, nil
	}
	return o.Traces(t)
}

// Traces implements Reader.
func (o *Overlay) Traces(t store.Thing) (bool, error) { return o.base.Traces(t) }

// Erase implements store.Tx.
func (tx Tx) Erase(t store.Thing) error {
	tomb, purged := tx.o.Purged(t)
	if !purged {
		return t.Kind.NotFound()
	}
	tx.wrote(Op{Erase: &tomb})
	return nil
}

// Everything implements store.Tx.
func (tx Tx) Everything() store.Everything { return everything(tx) }

// everything is an Overlay without what was purged.
type everything struct{ o *Overlay }

// Node implements store.Everything.
func (e everything) Node(id uuid.UUID) (node.Node, error) {
	if err := e.purged(store.KindNode, id); err != nil {
		return node.Node{}, err
	}
	return e.o.Node(id)
}

// Flow implements store.Everything.
func (e everything) Flow(id uuid.UUID) (flow.Flow, error) {
	if err := e.purged(store.KindFlow, id); err != nil {
		return flow.Flow{}, err
	}
	return e.o.Flow(id)
}

// HasNode implements store.Everything.
func (e everything) HasNode(id uuid.UUID) (bool, error) {
	if there, err := e.o.HasNode(id); there || err != nil {
		return there, err
	}
	return !e.o.Dropped(store.Thing{Kind: store.KindNode, ID: id}).IsZero(), nil
}

// purged is the error of a thing that was purged, nil for another.
func (e everything) purged(kind store.Kind, id uuid.UUID) error {
	if tomb, ok := e.o.Purged(store.Thing{Kind: kind, ID: id}); ok {
		return &store.PurgedError{Tombstone: tomb}
	}
	return nil
}

// FlowsOf implements store.Everything.
func (e everything) FlowsOf(node uuid.UUID) ([]uuid.UUID, error) { return e.o.holding(node, e.Flow) }

// holding gives the flows, as read reads them, that hold a node.
func (o *Overlay) holding(node uuid.UUID, read func(uuid.UUID) (flow.Flow, error)) ([]uuid.UUID, error) {
	candidates, err := o.FlowsOf(node)
	if err != nil {
		return nil, err
	}
	slices.SortFunc(candidates, func(a, b uuid.UUID) int { return bytes.Compare(a[:], b[:]) })
	var holding []uuid.UUID
	for _, id := range slices.Compact(candidates) {
		f, err := read(id)
		if store.Gone(err) {
			continue
		}
		if err != nil {
			return nil, err
		}
		if _, holds := f.IndexOf(node); holds {
			holding = append(holding, id)
		}
	}
	return holding, nil
}
