package transport

import (
	"context"

	flowstorev1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/flowstore/v1"
	"github.com/tsumugi-dev/tsumugi/services/internal/namespace"
)

// RedoFlow does again the change of a flow that was undone last.
func (s *Server) RedoFlow(ctx context.Context, req *flowstorev1.RedoFlowRequest) (*flowstorev1.UndoFlowResponse, error) {
	f := begin(req)
	f.unnamedIn = "flow"
	op := f.operation(req)
	if err := f.Err(); err != nil {
		return nil, err
	}
	got, err := s.library.Undo(ctx, namespace.From(ctx), op, true)
	if err != nil {
		return nil, f.fault(err)
	}
	return fromUndone(got), nil
}
