package transport

import (
	"context"
	"math"

	flowstorev1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/flowstore/v1"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/library"
	"github.com/tsumugi-dev/tsumugi/services/internal/namespace"
)

// SplitNode puts the first part of a node beside it.
func (s *Server) SplitNode(ctx context.Context, req *flowstorev1.SplitNodeRequest) (*flowstorev1.AddNodeResponse, error) {
	f := begin(req)
	in := library.Splitting{
		Flow: f.name("flow", req.GetFlow(), aFlow), Node: f.name("node", req.GetNode(), aNode),
		Text: int(req.GetTextIndex()), Characters: int(req.GetOffset()), ID: f.uuid("node_id", req.GetNodeId(), chosen),
		Etag: req.GetEtag(), SetCurrent: req.GetSetCurrent(), Request: f.uuid("request_id", req.GetRequestId(), request),
	}
	if req.TextIndex == nil {
		f.Add("text_index", "is required: the text, from 0, in which the first part ends")
	}
	if req.Offset == nil {
		f.Add("offset", "is required: how many characters of the text are kept")
	}
	f.count("text_index", in.Text, math.MaxInt32)
	f.count("offset", in.Characters, math.MaxInt32)
	if err := f.Err(); err != nil {
		return nil, err
	}
	placed, err := s.library.SplitNode(ctx, namespace.From(ctx), in)
	if err != nil {
		return nil, f.fault(err)
	}
	return &flowstorev1.AddNodeResponse{Node: fromNode(placed.Node), Index: number(placed.Index), Parents: nodeNames(placed.Parents)}, nil
}
