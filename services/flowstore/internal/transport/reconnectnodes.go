package transport

import (
	"context"

	"github.com/google/uuid"

	flowstorev1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/flowstore/v1"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/library"
	"github.com/tsumugi-dev/tsumugi/services/internal/namespace"
)

// ReconnectNodes has a node continue another one than before.
func (s *Server) ReconnectNodes(ctx context.Context, req *flowstorev1.ReconnectNodesRequest) (*flowstorev1.Flow, error) {
	f := begin(req)
	in := library.Reconnection{
		Operation: f.operation(req), Child: f.name("child", req.GetChild(), neighbour),
		From: f.name("old_parent", req.GetOldParent(), aNode), To: f.name("new_parent", req.GetNewParent(), neighbour),
	}
	if in.From == in.To && in.To != (uuid.UUID{}) {
		f.Add("new_parent", "must be another node than old_parent")
	}
	if err := f.Err(); err != nil {
		return nil, err
	}
	got, err := s.library.Reconnect(ctx, namespace.From(ctx), in)
	if err != nil {
		return nil, f.fault(err)
	}
	return fromFlow(got), nil
}
