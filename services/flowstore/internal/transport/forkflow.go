package transport

import (
	"context"

	flowstorev1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/flowstore/v1"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/flow"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/library"
	"github.com/tsumugi-dev/tsumugi/services/internal/namespace"
)

// ForkFlow makes a new flow out of nodes of another one.
func (s *Server) ForkFlow(ctx context.Context, req *flowstorev1.ForkFlowRequest) (*flowstorev1.Flow, error) {
	f := begin(req)
	in := library.Forking{
		Operation: f.operation(req), Way: f.forkWay(req), Node: f.name("node", req.GetNode(), aNode),
		Name: req.GetDisplayName(), ID: f.uuid("flow_id", req.GetFlowId(), chosen),
	}
	f.found("", flow.CheckEdgeName("display_name", in.Name))
	if err := f.Err(); err != nil {
		return nil, err
	}
	made, err := s.library.Fork(ctx, namespace.From(ctx), in)
	if err != nil {
		return nil, f.fault(err)
	}
	return fromFlow(made), nil
}

var forkWays = map[flowstorev1.ForkWay]flow.ForkWay{
	flowstorev1.ForkWay_FORK_WAY_WHOLE:    flow.ForkWhole,
	flowstorev1.ForkWay_FORK_WAY_PATH:     flow.ForkPath,
	flowstorev1.ForkWay_FORK_WAY_SIBLINGS: flow.ForkSiblings,
	flowstorev1.ForkWay_FORK_WAY_SUBTREE:  flow.ForkSubtree,
}

// forkWay reads how much a fork takes along, and whether the node that the way speaks of is named.
func (f *fields) forkWay(req *flowstorev1.ForkFlowRequest) flow.ForkWay {
	way, known := forkWays[req.GetWay()]
	switch {
	case req.GetWay() == flowstorev1.ForkWay_FORK_WAY_UNSPECIFIED: // missing, which was told
	case !known:
		f.Add("way", "must be FORK_WAY_WHOLE, FORK_WAY_PATH, FORK_WAY_SIBLINGS or FORK_WAY_SUBTREE, is %d", req.GetWay())
	case way == flow.ForkWhole && req.GetNode() != "":
		f.Add("node", "must be empty: FORK_WAY_WHOLE takes all nodes")
	case way != flow.ForkWhole && req.GetNode() == "":
		f.Add("node", "is required for %s", req.GetWay())
	}
	return way
}
