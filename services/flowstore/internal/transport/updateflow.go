package transport

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/google/uuid"

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
		Words: toFlow(req.GetFlow()), Fields: f.updateMask(req.GetUpdateMask().GetPaths(), flow.Editable()),
	}
	if slices.Contains(in.Fields, "heads") {
		in.Heads = f.heads(req.GetFlow().GetHeads())
	}
	if slices.Contains(in.Fields, "links") {
		in.Links = f.links(req.GetFlow().GetLinks(), in.Flow)
	}
	// What is replaced as a whole may hold what the caller has not read (field/flowstore.md 3).
	whole := []string{"heads", "links", "story"}
	if in.Etag == "" && slices.ContainsFunc(in.Fields, func(path string) bool { return slices.Contains(whole, path) }) {
		f.Add("flow.etag", "is required, since heads, links or the story are replaced as a whole: it says which")
	}
	if req.GetFlow().GetName() == "" {
		f.Add("flow.name", "is required")
	}
	if slices.Contains(in.Fields, "display_name") && in.Words.Name == "" {
		f.Add("flow.display_name", "is required, since it is to be changed")
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

// updateMask reads which parts change, of those that are known.
func (f *fields) updateMask(paths, known []string) (parts []string) {
	const told = 10 // of a heap of names
	var unknown []string
	for _, path := range paths {
		switch {
		case slices.Contains(known, path):
			parts = append(parts, path)
		case len(unknown) < told:
			unknown = append(unknown, fmt.Sprintf("%.60q", path))
		}
	}
	switch {
	case len(unknown) > 0:
		f.Add("update_mask", "names %s; it can name %s", strings.Join(unknown, ", "), strings.Join(known, ", "))
	case len(parts) == 0:
		f.Add("update_mask", "must name what changes: %s", strings.Join(known, ", "))
	}
	return parts
}

// heads reads a list of heads.
func (f *fields) heads(in []*flowstorev1.FlowHead) []library.HeadAt {
	if len(in) > flow.MaxHeads {
		f.Add("flow.heads", "has %d items; the limit is %d", len(in), flow.MaxHeads)
		return nil
	}
	out, first := make([]library.HeadAt, len(in)), map[string]int{}
	for i, h := range in {
		item := fmt.Sprintf("flow.heads[%d]", i)
		f.found("", flow.CheckHeadName(item+".display_name", h.GetDisplayName()))
		if before, twice := first[h.GetDisplayName()]; twice {
			f.Add(item+".display_name", "is that of heads[%d] again; give each head a name of its own", before)
		} else {
			first[h.GetDisplayName()] = i
		}
		if h.GetNode() == "" {
			f.Add(item+".node", "is required")
		}
		out[i] = library.HeadAt{Name: h.GetDisplayName(), Node: f.name(item+".node", h.GetNode(), aNode)}
	}
	return out
}

// links reads a list of links from the flow with the id own.
func (f *fields) links(in []*flowstorev1.FlowLink, own uuid.UUID) []library.LinkAt {
	if len(in) > flow.MaxLinks {
		f.Add("flow.links", "has %d items; the limit is %d", len(in), flow.MaxLinks)
		return nil
	}
	out := make([]library.LinkAt, len(in))
	for i, l := range in {
		item := fmt.Sprintf("flow.links[%d]", i)
		out[i] = library.LinkAt{Node: f.name(item+".node", l.GetNode(), aNode), Flow: f.name(item+".flow", l.GetFlow(), aFlow)}
		switch first := slices.Index(out[:i], out[i]); {
		case l.GetFlow() == "":
			f.Add(item+".flow", "is required")
		case out[i].Flow == own && own != (uuid.UUID{}):
			f.Add(item+".flow", "must be another flow")
		case first >= 0 && out[i].Flow != (uuid.UUID{}):
			f.Add(item, "is links[%d] again; give each link once", first)
		}
	}
	return out
}
