package library

import (
	"context"
	"errors"
	"time"

	"github.com/google/uuid"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/flow"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/node"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store"
	"github.com/tsumugi-dev/tsumugi/services/internal/etag"
)

// Trashed is a flow with the time when it went to the trash; zero: it is not there.
type Trashed struct {
	flow.Flow
	Deleted time.Time
}

// DeleteFlow puts a flow into the trash; its nodes stay stored. The same request again is answered with what the flow is then.
// *NotFoundError, *UnreadableError, *RequestReusedError, *etag.StaleError.
func (l *Library) DeleteFlow(ctx context.Context, ns string, op Operation) (Trashed, error) {
	var gone Trashed
	before, err := l.once(ctx, ns, asked{"DeleteFlow", op.Request, op}, op.Flow, func(tx store.Tx) error {
		f, err := tx.Flow(op.Flow)
		if err != nil {
			return named(store.KindFlow, op.Flow, err)
		}
		if err := etag.Check(flow.Name(f.ID), op.Etag, f.Etag); err != nil {
			return err
		}
		gone = Trashed{f, tx.Now()}
		return named(store.KindFlow, op.Flow, tx.Drop(store.Thing{Kind: store.KindFlow, ID: op.Flow}))
	})
	if err != nil || before == nil {
		return gone, err
	}
	f, err := l.store.Flow(ctx, ns, op.Flow)
	if dropped := (*store.DroppedError)(nil); errors.As(err, &dropped) {
		f, at, err := l.store.DroppedFlow(ctx, ns, op.Flow)
		return Trashed{f, at}, named(store.KindFlow, op.Flow, err)
	}
	return Trashed{Flow: f}, named(store.KindFlow, op.Flow, err)
}

// Return asks for something to come back from the trash. Request is as for NewNode.
type Return struct{ ID, Request uuid.UUID }

// UndeleteNode takes a node out of the trash, into no flow: undoing brings it back into one. It gives the beginning of it, as Brief
// does. *NotFoundError, *NotDeletedError, *UnreadableError, *RequestReusedError.
func (l *Library) UndeleteNode(ctx context.Context, ns string, in Return) (b node.Brief, err error) {
	before, err := l.once(ctx, ns, asked{"UndeleteNode", in.Request, in}, in.ID, func(tx store.Tx) error {
		if err := restore(tx, store.Thing{Kind: store.KindNode, ID: in.ID}); err != nil {
			return err
		}
		n, err := tx.Node(in.ID)
		b = n.Brief()
		return named(store.KindNode, in.ID, err)
	})
	if err == nil && before != nil {
		return l.Brief(ctx, ns, in.ID)
	}
	return b, err
}

// UndeleteFlow takes a flow out of the trash. *NotFoundError, *NotDeletedError, *UnreadableError, *RequestReusedError.
func (l *Library) UndeleteFlow(ctx context.Context, ns string, in Return) (f flow.Flow, err error) {
	before, err := l.once(ctx, ns, asked{"UndeleteFlow", in.Request, in}, in.ID, func(tx store.Tx) (err error) {
		if err := restore(tx, store.Thing{Kind: store.KindFlow, ID: in.ID}); err != nil {
			return err
		}
		f, err = tx.Flow(in.ID)
		return named(store.KindFlow, in.ID, err)
	})
	if err == nil && before != nil {
		return l.Flow(ctx, ns, in.ID)
	}
	return f, err
}

// restore takes a thing out of the trash.
func restore(tx store.Tx, t store.Thing) error {
	err := tx.Restore(t)
	if errors.Is(err, store.ErrNotDropped) {
		return inTrash(tx, t, false)
	}
	return err
}
