package library

import (
	"context"

	"github.com/google/uuid"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/flow"
)

// Branching asks for a named branch that begins at a node.
type Branching struct {
	Operation
	Node uuid.UUID
	Name string
}

// Branch gives a name to a new branch. The same name at the same node changes nothing. *NotFoundError, *UnreadableError for the
// flow, *RequestReusedError, *etag.StaleError, *flow.NotMemberError, *flow.HeadTakenError, *flow.FullError.
func (l *Library) Branch(ctx context.Context, ns string, in Branching) (flow.Flow, error) {
	plan := func(f flow.Flow, at []int) (flow.Change, error) { return f.Branching(in.Name, at[0]) }
	return l.operate(ctx, ns, in.Operation, asked{"Branch", in.Request, in}, []uuid.UUID{in.Node}, nil, plan)
}
