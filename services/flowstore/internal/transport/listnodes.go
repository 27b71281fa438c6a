package transport

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"

	flowstorev1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/flowstore/v1"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/library"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/node"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store"
	"github.com/tsumugi-dev/tsumugi/services/internal/namespace"
	"github.com/tsumugi-dev/tsumugi/services/internal/pagetoken"
)

// ListNodes lists all nodes, newest first.
func (s *Server) ListNodes(ctx context.Context, req *flowstorev1.ListNodesRequest) (*flowstorev1.ListNodesResponse, error) {
	f := begin(req)
	full := f.full(req.GetView(), false)
	query := fmt.Sprintf("ListNodes full=%t", full)
	q, err := f.list(req.GetPageSize(), req.GetPageToken(), query)
	if err != nil {
		return nil, err
	}
	page, err := s.library.Nodes(ctx, namespace.From(ctx), q, full)
	if err != nil {
		return nil, f.fault(err)
	}
	out := &flowstorev1.ListNodesResponse{NextPageToken: pagetoken.Encode(query, entryKey(page.Next))}
	for _, item := range page.Items {
		n := &flowstorev1.Node{Name: node.Name(item.ID)}
		if item.Problem == "" {
			n = fromBrief(item.Item)
		}
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

// list reads which page of a list is wanted.
func (f *fields) list(size int32, token, query string) (library.ListQuery, error) {
	q := library.ListQuery{MaxItems: f.pageSize(size), MaxBytes: maxPageBytes}
	if err := f.Err(); err != nil {
		return q, err
	}
	key, err := pagetoken.Decode(token, query)
	if err == nil {
		q.After, err = toEntry(key)
	}
	if err != nil {
		return q, f.fault(err)
	}
	return q, nil
}

func entryKey(e store.Entry) string {
	if e == (store.Entry{}) {
		return ""
	}
	return fmt.Sprintf("%d %s", e.Created.UnixMicro(), e.ID)
}

func toEntry(key string) (e store.Entry, err error) {
	if key == "" {
		return e, nil
	}
	var micros int64
	var id string
	if _, err := fmt.Sscanf(key, "%d %s", &micros, &id); err != nil {
		return e, pagetoken.ErrMalformed
	}
	if e.ID, err = uuid.Parse(id); err != nil {
		return e, pagetoken.ErrMalformed
	}
	e.Created = time.UnixMicro(micros)
	return e, nil
}
