package library

import (
	"context"

	"github.com/google/uuid"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/flow"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store"
	"github.com/tsumugi-dev/tsumugi/services/internal/etag"
)

// Operation is what the operations on a flow have in common.
type Operation struct {
	Flow uuid.UUID
	// Etag is the version that the caller read, by flow.Flow.Etag; empty: any.
	Etag string
	// Request is the id of the request; zero: none. The same one again within 24 hours changes nothing and is answered with
	// the flow as it is then.
	Request uuid.UUID
	// refused is what was found wrong before the transaction; stored are nodes that were there then, and must be still.
	refused error
	stored  []uuid.UUID
}

// operate does an operation in one transaction: nodes are those that it names, plan gives the change, from the flow and
// their indexes. A change of nothing is not written. *NotFoundError, *UnreadableError, *RequestReusedError,
// *etag.StaleError, *flow.NotMemberError, and what plan and flow.Flow.Check refuse.
func (l *Library) operate(
	ctx context.Context, ns string, op Operation, a asked, nodes []uuid.UUID, cannot unusable,
	plan func(f flow.Flow, indexes []int) (flow.Change, error),
) (flow.Flow, error) {
	var changed flow.Flow
	before, err := l.once(ctx, ns, a, op.Flow, func(tx store.Tx) error {
		f, err := tx.Flow(op.Flow)
		noFlow := named(store.KindFlow, op.Flow, err)
		var stale error
		if noFlow == nil {
			stale = etag.Check(flow.Name(f.ID), op.Etag, f.Etag)
		}
		indexes, wrong := memberIndexes(tx, f, nodes, cannot)
		if err := together(noFlow, op.refused, allStored(tx, op.stored), wrong, stale); err != nil {
			return err
		}
		c, err := plan(f, indexes)
		if changed = f; err != nil || c.Empty() {
			return err
		}
		c.At = tx.Now()
		changed, err = change(tx, f, c)
		return err
	})
	if err == nil && before != nil {
		return l.Flow(ctx, ns, *before)
	}
	return changed, err
}

// allStored tells which nodes are not there.
func allStored(tx store.Tx, nodes []uuid.UUID) error {
	var gone []error
	for _, id := range nodes {
		there, err := tx.HasNode(id)
		if err != nil {
			return err
		}
		if !there {
			gone = append(gone, absent(tx, id))
		}
	}
	return together(gone...)
}
