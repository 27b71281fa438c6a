package transport

import (
	"context"
	"slices"
	"strings"

	flowstorev1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/flowstore/v1"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/flow"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/library"
	"github.com/tsumugi-dev/tsumugi/services/internal/namespace"
)

// UpdateFlow changes what a flow says of itself.
func (s *Server) UpdateFlow(ctx context.Context, req *flowstorev1.UpdateFlowRequest) (*flowstorev1.Flow, error) {
	// What is REQUIRED of a new flow may be missing here: the mask says what counts.
	f := &fields{etag: "flow.etag"}
	in := library.Update{
		Flow: f.name("flow.name", req.GetFlow().GetName(), aFlow), Etag: req.GetFlow().GetEtag(),
		Words: toFlow(req.GetFlow()), Fields: f.updateMask(req.GetUpdateMask().GetPaths()),
	}
	if req.GetFlow().GetName() == "" {
		f.Add("flow.name", "is required")
	}
	if slices.Contains(in.Fields, "display_name") && in.Words.Name == "" {
		f.Add("flow.display_name", "is required, since update_mask names it")
	}
	f.found("flow", flow.Flow{}.Edited(in.Words, in.Fields).CheckWords())
	if err := f.Err(); err != nil {
		return nil, err
	}
	got, err := s.library.UpdateFlow(ctx, namespace.From(ctx), in)
	if err != nil {
		return nil, f.fault(err)
	}
	return fromFlow(got), nil
}

// updateMask reads which parts of a flow change.
func (f *fields) updateMask(paths []string) (parts []string) {
	known := flow.Editable()
	unknown := ""
	for _, path := range paths {
		switch {
		case slices.Contains(known, path):
			parts = append(parts, path)
		case unknown == "":
			unknown = path
		}
	}
	switch {
	case unknown != "":
		f.Add("update_mask", "names %.60q; it can name %s", unknown, strings.Join(known, ", "))
	case len(parts) == 0:
		f.Add("update_mask", "must name what changes: %s", strings.Join(known, ", "))
	}
	return parts
}
