package transport_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	flowstorev1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/flowstore/v1"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/flow"
)

const (
	basic = flowstorev1.NodeView_NODE_VIEW_BASIC
	full  = flowstorev1.NodeView_NODE_VIEW_FULL
)

func TestNodeViews(t *testing.T) {
	t.Parallel()
	c := serve(t)
	in := whole()
	in.Texts[2].Content = strings.Repeat("長", 201)
	want := must[*flowstorev1.Node](t)(c.CreateNode(t.Context(), &flowstorev1.CreateNodeRequest{Node: in}))
	get := func(view flowstorev1.NodeView) *flowstorev1.Node {
		return must[*flowstorev1.Node](t)(c.GetNode(t.Context(), &flowstorev1.GetNodeRequest{Name: want.GetName(), View: view}))
	}
	listed := func(view flowstorev1.NodeView) *flowstorev1.Node {
		return must[*flowstorev1.ListNodesResponse](t)(c.ListNodes(t.Context(), &flowstorev1.ListNodesRequest{View: view})).GetNodes()[0].GetNode()
	}
	short := proto.CloneOf(want)
	short.Generation, short.Note, short.Summary.Source = nil, "", ""
	short.Texts[2].Content = strings.Repeat("長", 200)
	for i, n := range []int32{1, 0, 201, 1} {
		short.Texts[i].CharacterCount = n
	}
	same(t, want, get(0))
	same(t, want, get(full))
	same(t, short, get(basic))
	same(t, short, listed(0))
	same(t, short, listed(basic))
	same(t, want, listed(full))
}

func TestPartsOfATextAreAskedFor(t *testing.T) {
	t.Parallel()
	c := serve(t)
	in := whole()
	in.Texts[2].Content = "夜🧵が明けた"
	want := must[*flowstorev1.Node](t)(c.CreateNode(t.Context(), &flowstorev1.CreateNodeRequest{Node: in}))
	name := want.GetName()
	want.Generation, want.Summary.Source = nil, ""
	for i, n := range []int32{1, 0, 6, 1} {
		want.Texts[i].Content, want.Texts[i].CharacterCount = "", n
	}
	want.Texts[2].Content, want.Texts[2].Offset = "🧵が", 1
	same(t, want, must[*flowstorev1.Node](t)(c.GetNode(t.Context(), &flowstorev1.GetNodeRequest{Name: name, TextIndex: proto.Int32(2), Offset: 1, Length: 2})))
	want.Texts[2].Content, want.Texts[2].Offset = "", 0
	want.Texts[0].Content = "s"
	same(t, want, must[*flowstorev1.Node](t)(c.GetNode(t.Context(), &flowstorev1.GetNodeRequest{Name: name, TextIndex: proto.Int32(0)})))
	for field, req := range map[string]*flowstorev1.GetNodeRequest{
		"text_index": {Name: name, TextIndex: proto.Int32(4)}, "offset": {Name: name, TextIndex: proto.Int32(2), Offset: 7},
	} {
		_, err := c.GetNode(t.Context(), req)
		expect(t, err, "InvalidArgument INVALID_FIELD", field)
	}
	_, err := c.GetNode(t.Context(), &flowstorev1.GetNodeRequest{Name: "nodes/" + id(404), TextIndex: proto.Int32(0)})
	expect(t, err, "NotFound NODE_NOT_FOUND", "name")
}

func TestListsOfNodesAndFlows(t *testing.T) {
	t.Parallel()
	c := serve(t)
	f := must[*flowstorev1.Flow](t)(c.CreateFlow(t.Context(), &flowstorev1.CreateFlowRequest{Flow: &flowstorev1.Flow{DisplayName: "first", Description: "d"}}))
	var parents []string
	for _, content := range []string{"a", "b", "c"} {
		n := must[*flowstorev1.AddNodeResponse](t)(c.AddNode(t.Context(), &flowstorev1.AddNodeRequest{
			Flow: f.GetName(), Source: &flowstorev1.AddNodeRequest_NewNode{NewNode: said(content)}, Parents: parents, SetCurrent: true,
		}))
		parents = []string{n.GetNode().GetName()}
	}
	must[*flowstorev1.Flow](t)(c.CreateFlow(t.Context(), &flowstorev1.CreateFlowRequest{Flow: &flowstorev1.Flow{DisplayName: "second"}}))
	req := &flowstorev1.ListNodesRequest{PageSize: 2}
	first := must[*flowstorev1.ListNodesResponse](t)(c.ListNodes(t.Context(), req))
	rest := must[*flowstorev1.ListNodesResponse](t)(c.ListNodes(t.Context(), &flowstorev1.ListNodesRequest{PageSize: 9, PageToken: first.GetNextPageToken()}))
	var got []string
	for _, item := range append(first.GetNodes(), rest.GetNodes()...) {
		got = append(got, item.GetNode().GetTexts()[0].GetContent())
	}
	if diff := cmp.Diff([]string{"c", "b", "a"}, got); diff != "" || len(first.GetNodes()) != 2 || rest.GetNextPageToken() != "" {
		t.Errorf("%s\n%v\n%v", diff, first, rest)
	}
	flows := must[*flowstorev1.ListFlowsResponse](t)(c.ListFlows(t.Context(), &flowstorev1.ListFlowsRequest{PageSize: 1}))
	if len(flows.GetFlows()) != 1 || flows.GetFlows()[0].GetFlow().GetDisplayName() != "second" {
		t.Errorf("the newest flow: %v", flows)
	}
	older := must[*flowstorev1.ListFlowsResponse](t)(c.ListFlows(t.Context(), &flowstorev1.ListFlowsRequest{PageToken: flows.GetNextPageToken()}))
	whole := must[*flowstorev1.Flow](t)(c.GetFlow(t.Context(), &flowstorev1.GetFlowRequest{Name: f.GetName()}))
	same(t, &flowstorev1.ListFlowsResponse{Flows: []*flowstorev1.FlowItem{{NodeCount: 3, EdgeCount: 2, Flow: &flowstorev1.Flow{
		Name: f.GetName(), DisplayName: "first", Description: "d", CreateTime: timestamppb.New(now), UpdateTime: whole.GetUpdateTime(), Current: parents[0], Etag: whole.GetEtag(),
	}}}}, older)
	for _, bad := range []*flowstorev1.ListNodesRequest{
		{PageToken: first.GetNextPageToken(), View: full}, {PageToken: flows.GetNextPageToken()}, {PageToken: "A" + first.GetNextPageToken()},
	} {
		_, err := c.ListNodes(t.Context(), bad)
		expect(t, err, "InvalidArgument INVALID_PAGE_TOKEN", "page_token")
	}
	_, err := c.ListFlows(t.Context(), &flowstorev1.ListFlowsRequest{PageToken: first.GetNextPageToken()})
	expect(t, err, "InvalidArgument INVALID_PAGE_TOKEN", "page_token")
}

// Filters and orders reach the lists, and a page token belongs to them.
func TestFilteredLists(t *testing.T) {
	t.Parallel()
	c := serve(t)
	f := must[*flowstorev1.Flow](t)(c.CreateFlow(t.Context(), &flowstorev1.CreateFlowRequest{Flow: &flowstorev1.Flow{DisplayName: "Novel 夜"}}))
	must[*flowstorev1.Flow](t)(c.CreateFlow(t.Context(), &flowstorev1.CreateFlowRequest{Flow: &flowstorev1.Flow{DisplayName: "other"}}))
	var times []*timestamppb.Timestamp
	for _, n := range []*flowstorev1.Node{
		{Texts: []*flowstorev1.Text{{Role: "user", Content: "a"}}, Model: "gemma", Tags: []string{"x", "y"}},
		{Texts: []*flowstorev1.Text{{Role: "system", Content: "b"}}, Tags: []string{"y"}},
		{Texts: []*flowstorev1.Text{{Role: "user", Content: "c"}}, Tags: []string{"z"}},
	} {
		stored := must[*flowstorev1.Node](t)(c.CreateNode(t.Context(), &flowstorev1.CreateNodeRequest{Node: n}))
		times = append(times, stored.GetCreateTime())
		if n.GetModel() == "" {
			must[*flowstorev1.AddNodeResponse](t)(c.AddNode(t.Context(), &flowstorev1.AddNodeRequest{
				Flow: f.GetName(), Source: &flowstorev1.AddNodeRequest_Node{Node: stored.GetName()},
			}))
		}
	}
	oldest := flowstorev1.ListOrder_LIST_ORDER_OLDEST_FIRST
	for want, req := range map[string]*flowstorev1.ListNodesRequest{
		"abc": {Order: oldest}, "cba": {Order: flowstorev1.ListOrder_LIST_ORDER_NEWEST_FIRST}, "cb": {Flow: f.GetName()}, "ca": {Role: "user"}, "a": {ModelContains: "GEM"},
		"ba": {AllTags: []string{"Y"}}, "ab": {AnyTags: []string{"x", "y"}, Order: oldest}, "c": {CreateTimeFrom: times[2]}, "b": {CreateTimeFrom: times[1], CreateTimeBefore: times[2]},
		"": {AllTags: []string{"x", "z"}},
	} {
		got := ""
		for _, item := range must[*flowstorev1.ListNodesResponse](t)(c.ListNodes(t.Context(), req)).GetNodes() {
			got += item.GetNode().GetTexts()[0].GetContent()
		}
		if got != want {
			t.Errorf("%v: %q, want %q", req, got, want)
		}
	}
	for _, tt := range []struct {
		req  *flowstorev1.ListFlowsRequest
		want string
	}{
		{&flowstorev1.ListFlowsRequest{DisplayNameContains: "novel"}, "Novel 夜 "}, {&flowstorev1.ListFlowsRequest{Order: oldest}, "Novel 夜 other "},
		{&flowstorev1.ListFlowsRequest{UpdateTimeFrom: times[2]}, "Novel 夜 "}, {&flowstorev1.ListFlowsRequest{CreateTimeBefore: f.GetCreateTime()}, ""},
	} {
		got := ""
		for _, item := range must[*flowstorev1.ListFlowsResponse](t)(c.ListFlows(t.Context(), tt.req)).GetFlows() {
			got += item.GetFlow().GetDisplayName() + " "
		}
		if got != tt.want {
			t.Errorf("%v: %q, want %q", tt.req, got, tt.want)
		}
	}
	base := &flowstorev1.ListNodesRequest{PageSize: 1}
	token := must[*flowstorev1.ListNodesResponse](t)(c.ListNodes(t.Context(), base)).GetNextPageToken()
	for _, other := range []*flowstorev1.ListNodesRequest{
		{Order: oldest}, {Flow: f.GetName()}, {Role: "user"}, {ModelContains: "m"}, {AllTags: []string{"t"}}, {AnyTags: []string{"t"}}, {CreateTimeFrom: times[0]}, {CreateTimeBefore: times[0]},
	} {
		other.PageToken = token
		_, err := c.ListNodes(t.Context(), other)
		expect(t, err, "InvalidArgument INVALID_PAGE_TOKEN", "page_token")
	}
	token = must[*flowstorev1.ListFlowsResponse](t)(c.ListFlows(t.Context(), &flowstorev1.ListFlowsRequest{PageSize: 1})).GetNextPageToken()
	for _, other := range []*flowstorev1.ListFlowsRequest{{Order: oldest}, {DisplayNameContains: "o"}, {UpdateTimeFrom: times[0]}} {
		other.PageToken = token
		_, err := c.ListFlows(t.Context(), other)
		expect(t, err, "InvalidArgument INVALID_PAGE_TOKEN", "page_token")
	}
}

// A node that cannot be read stands in its place with the reason.
func TestListNamesWhatCannotBeRead(t *testing.T) {
	t.Parallel()
	g := newGraph(t)
	var problems []*flowstorev1.NodeItem
	for _, item := range must[*flowstorev1.ListNodesResponse](t)(g.c.ListNodes(t.Context(), &flowstorev1.ListNodesRequest{})).GetNodes() {
		if item.GetProblem() != "" {
			problems = append(problems, item)
		}
	}
	if len(problems) != 1 {
		t.Fatalf("%v", problems)
	}
	same(t, &flowstorev1.NodeItem{
		Node: &flowstorev1.Node{Name: g.broken}, Problem: "nodes/000/003.xml cannot be read: holds no element", ProblemPath: "nodes/000/003.xml",
	}, problems[0])
	_, err := g.c.GetNode(t.Context(), &flowstorev1.GetNodeRequest{Name: g.broken, View: basic})
	expect(t, err, unreadable, "name")
}

// WordsSize, by which pages of flows end, does not tell too little.
func TestFlowItemSize(t *testing.T) {
	t.Parallel()
	text := strings.Repeat("x", 1000)
	f := flow.Flow{
		Name: text, Description: text, Problems: []string{text, "y"}, Created: time.Now(), Updated: time.Now(),
		Story: flow.Story{Title: &text, Synopsis: &text, Setting: &text, Plot: &text, Note: &text, DialogueLevel: &text, Rating: &text, Keywords: []string{text, ""}, Genres: []string{text}},
	}
	least := proto.Size(&flowstorev1.Flow{
		Name: "flows/" + id(1), DisplayName: text, Description: text, Warnings: f.Problems, CreateTime: timestamppb.Now(), UpdateTime: timestamppb.Now(), Current: "nodes/" + id(1),
	}) + 7*len(text) + 2*len(text)
	if f.WordsSize() < least || f.WordsSize() > 2*least {
		t.Errorf("%d bytes, and a message has %d and more", f.WordsSize(), least)
	}
}

func TestHistory(t *testing.T) {
	t.Parallel()
	g := newGraph(t)
	req := &flowstorev1.ListHistoryNodesRequest{Flow: g.flow, PageSize: 2, Drawing: true}
	first := must[*flowstorev1.ListHistoryNodesResponse](t)(g.c.ListHistoryNodes(t.Context(), req))
	rest := must[*flowstorev1.ListHistoryNodesResponse](t)(g.c.ListHistoryNodes(t.Context(), &flowstorev1.ListHistoryNodesRequest{Flow: g.flow, PageToken: first.GetNextPageToken()}))
	var got []string
	for _, n := range append(first.GetNodes(), rest.GetNodes()...) {
		got = append(got, n.GetNode().GetName())
	}
	if diff := cmp.Diff([]string{g.a, g.b, g.broken}, got); diff != "" {
		t.Error(diff)
	}
	n := first.GetNodes()[1]
	if n.GetIndex() != 2 || !cmp.Equal(n.GetParents(), []string{g.a}) || n.GetNode().GetTexts()[0].GetCharacterCount() != 1 || rest.GetNodes()[0].GetProblem() == "" || first.GetDrawing() != "1→2→3\n" || rest.GetDrawing() != "" {
		t.Errorf("%v\n%v", first, rest)
	}
	for _, bad := range []*flowstorev1.ListHistoryNodesRequest{
		{Flow: g.flow, PageToken: first.GetNextPageToken(), View: full}, {Flow: g.empty, PageToken: first.GetNextPageToken()},
	} {
		_, err := g.c.ListHistoryNodes(t.Context(), bad)
		expect(t, err, "InvalidArgument INVALID_PAGE_TOKEN", "page_token")
	}
	path := must[*flowstorev1.ListPathNodesResponse](t)(g.c.ListPathNodes(t.Context(), &flowstorev1.ListPathNodesRequest{Flow: g.flow, Node: g.b, View: basic}))
	if n := path.GetNodes()[1].GetNode(); n.GetTexts()[0].GetCharacterCount() != 1 || n.GetGeneration() != nil {
		t.Errorf("a path in the short view: %v", path)
	}
}

// The sums are those of the whole path, on each of its pages.
func TestPathTotals(t *testing.T) {
	t.Parallel()
	g := newGraph(t)
	req := &flowstorev1.ListPathNodesRequest{Flow: g.flow, Node: g.broken, PageSize: 1, Totals: true}
	first := must[*flowstorev1.ListPathNodesResponse](t)(g.c.ListPathNodes(t.Context(), req))
	want := &flowstorev1.PathTotals{Nodes: 2, UnreadableNodes: 1, Texts: 2, Characters: 2, UncountedTexts: 2}
	same(t, want, first.GetTotals())
	req.PageToken = first.GetNextPageToken()
	same(t, want, must[*flowstorev1.ListPathNodesResponse](t)(g.c.ListPathNodes(t.Context(), req)).GetTotals())
	req.Totals = false
	if second := must[*flowstorev1.ListPathNodesResponse](t)(g.c.ListPathNodes(t.Context(), req)); second.GetTotals() != nil || len(second.GetNodes()) != 1 {
		t.Errorf("nobody asked for sums: %v", second)
	}
	n := must[*flowstorev1.AddNodeResponse](t)(g.c.AddNode(t.Context(), &flowstorev1.AddNodeRequest{
		Flow: g.flow, Source: &flowstorev1.AddNodeRequest_NewNode{NewNode: whole()}, Parents: []string{g.a},
	}))
	path := must[*flowstorev1.ListPathNodesResponse](t)(g.c.ListPathNodes(t.Context(), &flowstorev1.ListPathNodesRequest{Flow: g.flow, Node: n.GetNode().GetName(), Totals: true}))
	same(t, &flowstorev1.PathTotals{
		Nodes: 2, Texts: 5, Characters: 4, Tokens: 1, UncountedTexts: 3, Seconds: 0.5, Models: []string{"gemma"}, ModelCount: 1,
	}, path.GetTotals())
}

// The etag is that of the whole node everywhere.
func TestEveryViewHasTheEtag(t *testing.T) {
	t.Parallel()
	g := newGraph(t)
	ctx := t.Context()
	want := must[*flowstorev1.Node](t)(g.c.GetNode(ctx, &flowstorev1.GetNodeRequest{Name: g.a})).GetEtag()
	for view, n := range map[string]*flowstorev1.Node{
		"basic": must[*flowstorev1.Node](t)(g.c.GetNode(ctx, &flowstorev1.GetNodeRequest{Name: g.a, View: basic})),
		"part":  must[*flowstorev1.Node](t)(g.c.GetNode(ctx, &flowstorev1.GetNodeRequest{Name: g.a, TextIndex: proto.Int32(0), Length: 1})),
		"path":  must[*flowstorev1.ListPathNodesResponse](t)(g.c.ListPathNodes(ctx, &flowstorev1.ListPathNodesRequest{Flow: g.flow, Node: g.a, View: basic})).GetNodes()[0].GetNode(),
		"list":  must[*flowstorev1.ListNodesResponse](t)(g.c.ListNodes(ctx, &flowstorev1.ListNodesRequest{Order: flowstorev1.ListOrder_LIST_ORDER_OLDEST_FIRST})).GetNodes()[0].GetNode(),
		"added": must[*flowstorev1.AddNodeResponse](t)(g.c.AddNode(ctx, &flowstorev1.AddNodeRequest{Flow: g.flow, Source: stored(g.a)})).GetNode(),
	} {
		if n.GetEtag() != want || len(want) != 22 || n.GetName() != g.a {
			t.Errorf("%s: %s has %q, want %q", view, n.GetName(), n.GetEtag(), want)
		}
	}
}
