package transport

import (
	"context"

	flowstorev1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/flowstore/v1"
	"github.com/tsumugi-dev/tsumugi/services/internal/namespace"
)

// GetFlow answers with a flow: its nodes by name, and its edges.
func (s *Server) GetFlow(ctx context.Context, req *flowstorev1.GetFlowRequest) (*flowstorev1.Flow, error) {
	f := begin(req)
	id := f.name("name", req.GetName(), aFlow)
	if err := f.Err(); err != nil {
		return nil, err
	}
	got, err := s.library.Flow(ctx, namespace.From(ctx), id)
	if err != nil {
		return nil, f.fault(err)
	}
	return fromFlow(got), nil
}
