package transport

import (
	"context"

	"github.com/google/uuid"

	flowstorev1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/flowstore/v1"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/flow"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/node"
	"github.com/tsumugi-dev/tsumugi/services/internal/namespace"
)

// maxProblems is how many problems an answer tells.
const maxProblems = 10_000

// ValidateFlow tells what is wrong with a flow.
func (s *Server) ValidateFlow(ctx context.Context, req *flowstorev1.ValidateFlowRequest) (*flowstorev1.ValidateFlowResponse, error) {
	f := begin(req)
	id := f.name("flow", req.GetFlow(), aFlow)
	if err := f.Err(); err != nil {
		return nil, err
	}
	problems, more, err := s.library.ValidateFlow(ctx, namespace.From(ctx), id, maxProblems)
	if err != nil {
		return nil, f.fault(err)
	}
	out := &flowstorev1.ValidateFlowResponse{MoreProblems: number(more)}
	for _, p := range problems {
		out.Problems = append(out.Problems, fromProblem(p))
	}
	return out, nil
}

var problemKinds = map[flow.ProblemKind]flowstorev1.FlowProblem_Kind{
	flow.BadEntry:       flowstorev1.FlowProblem_KIND_BAD_ENTRY,
	flow.DanglingEdge:   flowstorev1.FlowProblem_KIND_DANGLING_EDGE,
	flow.CycleEdge:      flowstorev1.FlowProblem_KIND_CYCLE_EDGE,
	flow.BadCurrent:     flowstorev1.FlowProblem_KIND_BAD_CURRENT,
	flow.MissingNode:    flowstorev1.FlowProblem_KIND_MISSING_NODE,
	flow.UnreadableNode: flowstorev1.FlowProblem_KIND_UNREADABLE_NODE,
	flow.DanglingHead:   flowstorev1.FlowProblem_KIND_DANGLING_HEAD,
	flow.DanglingLink:   flowstorev1.FlowProblem_KIND_DANGLING_LINK,
}

func fromProblem(p flow.Problem) *flowstorev1.FlowProblem {
	out := &flowstorev1.FlowProblem{Kind: problemKinds[p.Kind], Message: p.Text, Index: number(p.Index), Path: p.File}
	out.Cycle = nodeNames(p.Cycle)
	if p.Edge != (flow.Edge{}) {
		out.Edge = &flowstorev1.Edge{From: number(p.Edge.From), To: number(p.Edge.To)}
	}
	if p.Node != (uuid.UUID{}) {
		out.Node = node.Name(p.Node)
	}
	switch p.Kind {
	case flow.DanglingHead:
		out.Head = &flowstorev1.FlowHead{DisplayName: p.Head.Name, Index: number(p.Head.Index)}
	case flow.DanglingLink:
		out.Link = &flowstorev1.FlowLink{Flow: flow.Name(p.Link.Flow), Node: out.Node, Index: number(p.Link.From)}
		out.Node = "" // That is for a node whose file is the problem.
	}
	return out
}
