package transport

import (
	"context"

	flowstorev1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/flowstore/v1"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/flow"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/library"
	"github.com/tsumugi-dev/tsumugi/services/internal/namespace"
	"github.com/tsumugi-dev/tsumugi/services/internal/pagetoken"
)

// ListFlows lists flows by creation.
func (s *Server) ListFlows(ctx context.Context, req *flowstorev1.ListFlowsRequest) (*flowstorev1.ListFlowsResponse, error) {
	f := begin(req)
	filter := library.FlowFilter{
		NameContains: f.contains("display_name_contains", req.GetDisplayNameContains()), UpdatedFrom: f.time("update_time_from", req.GetUpdateTimeFrom()),
	}
	q, query, err := f.list("ListFlows", filter, req)
	if err != nil {
		return nil, err
	}
	page, err := s.library.Flows(ctx, namespace.From(ctx), q, filter)
	if err != nil {
		return nil, f.fault(err)
	}
	out := &flowstorev1.ListFlowsResponse{NextPageToken: pagetoken.Encode(query, entryKey(page.Next))}
	for _, item := range page.Items {
		one := &flowstorev1.FlowItem{Flow: &flowstorev1.Flow{Name: flow.Name(item.ID)}, Problem: item.Problem, ProblemPath: item.File}
		if item.Problem == "" {
			one.Flow, one.NodeCount, one.EdgeCount = fromFlowHead(item.Item), number(len(item.Item.Members)), number(len(item.Item.Edges))
		}
		one.Flow.DeleteTime = fromTime(item.Deleted)
		out.Flows = append(out.Flows, one)
	}
	return out, nil
}
