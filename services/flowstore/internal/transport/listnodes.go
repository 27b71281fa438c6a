package transport

import (
	"context"
	"fmt"
	"slices"
	"strings"

	flowstorev1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/flowstore/v1"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/library"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/node"
	"github.com/tsumugi-dev/tsumugi/services/internal/namespace"
	"github.com/tsumugi-dev/tsumugi/services/internal/pagetoken"
)

// ListNodes lists nodes by creation.
func (s *Server) ListNodes(ctx context.Context, req *flowstorev1.ListNodesRequest) (*flowstorev1.ListNodesResponse, error) {
	f := begin(req)
	full := f.full(req.GetView(), false)
	filter := f.nodeFilter(req)
	q, query, err := f.list(fmt.Sprintf("ListNodes full=%t", full), filter, req)
	if err != nil {
		return nil, err
	}
	page, err := s.library.Nodes(ctx, namespace.From(ctx), q, filter, full)
	if err != nil {
		return nil, f.fault(err)
	}
	out := &flowstorev1.ListNodesResponse{NextPageToken: pagetoken.Encode(query, entryKey(page.Next))}
	for _, item := range page.Items {
		n := &flowstorev1.Node{Name: node.Name(item.ID)}
		if item.Problem == "" {
			n = fromBrief(item.Item)
		}
		n.DeleteTime = fromTime(item.Deleted)
		out.Nodes = append(out.Nodes, &flowstorev1.NodeItem{Node: n, Problem: item.Problem, ProblemPath: item.File})
	}
	return out, nil
}

// full reads a view.
func (f *fields) full(view flowstorev1.NodeView, unspecified bool) bool {
	switch view {
	case flowstorev1.NodeView_NODE_VIEW_UNSPECIFIED:
		return unspecified
	case flowstorev1.NodeView_NODE_VIEW_BASIC:
		return false
	case flowstorev1.NodeView_NODE_VIEW_FULL:
		return true
	}
	f.Add("view", "is %d; it must be NODE_VIEW_BASIC, NODE_VIEW_FULL, or NODE_VIEW_UNSPECIFIED for the default", view)
	return false
}

func (f *fields) nodeFilter(req *flowstorev1.ListNodesRequest) library.NodeFilter {
	role := req.GetRole()
	if role != "" && !slices.Contains(node.Roles, role) {
		f.Add("role", "is %.40q; a role is one of %s", role, strings.Join(node.Roles, ", "))
	}
	return library.NodeFilter{
		Flow: f.name("flow", req.GetFlow(), aFlow), Role: role, ModelContains: f.contains("model_contains", req.GetModelContains()),
		AllTags: f.tags("all_tags", req.GetAllTags()), AnyTags: f.tags("any_tags", req.GetAnyTags()),
	}
}

// tags reads tags that nodes may have.
func (f *fields) tags(field string, tags []string) []string {
	if len(tags) > node.MaxTags {
		f.Add(field, "has %d items; the limit is %d", len(tags), node.MaxTags)
		return nil
	}
	for i, tag := range tags {
		item := fmt.Sprintf("%s[%d]", field, i)
		switch {
		case strings.TrimSpace(tag) == "":
			f.Add(item, "is empty")
		case len(tag) > node.MaxTag:
			f.Add(item, "has %d bytes; a tag has %d at most", len(tag), node.MaxTag)
		case strings.ContainsAny(tag, node.Commas):
			f.Add(item, "holds a comma, which no tag does; give each tag an item of its own")
		}
	}
	return tags
}
