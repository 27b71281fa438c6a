package transport

import (
	"context"

	flowstorev1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/flowstore/v1"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/library"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/node"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/search"
	"github.com/tsumugi-dev/tsumugi/services/internal/namespace"
	"github.com/tsumugi-dev/tsumugi/services/internal/pagetoken"
)

// SearchNodes finds nodes by their texts.
func (s *Server) SearchNodes(ctx context.Context, req *flowstorev1.SearchNodesRequest) (*flowstorev1.SearchNodesResponse, error) {
	f := begin(req)
	page := search.Page{Size: f.sizeOf(req.GetPageSize(), search.DefaultPage, search.MaxPage)}
	q, err := f.query(req.GetQuery())
	if err != nil {
		return nil, err
	}
	query := "SearchNodes " + req.GetQuery()
	if page.After, err = pagetoken.Decode(req.GetPageToken(), query); err != nil {
		return nil, f.fault(err)
	}
	found, err := s.library.Search(ctx, namespace.From(ctx), q, page)
	if err != nil {
		return nil, f.fault(err)
	}
	out := &flowstorev1.SearchNodesResponse{
		NextPageToken: pagetoken.Encode(query, found.Next), TotalSize: number(found.Total), Approximate: found.Approximate,
	}
	for _, item := range found.Items {
		out.Hits = append(out.Hits, fromFound(item))
	}
	return out, nil
}

// query reads a query. The error is that of all fields.
func (f *fields) query(text string) (*search.Query, error) {
	if text == "" {
		return nil, f.Err() // it is missing
	}
	q, err := search.Parse(text)
	if others := f.Err(); others != nil && err != nil {
		f.Add("query", "%s", err)
	} else if err != nil {
		return nil, f.fault(err)
	}
	return q, f.Err()
}

// sizeOf reads the size of a page.
func (f *fields) sizeOf(n int32, usual, most int) int {
	switch {
	case n < 0:
		f.Add("page_size", "is %d; it must be 0, for %d, or more", n, usual)
	case n == 0:
		return usual
	}
	return min(int(n), most)
}

func fromFound(item library.Found) *flowstorev1.SearchHit {
	hit := &flowstorev1.SearchHit{Node: &flowstorev1.Node{Name: node.Name(item.ID)}, MoreHighlights: item.More}
	if item.Problem == "" {
		hit.Node = fromBrief(item.Item)
	}
	for _, h := range item.Highlights {
		hit.Highlights = append(hit.Highlights, &flowstorev1.Highlight{
			TextIndex: number(h.Text), Offset: number(h.Offset), Length: number(h.Length), Snippet: h.Snippet, SnippetOffset: number(h.SnippetOffset),
		})
	}
	return hit
}
