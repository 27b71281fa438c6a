package transport

import (
	"context"

	flowstorev1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/flowstore/v1"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/flow"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/library"
	"github.com/tsumugi-dev/tsumugi/services/internal/namespace"
)

// RebuildFlow has nodes of a flow make a line.
func (s *Server) RebuildFlow(ctx context.Context, req *flowstorev1.RebuildFlowRequest) (*flowstorev1.Flow, error) {
	f := begin(req)
	in := library.Rebuilding{Operation: f.operation(req), Nodes: f.names("nodes", req.GetNodes(), flow.MaxLine, neighbour)}
	if err := f.Err(); err != nil {
		return nil, err
	}
	got, err := s.library.Rebuild(ctx, namespace.From(ctx), in)
	if err != nil {
		return nil, f.fault(err)
	}
	return fromFlow(got), nil
}
