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
// Besides the errors that its methods name, they answer *store.ReadOnlyError, *store.NamespaceError, store.ErrFull,
// store.ErrClosed, and the error of a context that ended.
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
		return n, named(KindNode, id, err)
	}
	if size := n.Size(); size > node.MaxSize {
		return n, &TooLargeError{Node: id, Bytes: size}
	}
	return n, nil
}

// Flow gives a flow. *NotFoundError; *UnreadableError.
func (l *Library) Flow(ctx context.Context, ns string, id uuid.UUID) (flow.Flow, error) {
	f, err := l.store.Flow(ctx, ns, id)
	return f, named(KindFlow, id, err)
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
		f, err := tx.Flow(flowID)
		if err != nil {
			return named(KindFlow, flowID, err)
		}
		index := 0
		if nodeID != (uuid.UUID{}) {
			if index, err = memberIndex(tx, f, nodeID); err != nil {
				return err
			}
		}
		if changed = f; f.Current == index {
			return nil
		}
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
		return f, named(KindFlow, f.ID, err)
	}
	return f.Apply(c), nil
}

// memberIndex gives the index of a node in a flow. *NotFoundError where there is no such node, *flow.NotMemberError
// where it is not in the flow.
func memberIndex(tx store.Tx, f flow.Flow, id uuid.UUID) (int, error) {
	indexes, err := memberIndexes(tx, f, []uuid.UUID{id})
	if err != nil {
		return 0, err
	}
	return indexes[0], nil
}

func memberIndexes(tx store.Tx, f flow.Flow, ids []uuid.UUID) ([]int, error) {
	indexes := make([]int, len(ids))
	strangers := &flow.NotMemberError{Flow: f.ID}
	for i, id := range ids {
		index, held := f.IndexOf(id)
		if !held {
			if there, err := tx.HasNode(id); err != nil {
				return nil, err
			} else if !there {
				return nil, &NotFoundError{Kind: KindNode, ID: id}
			}
			strangers.Nodes = append(strangers.Nodes, id)
		}
		indexes[i] = index
	}
	if len(strangers.Nodes) > 0 {
		return nil, strangers
	}
	return indexes, nil
}
