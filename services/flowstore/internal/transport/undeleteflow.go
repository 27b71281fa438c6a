package transport

import (
	"context"

	flowstorev1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/flowstore/v1"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/library"
	"github.com/tsumugi-dev/tsumugi/services/internal/namespace"
)

// UndeleteFlow takes a flow out of the trash.
func (s *Server) UndeleteFlow(ctx context.Context, req *flowstorev1.UndeleteFlowRequest) (*flowstorev1.Flow, error) {
	f := begin(req)
	in := library.Return{ID: f.name("name", req.GetName(), aFlow), Request: f.uuid("request_id", req.GetRequestId(), request)}
	if err := f.Err(); err != nil {
		return nil, err
	}
	got, err := s.library.UndeleteFlow(ctx, namespace.From(ctx), in)
	if err != nil {
		return nil, f.fault(err)
	}
	return fromFlow(got), nil
}
