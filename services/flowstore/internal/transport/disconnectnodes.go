package transport

import (
	"context"

	flowstorev1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/flowstore/v1"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/library"
	"github.com/tsumugi-dev/tsumugi/services/internal/namespace"
)

// DisconnectNodes takes an edge away.
func (s *Server) DisconnectNodes(ctx context.Context, req *flowstorev1.DisconnectNodesRequest) (*flowstorev1.Flow, error) {
	f := begin(req)
	in := library.Connection{
		Operation: f.operation(req),
		Parent:    f.name("parent", req.GetParent(), aNode), Child: f.name("child", req.GetChild(), aNode),
	}
	if err := f.Err(); err != nil {
		return nil, err
	}
	got, err := s.library.Disconnect(ctx, namespace.From(ctx), in)
	if err != nil {
		return nil, f.fault(err)
	}
	return fromFlow(got), nil
}
