package library

import (
	"context"

	"github.com/google/uuid"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/flow"
)

// Removal asks for a node to leave a flow.
type Removal struct {
	Operation
	Node uuid.UUID
	Mode flow.RemoveMode
}

// Remove takes a node out of a flow; it stays stored. *NotFoundError, *UnreadableError for the flow, *RequestReusedError,
// *etag.StaleError, *flow.NotMemberError, *flow.HasChildrenError, *flow.FullError when splicing makes more edges than a flow
// takes, *flow.CycleError when it would run along a cycle that a hand made.
func (l *Library) Remove(ctx context.Context, ns string, in Removal) (flow.Flow, error) {
	plan := func(f flow.Flow, at []int) (flow.Change, error) { return f.Removal(at[0], in.Mode) }
	return l.operate(ctx, ns, in.Operation, asked{"Remove", in.Request, in}, []uuid.UUID{in.Node}, nil, plan)
}
