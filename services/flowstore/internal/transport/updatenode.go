package transport

import (
	"context"
	"fmt"
	"slices"
	"time"

	flowstorev1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/flowstore/v1"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/library"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/node"
	"github.com/tsumugi-dev/tsumugi/services/internal/namespace"
)

// UpdateNode changes what a node says.
func (s *Server) UpdateNode(ctx context.Context, req *flowstorev1.UpdateNodeRequest) (*flowstorev1.Node, error) {
	// What is REQUIRED of a new node may be missing here: the mask says what counts.
	f := &fields{etag: "node.etag"}
	n := req.GetNode()
	in := library.NodeUpdate{
		Node: f.name("node.name", n.GetName(), aNode), Etag: n.GetEtag(), To: toNode(n), Source: n.GetSummary().GetSource(),
		Fields: f.updateMask(req.GetUpdateMask().GetPaths(), node.Editable()), Request: f.uuid("request_id", req.GetRequestId(), request),
	}
	in.To.Summary.Text = n.GetSummary().GetText()
	if n.GetName() == "" {
		f.Add("node.name", "is required")
	}
	f.updated(in)
	if err := f.Err(); err != nil {
		return nil, err
	}
	got, err := s.library.UpdateNode(ctx, namespace.From(ctx), in)
	if err != nil {
		return nil, f.fault(err)
	}
	return fromNode(got), nil
}

// updated checks the parts of a node that the mask names.
func (f *fields) updated(in library.NodeUpdate) {
	texts := slices.Contains(in.Fields, "texts")
	if texts && len(in.To.Texts) == 0 {
		f.Add("node.texts", "at least one is required, since they are to be changed")
	}
	for i, t := range in.To.Texts {
		if texts && t.Role == "" {
			f.Add(fmt.Sprintf("node.texts[%d].role", i), "is required")
		}
	}
	if slices.Contains(in.Fields, "summary") && in.To.Summary.Text != "" && in.Source == "" && in.Etag == "" && !texts {
		f.Add("node.summary.source", "is required, or the etag of the node: it says which texts the summary was made from")
	}
	if slices.Contains(in.Fields, "tags") && in.Etag == "" {
		f.Add("node.etag", "is required, since a whole list is replaced: it says which one")
	}
	f.found("node", node.Node{}.Edited(in.To, in.Fields, "", time.Time{}).Check())
}
