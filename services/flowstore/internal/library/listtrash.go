package library

import (
	"context"

	"github.com/google/uuid"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/flow"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/node"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store"
)

// dropped lists what of a kind is in the trash, which has one order.
func (l *Library) dropped(kind store.Kind) func(context.Context, string, store.Order, store.Entry, int) ([]store.Entry, error) {
	return func(ctx context.Context, ns string, _ store.Order, after store.Entry, n int) ([]store.Entry, error) {
		return l.store.Dropped(ctx, ns, kind, after, n)
	}
}

// droppedReader is reader for nodes in the trash; store.ErrNotDropped for others.
func (l *Library) droppedReader(brief bool) func(ctx context.Context, ns string, id uuid.UUID) (node.Brief, error) {
	return func(ctx context.Context, ns string, id uuid.UUID) (node.Brief, error) {
		n, _, err := l.store.DroppedNode(ctx, ns, id)
		if err != nil {
			return node.Brief{}, named(store.KindNode, id, err)
		}
		b := node.Brief{Node: n}
		if brief {
			b = n.Brief()
		}
		if size := b.Size(); size > node.MaxSize {
			return node.Brief{}, &TooLargeError{Node: id, Bytes: size}
		}
		return b, nil
	}
}

// droppedFlow reads a flow in the trash; store.ErrNotDropped for another.
func (l *Library) droppedFlow(ctx context.Context, ns string, id uuid.UUID) (flow.Flow, error) {
	f, _, err := l.store.DroppedFlow(ctx, ns, id)
	return f, named(store.KindFlow, id, err)
}
