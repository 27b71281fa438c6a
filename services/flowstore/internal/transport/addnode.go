package transport

import (
	"context"

	flowstorev1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/flowstore/v1"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/flow"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/library"
	"github.com/tsumugi-dev/tsumugi/services/internal/namespace"
)

// maxNeighbours is the most parents, and the most children, of one addition.
const maxNeighbours = 1000

// AddNode puts a node into a flow, a new one or one that is stored already, with its edges.
func (s *Server) AddNode(ctx context.Context, req *flowstorev1.AddNodeRequest) (*flowstorev1.AddNodeResponse, error) {
	f := begin(req)
	in := library.Addition{
		Flow:       f.name("flow", req.GetFlow(), aFlow),
		Parents:    f.names("parents", req.GetParents(), maxNeighbours, neighbour),
		Children:   f.names("children", req.GetChildren(), maxNeighbours, neighbour),
		SetCurrent: req.GetSetCurrent(),
		Request:    f.uuid("request_id", req.GetRequestId(), request),
		Head:       req.GetHead(),
	}
	if in.Head != "" {
		f.head = "head"
		f.found("", flow.CheckHeadName("head", in.Head))
	}
	f.source(req, &in)
	if err := f.Err(); err != nil {
		return nil, err
	}
	placed, err := s.library.AddNode(ctx, namespace.From(ctx), in)
	if err != nil {
		return nil, f.fault(err)
	}
	return &flowstorev1.AddNodeResponse{
		Node: fromNode(placed.Node), Index: number(placed.Index), Parents: nodeNames(placed.Parents),
	}, nil
}

// source reads which node is to be added.
func (f *fields) source(req *flowstorev1.AddNodeRequest, in *library.Addition) {
	chosen := f.uuid("node_id", req.GetNodeId(), chosen)
	switch source := req.GetSource().(type) {
	case *flowstorev1.AddNodeRequest_NewNode:
		n := f.newNode("new_node", source.NewNode)
		in.New, in.Node = &n, chosen
	case *flowstorev1.AddNodeRequest_Node:
		if in.Node = f.name("node", source.Node, aNode); source.Node == "" {
			f.Add("node", "is empty")
		}
		if req.GetNodeId() != "" {
			f.Add("node_id", "must be empty: it chooses the id of a new node, and this one is stored already")
		}
	default:
		f.Add("new_node", "give either new_node, a new one, or node, the name of a stored one")
	}
}
