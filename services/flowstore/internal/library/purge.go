package library

import (
	"context"
	"errors"
	"fmt"

	"github.com/google/uuid"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/flow"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store"
)

// MaxPurged is how many nodes are purged with a flow.
const MaxPurged = 10_000

// PurgeTooLargeError says that a flow has more nodes of its own than one call purges.
type PurgeTooLargeError struct{ Flow uuid.UUID }

func (e *PurgeTooLargeError) Error() string {
	return fmt.Sprintf("%s has more than %d nodes that no other flow holds, the limit of one call; delete and purge some of them first",
		flow.Name(e.Flow), MaxPurged)
}

// Purge asks for something in the trash to be erased.
type Purge struct {
	ID uuid.UUID
	// Reason is what the tombstone tells, by store.CheckReason.
	Reason string
	// Nodes has the nodes of a flow purged with it, but for those that another flow holds, also in the trash: that one could come
	// back without them.
	Nodes bool
}

// PurgeNode erases a node for good, and returns when nothing holds it. What no file holds any more, since a hand took that away, is
// purged by what else is kept of it. What was purged before is answered as it was then, and erased once more where something of it
// came back. *NotFoundError, *NotDeletedError, *UnreadableError.
func (l *Library) PurgeNode(ctx context.Context, ns string, in Purge) (store.Purged, error) {
	return l.purge(ctx, ns, store.KindNode, in)
}

// PurgeFlow erases a flow for good, as PurgeNode does; of one that no file holds any more, no nodes are known. *NotFoundError, *NotDeletedError, *UnreadableError, also for the nodes that
// would go with it; *PurgeTooLargeError.
func (l *Library) PurgeFlow(ctx context.Context, ns string, in Purge) (store.Purged, error) {
	return l.purge(ctx, ns, store.KindFlow, in)
}

func (l *Library) purge(ctx context.Context, ns string, kind store.Kind, in Purge) (store.Purged, error) {
	of := store.Thing{Kind: kind, ID: in.ID}
	err := l.store.Update(ctx, ns, func(tx store.Tx) error { return purge(tx, of, in) })
	if errors.As(err, new(*store.PurgedError)) {
		err = l.eraseAgain(ctx, ns, of)
	}
	if err != nil {
		return store.Purged{}, err
	}
	if _, err := l.store.Flush(ctx, ns); err != nil {
		return store.Purged{}, err
	}
	return l.store.Purged(ctx, ns, of)
}

// eraseAgain erases what came back of something that was purged, and of the nodes that were purged with it.
func (l *Library) eraseAgain(ctx context.Context, ns string, of store.Thing) error {
	before, err := l.store.Purged(ctx, ns, of)
	if err != nil {
		return err
	}
	return l.store.Update(ctx, ns, func(tx store.Tx) error {
		err := tx.Erase(of)
		for _, id := range before.Nodes {
			err = errors.Join(err, tx.Erase(store.Thing{Kind: store.KindNode, ID: id}))
		}
		return err
	})
}

// purge erases something in the trash or of which only traces are left, and the nodes that go with it.
func purge(tx store.Tx, of store.Thing, in Purge) error {
	things := []store.Thing{of}
	if err := inTrash(tx, of, true); err != nil {
		return err
	}
	if in.Nodes {
		nodes, err := ownNodes(tx, in.ID)
		if err != nil {
			return err
		}
		for _, id := range nodes {
			things = append(things, store.Thing{Kind: store.KindNode, ID: id})
		}
	}
	var refused []error
	for _, t := range things {
		refused = append(refused, named(t.Kind, t.ID, tx.Purge(t, in.Reason)))
	}
	return together(refused...)
}

// inTrash refuses what is not in the trash; toPurge says what for. *NotFoundError, *UnreadableError, *NotDeletedError.
func inTrash(tx store.Tx, t store.Thing, toPurge bool) error {
	err := t.Read(tx)
	switch {
	case errors.As(err, new(*store.DroppedError)):
		return nil
	case toPurge && errors.Is(err, t.Kind.NotFound()) && !errors.As(err, new(*store.PurgedError)):
		return nil // Something may be kept of it, which Purge knows.
	case err != nil:
		return named(t.Kind, t.ID, err)
	}
	return &NotDeletedError{Kind: t.Kind, ID: t.ID, Purge: toPurge}
}

// ownNodes gives the nodes of a flow that no other one holds and that are there.
func ownNodes(tx store.Tx, id uuid.UUID) (own []uuid.UUID, err error) {
	all := tx.Everything()
	f, err := all.Flow(id)
	if errors.Is(err, store.ErrFlowNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, named(store.KindFlow, id, err)
	}
	for _, m := range f.Members {
		flows, err := all.FlowsOf(m.Node)
		if err != nil {
			return nil, err
		}
		there, err := all.HasNode(m.Node)
		if err != nil {
			return nil, err
		}
		if len(flows) > 1 || !there {
			continue
		}
		if own = append(own, m.Node); len(own) > MaxPurged {
			return nil, &PurgeTooLargeError{Flow: id}
		}
	}
	return own, nil
}
