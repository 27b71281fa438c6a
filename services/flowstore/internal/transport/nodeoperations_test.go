package transport_test

import (
	"context"
	"strings"
	"testing"

	"google.golang.org/protobuf/types/known/fieldmaskpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	flowstorev1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/flowstore/v1"
)

// nodeOperations calls each operation on a node of a flow, by name of the RPC.
func nodeOperations(c flowstorev1.FlowStoreServiceClient, flow, node string) map[string]func(ctx context.Context, etag, request string) error {
	return map[string]func(ctx context.Context, etag, request string) error{
		"UpdateNode": func(ctx context.Context, etag, request string) error {
			_, err := c.UpdateNode(ctx, &flowstorev1.UpdateNodeRequest{
				Node: &flowstorev1.Node{Name: node, Note: "n", Etag: etag}, UpdateMask: mask("note"), RequestId: request,
			})
			return err
		},
		"SplitNode": func(ctx context.Context, etag, request string) error {
			_, err := c.SplitNode(ctx, &flowstorev1.SplitNodeRequest{Flow: flow, Node: node, TextIndex: new(int32), Offset: new(int32), Etag: etag, RequestId: request})
			return err
		},
		"ListNodeRevisions": func(ctx context.Context, _, _ string) error {
			_, err := c.ListNodeRevisions(ctx, &flowstorev1.ListNodeRevisionsRequest{Name: node})
			return err
		},
		// The last revision that the node has.
		"RestoreNodeRevision": func(ctx context.Context, etag, request string) error {
			list, _ := c.ListNodeRevisions(ctx, &flowstorev1.ListNodeRevisionsRequest{Name: node})
			revision := "1"
			if n := len(list.GetRevisions()); n > 1 {
				revision = list.GetRevisions()[1].GetRevision()
			}
			_, err := c.RestoreNodeRevision(ctx, &flowstorev1.RestoreNodeRevisionRequest{Name: node, Revision: revision, Etag: etag, RequestId: request})
			return err
		},
	}
}

func mask(paths ...string) *fieldmaskpb.FieldMask { return &fieldmaskpb.FieldMask{Paths: paths} }

// node reads a node.
func (g graph) node(t *testing.T, name string) *flowstorev1.Node {
	t.Helper()
	return must[*flowstorev1.Node](t)(g.c.GetNode(t.Context(), &flowstorev1.GetNodeRequest{Name: name}))
}

// Everything that the mask can name changes, and is answered as it is read.
func TestUpdateNode(t *testing.T) {
	t.Parallel()
	g := newGraph(t)
	want := whole()
	want.Name, want.Etag, want.Summary = g.a, g.node(t, g.a).GetEtag(), &flowstorev1.NodeSummary{Text: strings.Repeat("夜", 201)}
	got := must[*flowstorev1.Node](t)(g.c.UpdateNode(t.Context(), &flowstorev1.UpdateNodeRequest{
		Node: want, UpdateMask: mask("texts", "model", "tags", "generation", "summary", "score", "note"), RequestId: id(2000),
	}))
	if got.GetEtag() == want.GetEtag() || got.GetSummary().GetSource() == "" || got.GetSummary().GetBuildTime() == nil {
		t.Errorf("got %v", got)
	}
	want.Etag, want.CreateTime, want.Summary.Source, want.Summary.BuildTime = got.GetEtag(), got.GetCreateTime(), got.GetSummary().GetSource(), got.GetSummary().GetBuildTime()
	same(t, want, got)
	same(t, got, g.node(t, g.a))
	path := must[*flowstorev1.ListPathNodesResponse](t)(g.c.ListPathNodes(t.Context(), &flowstorev1.ListPathNodesRequest{Flow: g.flow, Node: g.a, View: basic}))
	short := path.GetNodes()[0].GetNode().GetSummary()
	same(t, &flowstorev1.NodeSummary{Text: strings.Repeat("夜", 200), CharacterCount: 201, BuildTime: got.GetSummary().GetBuildTime()}, short)
	// What is named and not set is taken away; what is not named stays.
	got = must[*flowstorev1.Node](t)(g.c.UpdateNode(t.Context(), &flowstorev1.UpdateNodeRequest{
		Node: &flowstorev1.Node{Name: g.a, Etag: got.GetEtag(), Texts: said("x").Texts}, UpdateMask: mask("model", "tags", "generation", "summary", "score", "note"),
	}))
	want = &flowstorev1.Node{
		Name: g.a, CreateTime: want.GetCreateTime(), Texts: want.GetTexts(), Etag: got.GetEtag(),
		Summary: &flowstorev1.NodeSummary{Stale: true, Source: got.GetSummary().GetSource()},
	}
	same(t, want, got)
	same(t, got, g.node(t, g.a))
}

// A summary is fresh if it was made from the texts that are there: by source, by etag, or since both are given.
func TestUpdateNodeSummary(t *testing.T) {
	t.Parallel()
	g := newGraph(t)
	read := g.node(t, g.a)
	for _, tt := range []struct {
		source, etag string
		texts        bool
		stale        bool
	}{
		{source: read.GetSummary().GetSource()}, {source: "x", stale: true}, {etag: "now"}, {source: "x", etag: "now", stale: true},
		{texts: true}, {texts: true, source: "x", stale: true}, {texts: true, etag: "now"},
	} {
		n := &flowstorev1.Node{Name: g.a, Etag: tt.etag, Summary: &flowstorev1.NodeSummary{Text: "s", Source: tt.source, BuildTime: timestamppb.New(now)}}
		if tt.etag != "" {
			n.Etag = g.node(t, g.a).GetEtag()
		}
		paths := []string{"summary"}
		if n.Texts = read.GetTexts(); tt.texts {
			n.Texts, paths = said("other").GetTexts(), append(paths, "texts")
		}
		got := must[*flowstorev1.Node](t)(g.c.UpdateNode(t.Context(), &flowstorev1.UpdateNodeRequest{Node: n, UpdateMask: mask(paths...)})).GetSummary()
		if got.GetStale() != tt.stale || got.GetText() != "s" || !got.GetBuildTime().AsTime().After(now) {
			t.Errorf("%+v: %v", tt, got)
		}
	}
}

func TestFieldsOfRefusedUpdatesOfNodes(t *testing.T) {
	t.Parallel()
	g := newGraph(t)
	gone := "nodes/" + id(404)
	for title, tt := range map[string]struct {
		node    *flowstorev1.Node
		mask    []string
		request string
		want    string
		fields  []string
	}{
		"empty":       {nil, nil, "", invalid, []string{"node.name", "update_mask"}},
		"unknown":     {&flowstorev1.Node{Name: "x"}, []string{"note", "create_time"}, "x", invalid, []string{"node.name", "request_id", "update_mask"}},
		"no texts":    {&flowstorev1.Node{Name: g.a}, []string{"texts"}, "", invalid, []string{"node.texts"}},
		"no source":   {&flowstorev1.Node{Name: g.a, Summary: &flowstorev1.NodeSummary{Text: "s"}}, []string{"summary"}, "", invalid, []string{"node.summary.source"}},
		"missing":     {&flowstorev1.Node{Name: gone}, []string{"note"}, "", noNode, []string{"node.name"}},
		"unreadable":  {&flowstorev1.Node{Name: g.broken}, []string{"note"}, "", unreadable, []string{"node.name"}},
		"stale":       {&flowstorev1.Node{Name: g.a, Etag: "x"}, []string{"note"}, "", stale, []string{"node.etag"}},
		"reused":      {&flowstorev1.Node{Name: g.a}, []string{"note"}, id(1000), reused, []string{"request_id"}},
		"only masked": {&flowstorev1.Node{Name: g.a, Tags: []string{"a,b"}, Note: strings.Repeat("x", 64<<10+1)}, []string{"tags"}, "", invalid, []string{"node.etag", "node.tags[0]"}},
		"no etag":     {&flowstorev1.Node{Name: g.a, Tags: []string{"a"}}, []string{"tags"}, "", invalid, []string{"node.etag"}},
		"all at once": {
			&flowstorev1.Node{
				Name: g.a, Texts: []*flowstorev1.Text{{}, {Role: "narrator"}}, Model: strings.Repeat("x", 1025), Tags: []string{""}, Generation: &flowstorev1.Generation{AnswerTokens: -1},
				Summary: &flowstorev1.NodeSummary{Text: strings.Repeat("x", 64<<10+1)}, Score: new(1e9), Note: strings.Repeat("x", 64<<10+1),
			}, []string{"texts", "model", "tags", "generation", "summary", "score", "note"}, "", invalid,
			[]string{"node.etag", "node.generation.answer_tokens", "node.model", "node.note", "node.score", "node.summary.text", "node.tags[0]", "node.texts[0].role", "node.texts[1].role"},
		},
	} {
		t.Run(title, func(t *testing.T) {
			t.Parallel()
			_, err := g.c.UpdateNode(t.Context(), &flowstorev1.UpdateNodeRequest{Node: tt.node, UpdateMask: mask(tt.mask...), RequestId: tt.request})
			expectSorted(t, err, tt.want, tt.fields...)
		})
	}
	_, err := g.c.UpdateNode(t.Context(), &flowstorev1.UpdateNodeRequest{Node: &flowstorev1.Node{Name: g.a}, UpdateMask: mask("texts.x", "note", "*")})
	if got := err.Error(); !strings.Contains(got, `names "texts.x", "*"; it can name texts, model,`) {
		t.Errorf("not all that the mask may not name is told: %s", got)
	}
}

func TestSplitNode(t *testing.T) {
	t.Parallel()
	g := newGraph(t)
	in := &flowstorev1.SplitNodeRequest{Flow: g.flow, Node: g.b, TextIndex: new(int32), Offset: new(int32), NodeId: id(3000), Etag: g.node(t, g.b).GetEtag(), SetCurrent: true}
	got := must[*flowstorev1.AddNodeResponse](t)(g.c.SplitNode(t.Context(), in))
	same(t, &flowstorev1.AddNodeResponse{Node: g.node(t, "nodes/"+id(3000)), Index: 4, Parents: []string{g.a}}, got)
	if now := g.read(t); now.GetCurrent() != "nodes/"+id(3000) {
		t.Errorf("the current node is %s", now.GetCurrent())
	}
	one, two := int32(1), int32(2)
	for title, tt := range map[string]struct {
		req    *flowstorev1.SplitNodeRequest
		want   string
		fields []string
	}{
		"empty":      {&flowstorev1.SplitNodeRequest{}, invalid, []string{"flow", "node", "offset", "text_index"}},
		"wrong":      {&flowstorev1.SplitNodeRequest{Flow: "x", Node: "x", TextIndex: new(int32(-1)), Offset: new(int32(-1)), NodeId: "x", RequestId: "x"}, invalid, []string{"flow", "node", "node_id", "offset", "request_id", "text_index"}},
		"no text":    {&flowstorev1.SplitNodeRequest{Flow: g.flow, Node: g.b, TextIndex: &one, Offset: new(int32)}, invalid, []string{"text_index"}},
		"behind":     {&flowstorev1.SplitNodeRequest{Flow: g.flow, Node: g.b, TextIndex: new(int32), Offset: &two}, invalid, []string{"offset"}},
		"all of it":  {&flowstorev1.SplitNodeRequest{Flow: g.flow, Node: g.b, TextIndex: new(int32), Offset: &one}, invalid, []string{"offset"}},
		"outside":    {&flowstorev1.SplitNodeRequest{Flow: g.flow, Node: g.nobody, TextIndex: new(int32), Offset: new(int32), Etag: "x", NodeId: id(101)}, outside, []string{"etag", "node", "node_id"}},
		"nowhere":    {&flowstorev1.SplitNodeRequest{Flow: "flows/" + id(404), Node: "nodes/" + id(404), TextIndex: new(int32), Offset: new(int32)}, noFlow, []string{"flow", "node"}},
		"unreadable": {&flowstorev1.SplitNodeRequest{Flow: g.flow, Node: g.broken, TextIndex: new(int32), Offset: new(int32)}, unreadable, []string{"node"}},
	} {
		t.Log(title)
		_, err := g.c.SplitNode(t.Context(), tt.req)
		expectSorted(t, err, tt.want, tt.fields...)
	}
}
