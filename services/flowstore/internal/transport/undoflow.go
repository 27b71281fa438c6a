package transport

import (
	"context"

	flowstorev1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/flowstore/v1"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/library"
	"github.com/tsumugi-dev/tsumugi/services/internal/namespace"
)

// UndoFlow takes back the last change of a flow.
func (s *Server) UndoFlow(ctx context.Context, req *flowstorev1.UndoFlowRequest) (*flowstorev1.UndoFlowResponse, error) {
	f := begin(req)
	f.unnamedIn = "flow"
	op := f.operation(req)
	if err := f.Err(); err != nil {
		return nil, err
	}
	got, err := s.library.Undo(ctx, namespace.From(ctx), op, false)
	if err != nil {
		return nil, f.fault(err)
	}
	return fromUndone(got), nil
}

func fromUndone(u library.Undone) *flowstorev1.UndoFlowResponse {
	return &flowstorev1.UndoFlowResponse{
		Flow: fromFlow(u.Flow), Change: u.Step.Done.Told(), ChangeTime: fromTime(u.Step.At),
		UndoCount: number(u.Undoable), RedoCount: number(u.Redoable),
	}
}
