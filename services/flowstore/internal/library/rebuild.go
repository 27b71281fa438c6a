package library

import (
	"context"

	"github.com/google/uuid"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/flow"
)

// Rebuilding asks for different nodes to make a line.
type Rebuilding struct {
	// Operation holds the etag, which callers must give: the order is that of somebody who saw the flow.
	Operation
	Nodes []uuid.UUID
}

// Rebuild makes a line, as flow.Flow.Rebuilding does; all nodes are read before. *NotFoundError, *UnreadableError, *TooLargeError,
// *RequestReusedError, *etag.StaleError, *flow.CycleError, *flow.FullError.
func (l *Library) Rebuild(ctx context.Context, ns string, in Rebuilding) (flow.Flow, error) {
	cannot, err := l.unusable(ctx, ns, in.Nodes)
	if err != nil {
		return flow.Flow{}, err
	}
	op := in.Operation
	var refused []error
	for _, id := range in.Nodes {
		if refused = append(refused, cannot[id]); cannot[id] == nil {
			op.stored = append(op.stored, id)
		}
	}
	op.refused = together(refused...)
	return l.operate(ctx, ns, op, asked{"Rebuild", in.Request, in}, nil, nil, func(f flow.Flow, _ []int) (flow.Change, error) {
		return f.Rebuilding(in.Nodes), nil
	})
}
