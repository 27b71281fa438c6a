package transport

import (
	"context"

	flowstorev1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/flowstore/v1"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/library"
	"github.com/tsumugi-dev/tsumugi/services/internal/namespace"
)

// CreateFlow makes an empty flow.
func (s *Server) CreateFlow(ctx context.Context, req *flowstorev1.CreateFlowRequest) (*flowstorev1.Flow, error) {
	f := begin(req)
	f.unnamed("flow", req.GetFlow().GetName(), "flow_id")
	if req.GetFlow().GetEtag() != "" {
		f.Add("flow.etag", "must be empty: it says which version of a stored flow somebody read")
	}
	if len(req.GetFlow().GetHeads()) > 0 {
		f.Add("flow.heads", "must be empty: a new flow has no nodes at which they could stand")
	}
	if len(req.GetFlow().GetLinks()) > 0 {
		f.Add("flow.links", "must be empty; UpdateFlow makes them")
	}
	in := library.NewFlow{
		Flow:    toFlow(req.GetFlow()),
		ID:      f.uuid("flow_id", req.GetFlowId(), chosen),
		Request: f.uuid("request_id", req.GetRequestId(), request),
	}
	f.found("flow", in.Flow.CheckWords())
	if err := f.Err(); err != nil {
		return nil, err
	}
	made, err := s.library.CreateFlow(ctx, namespace.From(ctx), in)
	if err != nil {
		return nil, f.fault(err)
	}
	return fromFlow(made), nil
}
