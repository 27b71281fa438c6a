package transport

import (
	"context"

	flowstorev1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/flowstore/v1"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/flow"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/library"
	"github.com/tsumugi-dev/tsumugi/services/internal/namespace"
)

// DeleteNode puts a node into the trash.
func (s *Server) DeleteNode(ctx context.Context, req *flowstorev1.DeleteNodeRequest) (*flowstorev1.DeleteNodeResponse, error) {
	f := begin(req)
	f.unnamedIn = "name"
	in := library.Deletion{
		Node: f.name("name", req.GetName(), aNode), Etag: req.GetEtag(), Mode: f.removeMode(req.GetMode()), Request: f.uuid("request_id", req.GetRequestId(), request),
	}
	if err := f.Err(); err != nil {
		return nil, err
	}
	got, err := s.library.Delete(ctx, namespace.From(ctx), in)
	if err != nil {
		return nil, f.fault(err)
	}
	out := &flowstorev1.DeleteNodeResponse{Nodes: nodeNames(got.Nodes)}
	for _, loss := range got.Flows {
		out.Flows = append(out.Flows, &flowstorev1.FlowLoss{Flow: flow.Name(loss.Flow.ID), Nodes: nodeNames(loss.Nodes), Etag: loss.Flow.Etag()})
	}
	return out, nil
}
