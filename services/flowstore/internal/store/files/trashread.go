package files

import (
	"cmp"
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/flow"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/node"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store"
)

// DroppedNode implements store.Store.
func (s *Store) DroppedNode(ctx context.Context, ns string, id uuid.UUID) (node.Node, time.Time, error) {
	sp, err := s.existing(ctx, ns)
	if err != nil || sp == nil {
		return node.Node{}, time.Time{}, cmp.Or(err, store.ErrNotDropped)
	}
	sp.mu.RLock()
	waiting := sp.pending.nodes[id]
	file, at, err := sp.nodes.droppedFile(id)
	sp.mu.RUnlock()
	if err != nil {
		return node.Node{}, at, err
	}
	if waiting != nil {
		n, err := sp.decodeNode(file, id, waiting.body)
		return n, at, err
	}
	loaded, err := sp.loadNode(file, id)
	return loaded.node, at, err
}

// DroppedFlow implements store.Store.
func (s *Store) DroppedFlow(ctx context.Context, ns string, id uuid.UUID) (flow.Flow, time.Time, error) {
	sp, err := s.existing(ctx, ns)
	if err != nil || sp == nil {
		return flow.Flow{}, time.Time{}, cmp.Or(err, store.ErrNotDropped)
	}
	sp.mu.RLock()
	waiting := sp.pending.flows[id]
	file, at, err := sp.flows.droppedFile(id)
	sp.mu.RUnlock()
	if err != nil {
		return flow.Flow{}, at, err
	}
	if waiting != nil {
		return waiting.flow, at, nil
	}
	loaded, err := sp.loadFlow(file, id)
	return loaded.flow, at, err
}

// droppedFile is where the file of something in the trash stood, and since when it is there.
func (x *index) droppedFile(id uuid.UUID) (file string, at time.Time, err error) {
	t, dropped := x.trash[id]
	if !dropped {
		return "", time.Time{}, store.ErrNotDropped
	}
	if len(t.holdings) == 0 {
		return "", t.at, &store.UnreadableError{Path: trashFolder, Reason: "no file there has the id any more"}
	}
	return t.holdings[0].path, t.at, nil
}
