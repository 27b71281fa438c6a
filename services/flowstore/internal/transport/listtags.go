package transport

import (
	"context"

	flowstorev1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/flowstore/v1"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/node"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/search"
	"github.com/tsumugi-dev/tsumugi/services/internal/namespace"
	"github.com/tsumugi-dev/tsumugi/services/internal/pagetoken"
)

const defaultTags = 100

// ListTags lists tags with their counts.
func (s *Server) ListTags(ctx context.Context, req *flowstorev1.ListTagsRequest) (*flowstorev1.ListTagsResponse, error) {
	f := begin(req)
	size := f.sizeOf(req.GetPageSize(), defaultTags, search.MaxTagPage)
	if len(req.GetPrefix()) > node.MaxTag {
		f.Add("prefix", "has %d bytes; a tag has %d at most", len(req.GetPrefix()), node.MaxTag)
	}
	if err := f.Err(); err != nil {
		return nil, err
	}
	query := "ListTags " + req.GetPrefix()
	after, err := pagetoken.Decode(req.GetPageToken(), query)
	if err != nil {
		return nil, f.fault(err)
	}
	page, err := s.library.Tags(ctx, namespace.From(ctx), req.GetPrefix(), after, size)
	if err != nil {
		return nil, f.fault(err)
	}
	out := &flowstorev1.ListTagsResponse{NextPageToken: pagetoken.Encode(query, page.Next), Approximate: page.Approximate}
	for _, t := range page.Tags {
		out.Tags = append(out.Tags, &flowstorev1.TagCount{Tag: t.Name, NodeCount: number(t.Nodes)})
	}
	return out, nil
}
