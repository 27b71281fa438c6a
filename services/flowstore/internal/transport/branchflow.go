package transport

import (
	"context"

	flowstorev1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/flowstore/v1"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/flow"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/library"
	"github.com/tsumugi-dev/tsumugi/services/internal/namespace"
)

// BranchFlow names a new branch.
func (s *Server) BranchFlow(ctx context.Context, req *flowstorev1.BranchFlowRequest) (*flowstorev1.Flow, error) {
	f := begin(req)
	f.head = "display_name"
	in := library.Branching{Operation: f.operation(req), Node: f.name("node", req.GetNode(), aNode), Name: req.GetDisplayName()}
	f.found("", flow.CheckEdgeName("display_name", in.Name))
	if err := f.Err(); err != nil {
		return nil, err
	}
	got, err := s.library.Branch(ctx, namespace.From(ctx), in)
	if err != nil {
		return nil, f.fault(err)
	}
	return fromFlow(got), nil
}
