package transport

import (
	"context"
	"math"

	flowstorev1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/flowstore/v1"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/node"
	"github.com/tsumugi-dev/tsumugi/services/internal/namespace"
)

// GetNode answers with a node.
func (s *Server) GetNode(ctx context.Context, req *flowstorev1.GetNodeRequest) (*flowstorev1.Node, error) {
	f := begin(req)
	id := f.name("name", req.GetName(), aNode)
	full := f.full(req.GetView(), true)
	part := f.part(req)
	if err := f.Err(); err != nil {
		return nil, err
	}
	if part != nil {
		b, err := s.library.Part(ctx, namespace.From(ctx), id, *part)
		if err != nil {
			return nil, f.fault(err)
		}
		n := fromBrief(b)
		n.Texts[part.Text].Offset = number(part.Offset)
		return n, nil
	}
	if !full {
		b, err := s.library.Brief(ctx, namespace.From(ctx), id)
		if err != nil {
			return nil, f.fault(err)
		}
		return fromBrief(b), nil
	}
	n, err := s.library.Node(ctx, namespace.From(ctx), id)
	if err != nil {
		return nil, f.fault(err)
	}
	return fromNode(n), nil
}

// part reads which part of a text is wanted; nil: none, but the node.
func (f *fields) part(req *flowstorev1.GetNodeRequest) *node.Part {
	p := &node.Part{Text: int(req.GetTextIndex()), Offset: int(req.GetOffset()), Length: int(req.GetLength())}
	f.count("text_index", p.Text, math.MaxInt32)
	f.count("offset", p.Offset, math.MaxInt32)
	f.count("length", p.Length, node.MaxPart)
	if req.TextIndex == nil {
		if p.Offset != 0 || p.Length != 0 {
			f.Add("text_index", "must say of which text, from 0, offset and length give a part")
		}
		return nil
	}
	if req.GetView() != flowstorev1.NodeView_NODE_VIEW_UNSPECIFIED {
		f.Add("view", "must be left out where text_index asks for a part of a text")
	}
	return p
}

// count reads a number from 0 on.
func (f *fields) count(field string, n, most int) {
	if n < 0 || n > most {
		f.Add(field, "is %d; it must be 0 to %d", n, most)
	}
}
