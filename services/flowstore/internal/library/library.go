// Package library is what people do with nodes and flows: make, read, connect, follow.
//
// Every rule that looks before it writes stands inside one Update of the store: is the node in the flow, does the edge
// close a cycle, was this request answered before. Checked outside, two callers would pass the check together.
package library

import (
	"context"

	"github.com/google/uuid"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/flow"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/node"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store"
)

// IDs makes the ids of nodes and flows whose makers chose none.
type IDs interface {
	// NewID gives an id that no other call gives.
	NewID() uuid.UUID
}

// Library does the operations on a store. Safe for concurrent use.
//
// What is wrong with the nodes and flows that a request names is told at once: several of the errors that a method names
// come as a *ManyError. Besides, all methods answer *store.ReadOnlyError, *store.NamespaceError, *store.CrowdedError,
// store.ErrFull, store.ErrClosed, and the error of a context that ended.
type Library struct {
	store store.Store
	ids   IDs
}

// New makes a library over a store.
func New(s store.Store, ids IDs) *Library { return &Library{store: s, ids: ids} }

// Node gives a node. *NotFoundError; *UnreadableError; *TooLargeError.
func (l *Library) Node(ctx context.Context, ns string, id uuid.UUID) (node.Node, error) {
	n, err := l.store.Node(ctx, ns, id)
	if err != nil {
		return n, named(store.KindNode, id, err)
	}
	if size := n.Size(); size > node.MaxSize {
		return n, &TooLargeError{Node: id, Bytes: size}
	}
	return n, nil
}

// Flow gives a flow. *NotFoundError; *UnreadableError.
func (l *Library) Flow(ctx context.Context, ns string, id uuid.UUID) (flow.Flow, error) {
	f, err := l.store.Flow(ctx, ns, id)
	return f, named(store.KindFlow, id, err)
}

// Flush returns when the text files hold every acknowledged change, and says how many files were written for that.
func (l *Library) Flush(ctx context.Context, ns string) (files int, err error) {
	return l.store.Flush(ctx, ns)
}

// SetCurrent moves the reader's place in a flow to a node of it; the zero id takes it away. *NotFoundError,
// *UnreadableError, *flow.NotMemberError.
func (l *Library) SetCurrent(ctx context.Context, ns string, flowID, nodeID uuid.UUID) (flow.Flow, error) {
	var changed flow.Flow
	err := l.store.Update(ctx, ns, func(tx store.Tx) error {
		f, noFlow := tx.Flow(flowID)
		var ids []uuid.UUID
		if nodeID != (uuid.UUID{}) {
			ids = []uuid.UUID{nodeID}
		}
		indexes, noMember := memberIndexes(tx, f, ids, nil)
		if err := together(named(store.KindFlow, flowID, noFlow), noMember); err != nil {
			return err
		}
		index := 0
		if len(indexes) > 0 {
			index = indexes[0]
		}
		if changed = f; f.Current == index {
			return nil
		}
		var err error
		changed, err = change(tx, f, flow.Change{At: tx.Now(), Current: &index})
		return err
	})
	return changed, err
}

// change checks a change of a flow and writes it.
func change(tx store.Tx, f flow.Flow, c flow.Change) (flow.Flow, error) {
	if err := f.Check(c); err != nil {
		return f, err
	}
	if err := tx.ChangeFlow(f.ID, c); err != nil {
		return f, named(store.KindFlow, f.ID, err)
	}
	return tx.Flow(f.ID)
}

// memberIndexes gives the indexes of nodes in a flow, and tells all that cannot be used: those of cannot with the error
// that stands there, *NotFoundError where there is no such node, *flow.NotMemberError where it is not in the flow. Of a
// flow that could not be read, the zero one, nothing is a member, and only the first two are told.
func memberIndexes(tx store.Tx, f flow.Flow, ids []uuid.UUID, cannot unusable) ([]int, error) {
	indexes := make([]int, len(ids))
	var refused []error
	strangers := &flow.NotMemberError{Flow: f.ID}
	find := f.Finder(len(ids))
	for i, id := range ids {
		if err := cannot[id]; err != nil {
			refused = append(refused, err)
			continue
		}
		index, held := find(id)
		if indexes[i] = index; held {
			continue
		}
		if there, err := tx.HasNode(id); err != nil {
			return nil, err
		} else if !there {
			refused = append(refused, absent(tx, id))
		} else {
			strangers.Nodes = append(strangers.Nodes, id)
		}
	}
	if len(strangers.Nodes) > 0 && f.ID != (uuid.UUID{}) {
		refused = append(refused, strangers)
	}
	return indexes, together(refused...)
}
