package transport

import (
	"context"

	flowstorev1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/flowstore/v1"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/worddiff"
	"github.com/tsumugi-dev/tsumugi/services/internal/namespace"
)

// DiffNodes tells the texts of two nodes apart.
func (s *Server) DiffNodes(ctx context.Context, req *flowstorev1.DiffNodesRequest) (*flowstorev1.DiffNodesResponse, error) {
	f := begin(req)
	id, other := f.name("node", req.GetNode(), aNode), f.name("other", req.GetOther(), aNode)
	if err := f.Err(); err != nil {
		return nil, err
	}
	diffs, err := s.library.DiffNodes(ctx, namespace.From(ctx), id, other)
	if err != nil {
		return nil, f.fault(err)
	}
	out := &flowstorev1.DiffNodesResponse{}
	for _, d := range diffs {
		text := &flowstorev1.TextDiff{Role: d.Role, InNode: d.InNode, InOther: d.InOther, Coarse: d.Coarse}
		for _, p := range d.Parts {
			text.Parts = append(text.Parts, &flowstorev1.DiffPart{Op: ops[p.Op], Text: p.Text})
		}
		out.Texts = append(out.Texts, text)
	}
	return out, nil
}

var ops = map[worddiff.Op]flowstorev1.DiffPart_Op{
	worddiff.Equal:  flowstorev1.DiffPart_OP_EQUAL,
	worddiff.Delete: flowstorev1.DiffPart_OP_DELETE,
	worddiff.Insert: flowstorev1.DiffPart_OP_INSERT,
}
