package transport

import (
	"context"
	"fmt"
	"slices"
	"unicode/utf8"

	"github.com/google/uuid"

	agentv1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/agent/v1"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/adapter/wire"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/nodecontext"
	"github.com/tsumugi-dev/tsumugi/services/internal/apierr"
	"github.com/tsumugi-dev/tsumugi/services/internal/namespace"
)

// Limits of references: of the ancestors of each, of a tag in bytes, of a query in characters.
const (
	maxRefAncestors = 5
	maxTag          = 256
	maxQuery        = 500
)

// BuildNodeContext makes the context of a new prompt.
func (s *Server) BuildNodeContext(ctx context.Context, q *agentv1.BuildNodeContextRequest) (*agentv1.BuildNodeContextResponse, error) {
	ns := namespace.From(ctx)
	r, wrong := parseContext(q)
	if wrong.Len() > 0 {
		if !wrong.Has("prompt") {
			wrong.Also(s.contexts.Refusal(ctx, ns, r))
		}
		return nil, wrong.Err()
	}
	c, err := s.contexts.Build(ctx, ns, r)
	if err != nil {
		return nil, fault(err)
	}
	return fromContext(c), nil
}

// parseContext reads a request and finds everything that can be seen to be wrong with it.
func parseContext(q *agentv1.BuildNodeContextRequest) (nodecontext.Request, *apierr.Fields) {
	f := &apierr.Fields{}
	f.Required(q)
	r := nodecontext.Request{
		Flow: id(f, "flow", wire.Flows, q.GetFlow()), Parents: contextParents(f, q), Refs: references(f, "", q.GetRefs()), Ancestors: ancestors(f, "", q.AncestorsMax),
		Settings: nodecontext.Settings{
			Backend: q.GetBackend(), Counter: q.GetCounter(), Locale: q.GetLocale(), Prompt: q.GetPrompt(),
			MaxTokens: int(q.GetMaxTokens()), TrimStep: int(q.GetTrimStep()), Layout: enum(f, "layout", q.GetLayout(), "CONTEXT_LAYOUT_"),
			NoDetails: q.Details != nil && !q.GetDetails(), NoCurrent: q.IncludeCurrent != nil && !q.GetIncludeCurrent(), Texts: q.GetTexts(),
		},
	}
	f.Size("prompt", q.GetPrompt(), maxText)
	f.Size("backend", q.GetBackend(), maxBackend)
	return r, f
}

// contextParents reads the nodes that the prompt follows: each once, as its node would have them.
func contextParents(f *apierr.Fields, q *agentv1.BuildNodeContextRequest) (ids []uuid.UUID) {
	if q.GetParent() != "" {
		ids = append(ids, id(f, "parent", wire.Nodes, q.GetParent()))
	} else if len(q.GetMergeParents()) > 0 {
		f.Add("merge_parents", "only together with parent, the first of the nodes that are merged")
	}
	for i, id := range nodes(f, "merge_parents", q.GetMergeParents(), nodecontext.MaxParents) {
		if id != uuid.Nil && slices.Contains(ids, id) {
			f.Add(fmt.Sprintf("merge_parents[%d]", i), "is named before, as parent or in merge_parents: a node follows each of its parents once")
		}
		ids = append(ids, id)
	}
	return ids
}

// ancestors reads how many lines there may be.
func ancestors(f *apierr.Fields, path string, most *int32) *int {
	if most == nil {
		return nil
	}
	n := int(*most)
	within(f, path+"ancestors_max", n, nodecontext.MaxAncestors)
	return &n
}

// references reads which other nodes are of use. path is where they stand in the request.
func references(f *apierr.Fields, path string, q *agentv1.NodeReferences) nodecontext.Refs {
	path += "refs."
	within(f, path+"ref_ancestors", int(q.GetRefAncestors()), maxRefAncestors)
	within(f, path+"max", int(q.GetMax()), nodecontext.MaxRefs)
	if n := len(q.GetTags()); n > nodecontext.MaxTags {
		f.Add(path+"tags", "has %d items; the limit is %d", n, nodecontext.MaxTags)
	}
	for i, tag := range q.GetTags() {
		if field := fmt.Sprintf("%stags[%d]", path, i); tag == "" {
			f.Add(field, "must not be empty")
		} else {
			f.Size(field, tag, maxTag)
		}
	}
	if n := utf8.RuneCountInString(q.GetQuery()); n > maxQuery {
		f.Add(path+"query", "has %d characters; the limit is %d", n, maxQuery)
	}
	return nodecontext.Refs{
		IDs: nodes(f, path+"ids", q.GetIds(), nodecontext.MaxRefs), Ancestors: int(q.GetRefAncestors()),
		Tags: q.GetTags(), Query: q.GetQuery(), Max: int(q.GetMax()),
	}
}

// nodes reads names of nodes.
func nodes(f *apierr.Fields, field string, names []string, most int) []uuid.UUID {
	if len(names) > most {
		f.Add(field, "has %d items; the limit is %d", len(names), most)
		return nil
	}
	ids := make([]uuid.UUID, len(names))
	for i, name := range names {
		at := fmt.Sprintf("%s[%d]", field, i)
		if ids[i] = id(f, at, wire.Nodes, name); name == "" {
			f.Add(at, "must be a node")
		}
	}
	return ids
}

func within(f *apierr.Fields, field string, n, most int) {
	if n < 0 || n > most {
		f.Add(field, "must be from 0 to %d, is %d", most, n)
	}
}

func fromContext(c nodecontext.Context) *agentv1.BuildNodeContextResponse {
	res := &agentv1.BuildNodeContextResponse{Context: wire.FromContext(c.Built), SearchApproximate: c.Approximate, StoreSeq: c.Seq}
	for _, choice := range c.Choices {
		res.References = append(res.References, &agentv1.ReferenceChoice{
			Node: wire.Name(wire.Nodes, choice.Node), AncestorOf: wire.Name(wire.Nodes, choice.Of),
			Reason:  agentv1.ReferenceReason(agentv1.ReferenceReason_value["REFERENCE_REASON_"+string(choice.Reason)]),
			Outcome: agentv1.ReferenceOutcome(agentv1.ReferenceOutcome_value["REFERENCE_OUTCOME_"+string(choice.Outcome)]),
		})
	}
	return res
}
