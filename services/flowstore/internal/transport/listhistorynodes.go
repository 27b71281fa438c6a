package transport

import (
	"context"

	flowstorev1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/flowstore/v1"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/library"
	"github.com/tsumugi-dev/tsumugi/services/internal/namespace"
	"github.com/tsumugi-dev/tsumugi/services/internal/pagetoken"
)

// ListHistoryNodes lists all nodes of a flow, each behind those that it continues.
func (s *Server) ListHistoryNodes(ctx context.Context, req *flowstorev1.ListHistoryNodesRequest) (*flowstorev1.ListHistoryNodesResponse, error) {
	f := begin(req)
	q := library.PathQuery{
		Flow:     f.name("flow", req.GetFlow(), aFlow),
		MaxNodes: f.pageSize(req.GetPageSize()),
		MaxBytes: maxPageBytes,
		Brief:    !f.full(req.GetView(), false),
		Drawing:  req.GetDrawing(),
	}
	if err := f.Err(); err != nil {
		return nil, err
	}
	query := "ListHistoryNodes " + q.Flow.String() + viewKey(q.Brief)
	var err error
	if q.After, err = placeAfter(req.GetPageToken(), query); err != nil {
		return nil, f.fault(err)
	}
	page, err := s.library.History(ctx, namespace.From(ctx), q)
	if err != nil {
		return nil, f.fault(err)
	}
	return &flowstorev1.ListHistoryNodesResponse{
		Nodes: fromPath(page.Nodes), NextPageToken: pagetoken.Encode(query, toKey(page.Next)), Drawing: page.Drawing,
	}, nil
}
