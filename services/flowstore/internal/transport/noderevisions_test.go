package transport_test

import (
	"strings"
	"testing"

	flowstorev1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/flowstore/v1"
)

// What a node was is listed page by page behind what it is, and comes back by its number.
func TestNodeRevisions(t *testing.T) {
	t.Parallel()
	g := newGraph(t)
	first := g.node(t, g.a)
	for _, note := range []string{"1", "2"} {
		must[*flowstorev1.Node](t)(g.c.UpdateNode(t.Context(), &flowstorev1.UpdateNodeRequest{Node: &flowstorev1.Node{Name: g.a, Note: note}, UpdateMask: mask("note")}))
	}
	var all []*flowstorev1.NodeRevision
	req := &flowstorev1.ListNodeRevisionsRequest{Name: g.a, PageSize: 1, View: full}
	for page := 0; page == 0 || req.PageToken != ""; page++ {
		got := must[*flowstorev1.ListNodeRevisionsResponse](t)(g.c.ListNodeRevisions(t.Context(), req))
		all, req.PageToken = append(all, got.GetRevisions()...), got.GetNextPageToken()
	}
	if len(all) != 3 || all[0].GetRevision() != "" || all[0].GetReplaceTime() != nil || all[1].GetNode().GetNote() != "1" || all[1].GetReplaceTime() == nil {
		t.Fatalf("revisions are %v", all)
	}
	same(t, g.node(t, g.a), all[0].GetNode())
	same(t, first, all[2].GetNode())
	short := must[*flowstorev1.ListNodeRevisionsResponse](t)(g.c.ListNodeRevisions(t.Context(), &flowstorev1.ListNodeRevisionsRequest{Name: g.a}))
	if n := short.GetRevisions()[1].GetNode(); n.GetNote() != "" || n.GetTexts()[0].GetCharacterCount() != 1 || n.GetEtag() != all[1].GetNode().GetEtag() {
		t.Errorf("in short: %v", n)
	}
	got := must[*flowstorev1.Node](t)(g.c.RestoreNodeRevision(t.Context(), &flowstorev1.RestoreNodeRevisionRequest{Name: g.a, Revision: all[2].GetRevision(), Etag: all[0].GetNode().GetEtag()}))
	same(t, first, got)
	same(t, first, g.node(t, g.a))
}

func TestFieldsOfRefusedRevisions(t *testing.T) {
	t.Parallel()
	g := newGraph(t)
	gone := "nodes/" + id(404)
	for title, tt := range map[string]struct {
		req    *flowstorev1.ListNodeRevisionsRequest
		want   string
		fields []string
	}{
		"empty":   {&flowstorev1.ListNodeRevisionsRequest{}, invalid, []string{"name"}},
		"wrong":   {&flowstorev1.ListNodeRevisionsRequest{Name: "x", PageSize: -1, View: 9}, invalid, []string{"name", "page_size", "view"}},
		"token":   {&flowstorev1.ListNodeRevisionsRequest{Name: g.a, PageToken: "x"}, "InvalidArgument INVALID_PAGE_TOKEN", []string{"page_token"}},
		"missing": {&flowstorev1.ListNodeRevisionsRequest{Name: gone}, noNode, []string{"name"}},
	} {
		t.Log(title)
		_, err := g.c.ListNodeRevisions(t.Context(), tt.req)
		expectSorted(t, err, tt.want, tt.fields...)
	}
	const noRevision = "NotFound REVISION_NOT_FOUND"
	for title, tt := range map[string]struct {
		req    *flowstorev1.RestoreNodeRevisionRequest
		want   string
		fields []string
	}{
		"empty":      {&flowstorev1.RestoreNodeRevisionRequest{}, invalid, []string{"name", "revision"}},
		"wrong":      {&flowstorev1.RestoreNodeRevisionRequest{Name: "x", Revision: strings.Repeat("x", 1025), RequestId: "x"}, invalid, []string{"name", "request_id", "revision"}},
		"none":       {&flowstorev1.RestoreNodeRevisionRequest{Name: g.a, Revision: "77", Etag: "x"}, noRevision, []string{"etag", "revision"}},
		"a file":     {&flowstorev1.RestoreNodeRevisionRequest{Name: g.a, Revision: "nodes/000/001.xml"}, noRevision, []string{"revision"}},
		"missing":    {&flowstorev1.RestoreNodeRevisionRequest{Name: gone, Revision: "1"}, noNode, []string{"name"}},
		"unreadable": {&flowstorev1.RestoreNodeRevisionRequest{Name: g.broken, Revision: "1"}, unreadable, []string{"name"}},
		"reused":     {&flowstorev1.RestoreNodeRevisionRequest{Name: g.a, Revision: "1", RequestId: id(1000)}, reused, []string{"request_id"}},
	} {
		t.Log(title)
		_, err := g.c.RestoreNodeRevision(t.Context(), tt.req)
		expectSorted(t, err, tt.want, tt.fields...)
	}
}
