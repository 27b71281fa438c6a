package transport

import (
	"context"

	flowstorev1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/flowstore/v1"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/library"
	"github.com/tsumugi-dev/tsumugi/services/internal/namespace"
)

// DeleteFlow puts a flow into the trash.
func (s *Server) DeleteFlow(ctx context.Context, req *flowstorev1.DeleteFlowRequest) (*flowstorev1.Flow, error) {
	f := begin(req)
	op := library.Operation{
		Flow: f.name("name", req.GetName(), aFlow), Etag: req.GetEtag(), Request: f.uuid("request_id", req.GetRequestId(), request),
	}
	if err := f.Err(); err != nil {
		return nil, err
	}
	got, err := s.library.DeleteFlow(ctx, namespace.From(ctx), op)
	if err != nil {
		return nil, f.fault(err)
	}
	out := fromFlow(got.Flow)
	out.DeleteTime = fromTime(got.Deleted)
	return out, nil
}
