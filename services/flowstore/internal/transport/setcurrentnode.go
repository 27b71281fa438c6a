package transport

import (
	"context"

	flowstorev1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/flowstore/v1"
	"github.com/tsumugi-dev/tsumugi/services/internal/namespace"
)

// SetCurrentNode moves the reader's place in a flow.
func (s *Server) SetCurrentNode(ctx context.Context, req *flowstorev1.SetCurrentNodeRequest) (*flowstorev1.Flow, error) {
	f := begin(req)
	flowID := f.name("flow", req.GetFlow(), aFlow)
	nodeID := f.name("node", req.GetNode(), aNode)
	if err := f.Err(); err != nil {
		return nil, err
	}
	got, err := s.library.SetCurrent(ctx, namespace.From(ctx), flowID, nodeID)
	if err != nil {
		return nil, f.fault(err)
	}
	return fromFlow(got), nil
}
