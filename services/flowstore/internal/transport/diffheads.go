package transport

import (
	"context"

	flowstorev1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/flowstore/v1"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/library"
	"github.com/tsumugi-dev/tsumugi/services/internal/namespace"
)

// DiffHeads tells where the ways to two nodes of a flow part.
func (s *Server) DiffHeads(ctx context.Context, req *flowstorev1.DiffHeadsRequest) (*flowstorev1.DiffHeadsResponse, error) {
	f := begin(req)
	q := library.HeadsQuery{
		Flow:  f.name("flow", req.GetFlow(), aFlow),
		Node:  f.name("node", req.GetNode(), aNode),
		Other: f.name("other", req.GetOther(), aNode),
	}
	if err := f.Err(); err != nil {
		return nil, err
	}
	d, err := s.library.DiffHeads(ctx, namespace.From(ctx), q)
	if err != nil {
		return nil, f.fault(err)
	}
	return &flowstorev1.DiffHeadsResponse{
		Common: fromMembers(d.Common), OnlyNode: fromMembers(d.Only), OnlyOther: fromMembers(d.OtherOnly),
	}, nil
}
