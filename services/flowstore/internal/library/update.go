package library

import (
	"context"

	"github.com/google/uuid"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/flow"
)

// Update asks for other words of a flow.
type Update struct {
	Flow uuid.UUID
	// Etag is as in an Operation.
	Etag string
	// Words holds the new ones, Fields names the parts that count, as flow.Editable gives them.
	Words  flow.Flow
	Fields []string
}

// UpdateFlow changes a flow's name, description or story. *NotFoundError, *UnreadableError, *etag.StaleError.
func (l *Library) UpdateFlow(ctx context.Context, ns string, in Update) (flow.Flow, error) {
	op := Operation{Flow: in.Flow, Etag: in.Etag}
	return l.operate(ctx, ns, op, asked{}, nil, nil, func(f flow.Flow, _ []int) (flow.Change, error) {
		return f.Rewriting(f.Edited(in.Words, in.Fields)), nil
	})
}
