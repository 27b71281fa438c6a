package transport

import (
	"context"
	"fmt"

	flowstorev1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/flowstore/v1"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/flow"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/library"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/node"
	"github.com/tsumugi-dev/tsumugi/services/internal/namespace"
	"github.com/tsumugi-dev/tsumugi/services/internal/pagetoken"
)

// Sizes of a page.
const (
	defaultPageNodes = 100
	maxPageNodes     = 1000
	maxPageBytes     = 4 << 20
)

// ListPathNodes lists a node and everything before it, roots first.
func (s *Server) ListPathNodes(ctx context.Context, req *flowstorev1.ListPathNodesRequest) (*flowstorev1.ListPathNodesResponse, error) {
	f := begin(req)
	q := library.PathQuery{
		Flow:     f.name("flow", req.GetFlow(), aFlow),
		Node:     f.name("node", req.GetNode(), aNode),
		MaxNodes: f.pageSize(req.GetPageSize()),
		MaxBytes: maxPageBytes,
		Brief:    !f.full(req.GetView(), true),
		Totals:   req.GetTotals(),
	}
	if err := f.Err(); err != nil {
		return nil, err
	}
	query := "ListPathNodes " + q.Flow.String() + " " + q.Node.String() + viewKey(q.Brief)
	var err error
	if q.After, err = placeAfter(req.GetPageToken(), query); err != nil {
		return nil, f.fault(err)
	}
	page, err := s.library.Path(ctx, namespace.From(ctx), q)
	if err != nil {
		return nil, f.fault(err)
	}
	return &flowstorev1.ListPathNodesResponse{
		Nodes: fromPath(page.Nodes), NextPageToken: pagetoken.Encode(query, toKey(page.Next)), Totals: fromTotals(page.Totals),
	}, nil
}

// pageSize reads how many nodes are wanted.
func (f *fields) pageSize(n int32) int {
	switch {
	case n < 0:
		f.Add("page_size", "is %d; it must be 0, for %d, or more", n, defaultPageNodes)
	case n == 0:
		return defaultPageNodes
	}
	return min(int(n), maxPageNodes)
}

// viewKey keeps the tokens of whole nodes as they were before there were views.
func viewKey(brief bool) string {
	if brief {
		return " brief"
	}
	return ""
}

// placeAfter reads the token of a page of a path or history.
func placeAfter(token, query string) (library.Place, error) {
	key, err := pagetoken.Decode(token, query)
	if err != nil {
		return library.Place{}, err
	}
	return toPlace(key)
}

const placeKey = "%d %d"

func toPlace(key string) (p library.Place, err error) {
	if key == "" {
		return p, nil
	}
	if _, err := fmt.Sscanf(key, placeKey, &p.End, &p.Last); err != nil {
		return p, pagetoken.ErrMalformed
	}
	return p, nil
}

func toKey(p library.Place) string {
	if p == (library.Place{}) {
		return ""
	}
	return fmt.Sprintf(placeKey, p.End, p.Last)
}

func fromTotals(t *node.Totals) *flowstorev1.PathTotals {
	if t == nil {
		return nil
	}
	return &flowstorev1.PathTotals{
		Nodes: number(t.Nodes), UnreadableNodes: number(t.Unreadable), Texts: number(t.Texts), Characters: number(t.Characters),
		Tokens: number(t.Tokens), UncountedTexts: number(t.Uncounted), Seconds: t.Seconds, Models: t.Models, ModelCount: number(t.ModelCount),
	}
}

func fromPath(path []library.PathNode) []*flowstorev1.PathNode {
	out := make([]*flowstorev1.PathNode, len(path))
	for i, p := range path {
		n := &flowstorev1.Node{Name: node.Name(p.ID)}
		if p.Problem == "" {
			n = fromBrief(p.Brief)
		}
		out[i] = &flowstorev1.PathNode{Node: n, Index: number(p.Index), Parents: nodeNames(p.Parents), Problem: p.Problem, ProblemPath: p.File}
		for _, l := range p.Links {
			out[i].Links = append(out[i].Links, &flowstorev1.FlowLink{Flow: flow.Name(l.Flow), Node: n.GetName(), Index: number(p.Index), Problem: l.Problem})
		}
	}
	return out
}
