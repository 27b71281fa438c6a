package transport

import (
	"context"

	flowstorev1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/flowstore/v1"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/library"
	"github.com/tsumugi-dev/tsumugi/services/internal/namespace"
)

// CreateNode stores a node that no flow holds yet.
func (s *Server) CreateNode(ctx context.Context, req *flowstorev1.CreateNodeRequest) (*flowstorev1.Node, error) {
	f := begin(req)
	in := library.NewNode{
		Node:    f.newNode("node", req.GetNode()),
		ID:      f.uuid("node_id", req.GetNodeId(), chosen),
		Request: f.uuid("request_id", req.GetRequestId(), request),
	}
	if err := f.Err(); err != nil {
		return nil, err
	}
	n, err := s.library.CreateNode(ctx, namespace.From(ctx), in)
	if err != nil {
		return nil, f.fault(err)
	}
	return fromNode(n), nil
}
