package library

import (
	"context"

	"github.com/google/uuid"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/flow"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store"
	"github.com/tsumugi-dev/tsumugi/services/internal/etag"
)

// Forking asks for a new flow out of nodes of another one.
type Forking struct {
	// Operation speaks of the other flow. The same request again is answered with the flow that it made.
	Operation
	Way flow.ForkWay
	// Node is the one that the way speaks of; zero for flow.ForkWhole.
	Node uuid.UUID
	// Name is that of the new flow; empty: as the other one's.
	Name string
	// ID is the id that it shall have; zero: a new one.
	ID uuid.UUID
}

// Fork makes a flow as flow.Flow.Fork does; the other one stays as it is. *NotFoundError, *UnreadableError for the flow, *TakenError,
// *RequestReusedError, *etag.StaleError, *flow.NotMemberError, *flow.FullError.
func (l *Library) Fork(ctx context.Context, ns string, in Forking) (flow.Flow, error) {
	id := l.orNew(in.ID)
	var made flow.Flow
	before, err := l.once(ctx, ns, asked{"Fork", in.Request, in}, id, func(tx store.Tx) error {
		var err error
		if made, err = forked(tx, in); err != nil {
			return err
		}
		made.ID, made.Created, made.Updated = id, tx.Now(), tx.Now()
		return named(store.KindFlow, id, tx.CreateFlow(made))
	})
	if err == nil && before != nil {
		return l.Flow(ctx, ns, *before)
	}
	return made, err
}

// forked gives the fork, without id and times.
func forked(tx store.Tx, in Forking) (flow.Flow, error) {
	f, err := tx.Flow(in.Flow)
	noFlow := named(store.KindFlow, in.Flow, err)
	var stale error
	if noFlow == nil {
		stale = etag.Check(flow.Name(f.ID), in.Etag, f.Etag)
	}
	var ids []uuid.UUID
	if in.Node != (uuid.UUID{}) {
		ids = []uuid.UUID{in.Node}
	}
	indexes, wrong := memberIndexes(tx, f, ids, nil)
	if err := together(noFlow, wrong, stale); err != nil {
		return flow.Flow{}, err
	}
	made, err := f.Fork(in.Way, append(indexes, 0)[0])
	if in.Name != "" {
		made.Name = in.Name
	}
	return made, err
}
