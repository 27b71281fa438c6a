package transport

import (
	"context"

	flowstorev1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/flowstore/v1"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/flow"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/library"
	"github.com/tsumugi-dev/tsumugi/services/internal/namespace"
)

// ConnectNodes adds an edge between two nodes of a flow.
func (s *Server) ConnectNodes(ctx context.Context, req *flowstorev1.ConnectNodesRequest) (*flowstorev1.Flow, error) {
	f := begin(req)
	in := library.Connection{
		Operation: f.operation(req), Name: req.GetDisplayName(),
		Parent: f.name("parent", req.GetParent(), neighbour), Child: f.name("child", req.GetChild(), neighbour),
	}
	for _, v := range flow.CheckEdgeName("display_name", in.Name) {
		f.Add(v.Field, "%s", v.Message)
	}
	if err := f.Err(); err != nil {
		return nil, err
	}
	got, err := s.library.Connect(ctx, namespace.From(ctx), in)
	if err != nil {
		return nil, f.fault(err)
	}
	return fromFlow(got), nil
}
