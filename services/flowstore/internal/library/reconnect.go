package library

import (
	"context"

	"github.com/google/uuid"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/flow"
)

// Reconnection asks for a node to continue another one than before.
type Reconnection struct {
	Operation
	// Child continues From, and shall continue To.
	Child, From, To uuid.UUID
}

// Reconnect moves an edge to another parent in one step, with its name; where the new one leads to the child already, that edge
// stays as it is. Errors are those of Connect and Disconnect; a new parent that cannot be read is refused.
func (l *Library) Reconnect(ctx context.Context, ns string, in Reconnection) (flow.Flow, error) {
	cannot, err := l.unusable(ctx, ns, []uuid.UUID{in.To})
	if err != nil {
		return flow.Flow{}, err
	}
	nodes := []uuid.UUID{in.Child, in.From, in.To}
	return l.operate(ctx, ns, in.Operation, asked{"Reconnect", in.Request, in}, nodes, cannot, func(f flow.Flow, at []int) (flow.Change, error) {
		old, _ := f.Edge(at[1], at[0])
		c := flow.Change{Disconnect: []flow.Edge{{From: at[1], To: at[0]}}}
		if _, held := f.Edge(at[2], at[0]); !held {
			c.Connect = []flow.Edge{{From: at[2], To: at[0], Name: old.Name}}
		}
		return c, nil
	})
}
