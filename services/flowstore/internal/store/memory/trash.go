package memory

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/flow"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/node"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store"
)

// DroppedNode implements store.Store.
func (s *Store) DroppedNode(_ context.Context, ns string, id uuid.UUID) (n node.Node, at time.Time, err error) {
	n, err = read(s, ns, func(sp *space) (node.Node, error) {
		if at = sp.Dropped(store.Thing{Kind: store.KindNode, ID: id}); at.IsZero() {
			return node.Node{}, store.ErrNotDropped
		}
		return sp.Node(id)
	})
	return n, at, err
}

// DroppedFlow implements store.Store.
func (s *Store) DroppedFlow(_ context.Context, ns string, id uuid.UUID) (f flow.Flow, at time.Time, err error) {
	f, err = read(s, ns, func(sp *space) (flow.Flow, error) {
		if at = sp.Dropped(store.Thing{Kind: store.KindFlow, ID: id}); at.IsZero() {
			return flow.Flow{}, store.ErrNotDropped
		}
		return sp.Flow(id)
	})
	return f, at, err
}
