package transport

import (
	"context"
	"fmt"
	"strconv"
	"time"

	flowstorev1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/flowstore/v1"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/library"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/node"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store"
	"github.com/tsumugi-dev/tsumugi/services/internal/namespace"
	"github.com/tsumugi-dev/tsumugi/services/internal/pagetoken"
)

// ListNodeRevisions lists what a node is and was.
func (s *Server) ListNodeRevisions(ctx context.Context, req *flowstorev1.ListNodeRevisionsRequest) (*flowstorev1.ListNodeRevisionsResponse, error) {
	f := begin(req)
	q := library.RevisionsQuery{
		Node: f.name("name", req.GetName(), aNode), Brief: !f.full(req.GetView(), false), MaxItems: f.pageSize(req.GetPageSize()), MaxBytes: maxPageBytes,
	}
	if err := f.Err(); err != nil {
		return nil, err
	}
	query := fmt.Sprintf("ListNodeRevisions %s brief=%t", q.Node, q.Brief)
	key, err := pagetoken.Decode(req.GetPageToken(), query)
	if err == nil {
		q.After, err = toRevisionPlace(key)
	}
	if err != nil {
		return nil, f.fault(err)
	}
	page, err := s.library.Revisions(ctx, namespace.From(ctx), q)
	if err != nil {
		return nil, f.fault(err)
	}
	out := &flowstorev1.ListNodeRevisionsResponse{NextPageToken: pagetoken.Encode(query, revisionKey(page.Next))}
	for _, item := range page.Items {
		n := &flowstorev1.Node{Name: node.Name(item.ID)}
		if item.Problem == "" {
			n = fromBrief(item.Item)
		}
		r := &flowstorev1.NodeRevision{Revision: revisionName(item.Revision), Node: n, Problem: item.Problem}
		if item.Number != 0 {
			r.ReplaceTime = fromTime(item.At)
		}
		out.Revisions = append(out.Revisions, r)
	}
	return out, nil
}

// RestoreNodeRevision makes a node again what it was.
func (s *Server) RestoreNodeRevision(ctx context.Context, req *flowstorev1.RestoreNodeRevisionRequest) (*flowstorev1.Node, error) {
	f := begin(req)
	in := library.Restoring{
		Node: f.name("name", req.GetName(), aNode), Etag: req.GetEtag(), Request: f.uuid("request_id", req.GetRequestId(), request),
	}
	if number, err := strconv.ParseInt(req.GetRevision(), 10, 64); err == nil {
		in.Number = number
	} else {
		in.Path = req.GetRevision()
	}
	f.Size("revision", req.GetRevision(), node.MaxLabel)
	if err := f.Err(); err != nil {
		return nil, err
	}
	n, err := s.library.RestoreRevision(ctx, namespace.From(ctx), in)
	if err != nil {
		return nil, f.fault(err)
	}
	return fromNode(n), nil
}

// revisionName is what the contract calls a revision.
func revisionName(r store.Revision) string {
	if r.Number != 0 {
		return strconv.FormatInt(r.Number, 10)
	}
	return r.Path
}

func revisionKey(p library.RevisionPlace) string {
	switch {
	case !p.Began:
		return ""
	case p.Revision == store.Revision{}:
		return "now"
	}
	return fmt.Sprintf("%d %d %s", p.Revision.Number, p.Revision.At.UnixMicro(), p.Revision.Path)
}

func toRevisionPlace(key string) (p library.RevisionPlace, err error) {
	p.Began = key != ""
	if key == "" || key == "now" {
		return p, nil
	}
	var micros int64
	if _, err := fmt.Sscan(key, &p.Revision.Number, &micros, &p.Revision.Path); err != nil && p.Revision.Number == 0 {
		return p, pagetoken.ErrMalformed
	}
	p.Revision.At = time.UnixMicro(micros)
	return p, nil
}
