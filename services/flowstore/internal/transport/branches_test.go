package transport_test

import (
	"strings"
	"testing"

	"google.golang.org/protobuf/types/known/fieldmaskpb"

	flowstorev1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/flowstore/v1"
)

// updateLists gives the whole lists of heads and links.
func (g graph) updateLists(t *testing.T, etag string, heads []*flowstorev1.FlowHead, links []*flowstorev1.FlowLink, mask ...string) (*flowstorev1.Flow, error) {
	t.Helper()
	return g.c.UpdateFlow(t.Context(), &flowstorev1.UpdateFlowRequest{
		Flow: &flowstorev1.Flow{Name: g.flow, Etag: etag, Heads: heads, Links: links}, UpdateMask: &fieldmaskpb.FieldMask{Paths: mask},
	})
}

func (g graph) read(t *testing.T) *flowstorev1.Flow {
	t.Helper()
	return must[*flowstorev1.Flow](t)(g.c.GetFlow(t.Context(), &flowstorev1.GetFlowRequest{Name: g.flow}))
}

func head(name, node string, index int32) *flowstorev1.FlowHead {
	return &flowstorev1.FlowHead{DisplayName: name, Node: node, Index: index}
}

// Heads and links change as whole lists, which say which version they replace; links are shown on paths.
func TestHeadsAndLinks(t *testing.T) {
	t.Parallel()
	g := newGraph(t)
	got := must[*flowstorev1.Flow](t)(g.updateLists(t, g.read(t).GetEtag(),
		[]*flowstorev1.FlowHead{head("雨", g.b, 0), head("main", g.b, 0), head("a", g.a, 0)},
		[]*flowstorev1.FlowLink{{Flow: g.empty, Node: g.b}, {Flow: g.empty}}, "heads", "links"))
	same(t, &flowstorev1.Flow{
		Heads: []*flowstorev1.FlowHead{head("a", g.a, 1), head("main", g.b, 2), head("雨", g.b, 2)},
		Links: []*flowstorev1.FlowLink{{Flow: g.empty}, {Flow: g.empty, Node: g.b, Index: 2}},
	}, &flowstorev1.Flow{Heads: got.GetHeads(), Links: got.GetLinks()})
	same(t, got, g.read(t))
	path := must[*flowstorev1.ListPathNodesResponse](t)(g.c.ListPathNodes(t.Context(), &flowstorev1.ListPathNodesRequest{Flow: g.flow, Node: g.b}))
	for i, n := range path.GetNodes() {
		if len(n.GetLinks()) != i {
			t.Errorf("%d links at node %d", len(n.GetLinks()), i)
		}
	}
	same(t, &flowstorev1.FlowLink{Flow: g.empty, Node: g.b, Index: 2}, path.GetNodes()[1].GetLinks()[0])
	// Another name, another place, one gone; what the mask does not name stays.
	got = must[*flowstorev1.Flow](t)(g.updateLists(t, got.GetEtag(), []*flowstorev1.FlowHead{head("b", g.b, 0), head("main", g.a, 0)}, nil, "heads"))
	same(t, &flowstorev1.Flow{Heads: []*flowstorev1.FlowHead{head("b", g.b, 2), head("main", g.a, 1)}}, &flowstorev1.Flow{Heads: got.GetHeads()})
	if len(got.GetLinks()) != 2 {
		t.Errorf("links are %v", got.GetLinks())
	}
	list := must[*flowstorev1.ListFlowsResponse](t)(g.c.ListFlows(t.Context(), &flowstorev1.ListFlowsRequest{}))
	for _, item := range list.GetFlows() {
		if len(item.GetFlow().GetHeads())+len(item.GetFlow().GetLinks()) > 0 {
			t.Errorf("the list holds %v", item.GetFlow())
		}
	}
}

func TestFieldsOfRefusedHeadsAndLinks(t *testing.T) {
	t.Parallel()
	g := newGraph(t)
	gone, goneFlow := "nodes/"+id(404), "flows/"+id(404)
	now := g.read(t).GetEtag()
	for title, tt := range map[string]struct {
		etag   string
		heads  []*flowstorev1.FlowHead
		links  []*flowstorev1.FlowLink
		want   string
		fields []string
	}{
		"no etag":        {"", nil, nil, invalid, []string{"flow.etag"}},
		"stale":          {"x", nil, nil, stale, []string{"flow.etag"}},
		"a bad head":     {now, []*flowstorev1.FlowHead{head("", "", 0), head("a", "x", 0), head("a", g.a, 0)}, nil, invalid, []string{"flow.heads[0].display_name", "flow.heads[0].node", "flow.heads[1].node", "flow.heads[2].display_name"}},
		"a long name":    {now, []*flowstorev1.FlowHead{head(strings.Repeat("長", 257), g.a, 0)}, nil, invalid, []string{"flow.heads[0].display_name"}},
		"a head nowhere": {now, []*flowstorev1.FlowHead{head("a", gone, 0)}, nil, noNode, []string{"flow.heads[0].node"}},
		"a head outside": {now, []*flowstorev1.FlowHead{head("a", g.nobody, 0)}, nil, outside, []string{"flow.heads[0].node"}},
		"many heads":     {now, make([]*flowstorev1.FlowHead, 1001), nil, invalid, []string{"flow.heads"}},
		"a bad link":     {now, nil, []*flowstorev1.FlowLink{{}, {Flow: "x", Node: "y"}, {Flow: g.flow}, {Flow: g.empty}, {Flow: g.empty}}, invalid, []string{"flow.links[0].flow", "flow.links[1].flow", "flow.links[1].node", "flow.links[2].flow", "flow.links[4]"}},
		"to nothing":     {"x", nil, []*flowstorev1.FlowLink{{Flow: goneFlow, Node: gone}}, noFlow, []string{"flow.etag", "flow.links[0].flow", "flow.links[0].node"}},
		"a link outside": {now, nil, []*flowstorev1.FlowLink{{Flow: g.empty, Node: g.nobody}}, outside, []string{"flow.links[0].node"}},
		"many links":     {now, nil, make([]*flowstorev1.FlowLink, 1001), invalid, []string{"flow.links"}},
		"all at once":    {"", []*flowstorev1.FlowHead{{}}, []*flowstorev1.FlowLink{{}}, invalid, []string{"flow.etag", "flow.heads[0].display_name", "flow.heads[0].node", "flow.links[0].flow"}},
	} {
		t.Run(title, func(t *testing.T) {
			t.Parallel()
			_, err := g.updateLists(t, tt.etag, tt.heads, tt.links, "heads", "links")
			expectSorted(t, err, tt.want, tt.fields...)
		})
	}
	_, err := g.c.CreateFlow(t.Context(), &flowstorev1.CreateFlowRequest{
		Flow: &flowstorev1.Flow{DisplayName: "n", Heads: []*flowstorev1.FlowHead{head("a", g.a, 0)}, Links: []*flowstorev1.FlowLink{{Flow: g.empty}}},
	})
	expectSorted(t, err, invalid, "flow.heads", "flow.links")
}

// A branch is named once; its head goes on with each node that is added under it, whatever else the node continues.
func TestBranchFlow(t *testing.T) {
	t.Parallel()
	g := newGraph(t)
	branch := func(name, node string) (*flowstorev1.Flow, error) {
		return g.c.BranchFlow(t.Context(), &flowstorev1.BranchFlowRequest{Flow: g.flow, Node: node, DisplayName: name})
	}
	got := must[*flowstorev1.Flow](t)(branch("雨", g.b))
	same(t, got, g.read(t))
	same(t, got, must[*flowstorev1.Flow](t)(branch("雨", g.b)))
	_, err := branch("雨", g.a)
	expect(t, err, taken, "display_name")
	_, err = branch("", g.a)
	expect(t, err, invalid, "display_name")
	_, err = branch(strings.Repeat("長", 257), g.nobody)
	expect(t, err, invalid, "display_name")
	_, err = branch("a", g.nobody)
	expect(t, err, outside, "node")
	add := func(head string, source *flowstorev1.AddNodeRequest_Node, parents ...string) (*flowstorev1.AddNodeResponse, error) {
		req := &flowstorev1.AddNodeRequest{Flow: g.flow, Head: head, Parents: parents}
		if req.Source = source; source == nil {
			req.Source = fresh()
		}
		return g.c.AddNode(t.Context(), req)
	}
	first := must[*flowstorev1.AddNodeResponse](t)(add("雨", nil))
	second := must[*flowstorev1.AddNodeResponse](t)(add("雨", nil, g.a, first.GetNode().GetName()))
	same(t, &flowstorev1.Flow{Heads: []*flowstorev1.FlowHead{head("雨", second.GetNode().GetName(), 5)}}, &flowstorev1.Flow{Heads: g.read(t).GetHeads()})
	hasEdges(t, g.read(t), edge(1, 2, ""), edge(1, 5, ""), edge(2, 3, ""), edge(2, 4, ""), edge(4, 5, ""))
	_, err = add("晴", nil)
	expect(t, err, "NotFound HEAD_NOT_FOUND", "head")
	_, err = add(strings.Repeat("長", 257), nil)
	expect(t, err, invalid, "head")
	_, err = add("雨", stored(g.a))
	expect(t, err, closes, "head")
	must[*flowstorev1.Flow](t)(branch("broken", g.broken))
	_, err = add("broken", nil)
	expect(t, err, unreadable, "head")
	_, err = g.c.AddNode(t.Context(), &flowstorev1.AddNodeRequest{Flow: g.flow, Head: "broken", Source: fresh(), Parents: []string{"nodes/" + id(404)}})
	expectSorted(t, err, unreadable, "head", "parents[0]")
	_, err = add("晴", nil, "nodes/"+id(404))
	expectSorted(t, err, "NotFound HEAD_NOT_FOUND", "head", "parents[0]")
}

// A link to a flow that went away is told as the flow has it, with the node where it begins.
func TestDanglingLinkIsToldWithItsNode(t *testing.T) {
	t.Parallel()
	g := newGraph(t)
	links := []*flowstorev1.FlowLink{{Flow: g.empty}, {Flow: g.empty, Node: g.b}}
	must[*flowstorev1.Flow](t)(g.updateLists(t, g.read(t).GetEtag(), nil, links, "links"))
	must[*flowstorev1.Flow](t)(g.c.DeleteFlow(t.Context(), &flowstorev1.DeleteFlowRequest{Name: g.empty}))
	var told []*flowstorev1.FlowLink
	for _, p := range must[*flowstorev1.ValidateFlowResponse](t)(g.c.ValidateFlow(t.Context(), &flowstorev1.ValidateFlowRequest{Flow: g.flow})).GetProblems() {
		if p.GetKind() == flowstorev1.FlowProblem_KIND_DANGLING_LINK {
			told = append(told, p.GetLink())
			if p.GetNode() != "" {
				t.Errorf("the file of %s is no problem", p.GetNode())
			}
		}
	}
	same(t, &flowstorev1.Flow{Links: g.read(t).GetLinks()}, &flowstorev1.Flow{Links: told})
}

func TestForkFlow(t *testing.T) {
	t.Parallel()
	g := newGraph(t)
	const path, whole = flowstorev1.ForkWay_FORK_WAY_PATH, flowstorev1.ForkWay_FORK_WAY_WHOLE
	fork := func(r *flowstorev1.ForkFlowRequest) (*flowstorev1.Flow, error) { return g.c.ForkFlow(t.Context(), r) }
	got := must[*flowstorev1.Flow](t)(fork(&flowstorev1.ForkFlowRequest{Flow: g.flow, Way: path, Node: g.b, FlowId: id(3000)}))
	same(t, got, must[*flowstorev1.Flow](t)(g.c.GetFlow(t.Context(), &flowstorev1.GetFlowRequest{Name: "flows/" + id(3000)})))
	hasEdges(t, got, edge(1, 2, ""))
	same(t, &flowstorev1.Flow{DisplayName: "n", Current: g.b, Links: []*flowstorev1.FlowLink{{Flow: g.flow, Node: g.b, Index: 2}}},
		&flowstorev1.Flow{DisplayName: got.GetDisplayName(), Current: got.GetCurrent(), Links: got.GetLinks()})
	for way, nodes := range map[flowstorev1.ForkWay]int{path: 2, flowstorev1.ForkWay_FORK_WAY_SIBLINGS: 2, flowstorev1.ForkWay_FORK_WAY_SUBTREE: 2, whole: 3} {
		r := &flowstorev1.ForkFlowRequest{Flow: g.flow, Way: way, Node: g.b}
		if way == whole {
			r.Node = ""
		}
		if got := must[*flowstorev1.Flow](t)(fork(r)); len(got.GetNodes()) != nodes {
			t.Errorf("%s has %d nodes", way, len(got.GetNodes()))
		}
	}
	for title, tt := range map[string]struct {
		req    *flowstorev1.ForkFlowRequest
		want   string
		fields []string
	}{
		"empty":           {&flowstorev1.ForkFlowRequest{}, invalid, []string{"flow", "way"}},
		"no way":          {&flowstorev1.ForkFlowRequest{Flow: "x", Way: 9, DisplayName: strings.Repeat("長", 257), FlowId: "x"}, invalid, []string{"display_name", "flow", "flow_id", "way"}},
		"no node":         {&flowstorev1.ForkFlowRequest{Flow: g.flow, Way: path}, invalid, []string{"node"}},
		"a node of whole": {&flowstorev1.ForkFlowRequest{Flow: g.flow, Way: whole, Node: g.b}, invalid, []string{"node"}},
		"outside":         {&flowstorev1.ForkFlowRequest{Flow: g.flow, Way: path, Node: g.nobody, Etag: "x"}, outside, []string{"etag", "node"}},
		"nowhere":         {&flowstorev1.ForkFlowRequest{Flow: "flows/" + id(404), Way: path, Node: "nodes/" + id(404)}, noFlow, []string{"flow", "node"}},
		"taken":           {&flowstorev1.ForkFlowRequest{Flow: g.flow, Way: whole, FlowId: id(3000)}, taken, []string{"flow_id"}},
	} {
		_, err := fork(tt.req)
		t.Log(title)
		expectSorted(t, err, tt.want, tt.fields...)
	}
}

func TestRebuildFlow(t *testing.T) {
	t.Parallel()
	g := newGraph(t)
	now := g.read(t).GetEtag()
	rebuild := func(etag string, nodes ...string) (*flowstorev1.Flow, error) {
		return g.c.RebuildFlow(t.Context(), &flowstorev1.RebuildFlowRequest{Flow: g.flow, Nodes: nodes, Etag: etag})
	}
	for title, tt := range map[string]struct {
		etag   string
		nodes  []string
		want   string
		fields []string
	}{
		"empty":      {"", nil, invalid, []string{"etag", "nodes"}},
		"twice":      {now, []string{g.a, g.b, g.a, "", "x"}, invalid, []string{"nodes[2]", "nodes[3]", "nodes[4]"}},
		"many":       {now, make([]string, 10_001), invalid, []string{"nodes"}},
		"stale":      {"x", []string{g.a, g.b}, stale, []string{"etag"}},
		"missing":    {"x", []string{g.a, "nodes/" + id(404)}, noNode, []string{"etag", "nodes[1]"}},
		"unreadable": {now, []string{g.broken, g.b}, unreadable, []string{"nodes[0]"}},
	} {
		t.Log(title)
		_, err := rebuild(tt.etag, tt.nodes...)
		expectSorted(t, err, tt.want, tt.fields...)
	}
	got := must[*flowstorev1.Flow](t)(rebuild(now, g.nobody, g.b, g.a))
	hasEdges(t, got, edge(2, 1, ""), edge(2, 3, ""), edge(4, 2, ""))
	same(t, got, g.read(t))
	must[*flowstorev1.Flow](t)(g.c.ConnectNodes(t.Context(), &flowstorev1.ConnectNodesRequest{Flow: g.flow, Parent: g.nobody, Child: g.a}))
	_, err := rebuild(g.read(t).GetEtag(), g.a, g.nobody)
	expectSorted(t, err, closes, "nodes[0]", "nodes[1]")
}
