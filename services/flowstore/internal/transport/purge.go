package transport

import (
	"context"

	"google.golang.org/protobuf/types/known/timestamppb"

	flowstorev1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/flowstore/v1"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/library"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store"
	"github.com/tsumugi-dev/tsumugi/services/internal/namespace"
)

// PurgeNode erases a node for good.
func (s *Server) PurgeNode(ctx context.Context, req *flowstorev1.PurgeNodeRequest) (*flowstorev1.Tombstone, error) {
	f := begin(req)
	in := library.Purge{ID: f.name("name", req.GetName(), aNode), Reason: f.reason(req.GetReason())}
	if err := f.Err(); err != nil {
		return nil, err
	}
	got, err := s.library.PurgeNode(ctx, namespace.From(ctx), in)
	if err != nil {
		return nil, f.fault(err)
	}
	return fromPurged(got), nil
}

// PurgeFlow erases a flow for good.
func (s *Server) PurgeFlow(ctx context.Context, req *flowstorev1.PurgeFlowRequest) (*flowstorev1.Tombstone, error) {
	f := begin(req)
	in := library.Purge{ID: f.name("name", req.GetName(), aFlow), Reason: f.reason(req.GetReason()), Nodes: req.GetPurgeNodes()}
	if err := f.Err(); err != nil {
		return nil, err
	}
	got, err := s.library.PurgeFlow(ctx, namespace.From(ctx), in)
	if err != nil {
		return nil, f.fault(err)
	}
	return fromPurged(got), nil
}

// reason reads why something is purged; that it is missing was told.
func (f *fields) reason(reason string) string {
	if what := store.CheckReason(reason); what != "" && reason != "" {
		f.Add("reason", "%s", what)
	}
	return reason
}

func fromPurged(p store.Purged) *flowstorev1.Tombstone {
	return &flowstorev1.Tombstone{
		Name: p.Kind.Name(p.ID), PurgeTime: timestamppb.New(p.At), Reason: p.Reason, Nodes: nodeNames(p.Nodes), Remains: p.Remains,
	}
}
