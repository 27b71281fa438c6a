package library

import (
	"context"

	"github.com/google/uuid"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/flow"
)

// Connection asks for an edge between two nodes of a flow, or for its end.
type Connection struct {
	Operation
	// Child continues Parent.
	Parent, Child uuid.UUID
	// Name is what people call the branch; empty: none, or the one that it has. Does not count where the edge ends.
	Name string
}

// Connect adds an edge; where it is there already, it gets the name. Nodes that cannot be read are refused, as AddNode does.
// *NotFoundError, *UnreadableError, *TooLargeError, *RequestReusedError, *etag.StaleError, *flow.NotMemberError,
// *flow.CycleError, *flow.FullError.
func (l *Library) Connect(ctx context.Context, ns string, in Connection) (flow.Flow, error) {
	ends := []uuid.UUID{in.Parent, in.Child}
	cannot, err := l.unusable(ctx, ns, ends)
	if err != nil {
		return flow.Flow{}, err
	}
	return l.operate(ctx, ns, in.Operation, asked{"Connect", in.Request, in}, ends, cannot, func(f flow.Flow, at []int) (flow.Change, error) {
		e := flow.Edge{From: at[0], To: at[1], Name: in.Name}
		if old, held := f.Edge(e.From, e.To); held && (e.Name == "" || e.Name == old.Name) {
			return flow.Change{}, nil
		}
		return flow.Change{Connect: []flow.Edge{e}}, nil
	})
}

// Disconnect takes an edge away; both nodes stay in the flow. *NotFoundError, *UnreadableError for the flow,
// *RequestReusedError, *etag.StaleError, *flow.NotMemberError, *flow.NotConnectedError.
func (l *Library) Disconnect(ctx context.Context, ns string, in Connection) (flow.Flow, error) {
	ends := []uuid.UUID{in.Parent, in.Child}
	return l.operate(ctx, ns, in.Operation, asked{"Disconnect", in.Request, in}, ends, nil, func(_ flow.Flow, at []int) (flow.Change, error) {
		return flow.Change{Disconnect: []flow.Edge{{From: at[0], To: at[1]}}}, nil
	})
}
