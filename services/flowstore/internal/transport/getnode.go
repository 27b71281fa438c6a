package transport

import (
	"context"

	flowstorev1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/flowstore/v1"
	"github.com/tsumugi-dev/tsumugi/services/internal/namespace"
)

// GetNode answers with a node.
func (s *Server) GetNode(ctx context.Context, req *flowstorev1.GetNodeRequest) (*flowstorev1.Node, error) {
	f := begin(req)
	id := f.name("name", req.GetName(), aNode)
	full := f.full(req.GetView(), true)
	if err := f.Err(); err != nil {
		return nil, err
	}
	if !full {
		b, err := s.library.Brief(ctx, namespace.From(ctx), id)
		if err != nil {
			return nil, f.fault(err)
		}
		return fromBrief(b), nil
	}
	n, err := s.library.Node(ctx, namespace.From(ctx), id)
	if err != nil {
		return nil, f.fault(err)
	}
	return fromNode(n), nil
}
