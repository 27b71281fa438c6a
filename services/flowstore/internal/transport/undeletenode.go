package transport

import (
	"context"

	flowstorev1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/flowstore/v1"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/library"
	"github.com/tsumugi-dev/tsumugi/services/internal/namespace"
)

// UndeleteNode takes a node out of the trash.
func (s *Server) UndeleteNode(ctx context.Context, req *flowstorev1.UndeleteNodeRequest) (*flowstorev1.Node, error) {
	f := begin(req)
	in := library.Return{ID: f.name("name", req.GetName(), aNode), Request: f.uuid("request_id", req.GetRequestId(), request)}
	if err := f.Err(); err != nil {
		return nil, err
	}
	b, err := s.library.UndeleteNode(ctx, namespace.From(ctx), in)
	if err != nil {
		return nil, f.fault(err)
	}
	return fromBrief(b), nil
}
