package transport

import (
	"context"

	flowstorev1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/flowstore/v1"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/flow"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/library"
	"github.com/tsumugi-dev/tsumugi/services/internal/namespace"
)

// RemoveNode takes a node out of a flow.
func (s *Server) RemoveNode(ctx context.Context, req *flowstorev1.RemoveNodeRequest) (*flowstorev1.Flow, error) {
	f := begin(req)
	in := library.Removal{Operation: f.operation(req), Node: f.name("node", req.GetNode(), aNode), Mode: f.removeMode(req.GetMode())}
	if err := f.Err(); err != nil {
		return nil, err
	}
	got, err := s.library.Remove(ctx, namespace.From(ctx), in)
	if err != nil {
		return nil, f.fault(err)
	}
	return fromFlow(got), nil
}

func (f *fields) removeMode(mode flowstorev1.RemoveMode) flow.RemoveMode {
	switch mode {
	case flowstorev1.RemoveMode_REMOVE_MODE_UNSPECIFIED, flowstorev1.RemoveMode_REMOVE_MODE_RESTRICT:
		return flow.Restrict
	case flowstorev1.RemoveMode_REMOVE_MODE_SPLICE:
		return flow.Splice
	case flowstorev1.RemoveMode_REMOVE_MODE_SUBTREE:
		return flow.Subtree
	}
	f.Add("mode", "must be REMOVE_MODE_RESTRICT, REMOVE_MODE_SPLICE or REMOVE_MODE_SUBTREE, is %d", mode)
	return flow.Restrict
}
