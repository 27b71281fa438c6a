package transport_test

import (
	"context"
	"testing"

	"google.golang.org/protobuf/proto"

	flowstorev1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/flowstore/v1"
)

const deleted, notDeleted = "NotFound DELETED", "FailedPrecondition NOT_DELETED"

// trashCalls calls what moves a flow or node into the trash and back, by name of the RPC.
func trashCalls(c flowstorev1.FlowStoreServiceClient, flow, node string) map[string]func(ctx context.Context) error {
	return map[string]func(ctx context.Context) error{
		"DeleteNode": func(ctx context.Context) error {
			_, err := c.DeleteNode(ctx, &flowstorev1.DeleteNodeRequest{Name: node})
			return err
		},
		"UndeleteNode": func(ctx context.Context) error {
			_, err := c.UndeleteNode(ctx, &flowstorev1.UndeleteNodeRequest{Name: node})
			return err
		},
		"DeleteFlow": func(ctx context.Context) error {
			_, err := c.DeleteFlow(ctx, &flowstorev1.DeleteFlowRequest{Name: flow})
			return err
		},
		"UndeleteFlow": func(ctx context.Context) error {
			_, err := c.UndeleteFlow(ctx, &flowstorev1.UndeleteFlowRequest{Name: flow})
			return err
		},
	}
}

func TestDeleteAndUndeleteNode(t *testing.T) {
	t.Parallel()
	g := newGraph(t)
	ctx := t.Context()
	want := must[*flowstorev1.Node](t)(g.c.GetNode(ctx, &flowstorev1.GetNodeRequest{Name: g.b, View: basic}))
	for _, mode := range []flowstorev1.RemoveMode{0, flowstorev1.RemoveMode_REMOVE_MODE_RESTRICT} {
		_, err := g.c.DeleteNode(ctx, &flowstorev1.DeleteNodeRequest{Name: g.b, Mode: mode})
		expect(t, err, "FailedPrecondition NODE_IN_USE", "name")
		if p := refusal(t, err).Preconditions; len(p) != 1 || p[0].Subject != g.flow {
			t.Errorf("preconditions %v", p)
		}
	}
	_, err := g.c.DeleteNode(ctx, &flowstorev1.DeleteNodeRequest{Name: g.b, Etag: "x"})
	expect(t, err, stale, "etag")
	got := must[*flowstorev1.DeleteNodeResponse](t)(g.c.DeleteNode(ctx, &flowstorev1.DeleteNodeRequest{Name: g.b, Mode: flowstorev1.RemoveMode_REMOVE_MODE_SPLICE}))
	same(t, &flowstorev1.DeleteNodeResponse{
		Nodes: []string{g.b}, Flows: []*flowstorev1.FlowLoss{{Flow: g.flow, Nodes: []string{g.b}, Etag: g.read(t).GetEtag()}},
	}, got)
	hasEdges(t, g.read(t), edge(1, 3, ""))
	_, err = g.c.GetNode(ctx, &flowstorev1.GetNodeRequest{Name: g.b})
	expect(t, err, deleted, "name")
	listed := must[*flowstorev1.ListNodesResponse](t)(g.c.ListNodes(ctx, &flowstorev1.ListNodesRequest{Deleted: true}))
	if len(listed.GetNodes()) != 1 || listed.GetNodes()[0].GetNode().GetDeleteTime() == nil {
		t.Fatalf("in the trash: %v", listed)
	}
	inTrash := proto.CloneOf(want)
	inTrash.DeleteTime = listed.GetNodes()[0].GetNode().GetDeleteTime()
	same(t, inTrash, listed.GetNodes()[0].GetNode())
	if told := refusal(t, err).Metadata["delete_time"]; told != inTrash.GetDeleteTime().AsTime().Format("2006-01-02T15:04:05.999999999Z07:00") {
		t.Errorf("delete_time %s, listed %v", told, inTrash.GetDeleteTime())
	}
	_, err = g.c.CreateNode(ctx, &flowstorev1.CreateNodeRequest{Node: said("x"), NodeId: g.b[len("nodes/"):]})
	expect(t, err, taken, "node_id")
	same(t, want, must[*flowstorev1.Node](t)(g.c.UndeleteNode(ctx, &flowstorev1.UndeleteNodeRequest{Name: g.b})))
	_, err = g.c.UndeleteNode(ctx, &flowstorev1.UndeleteNodeRequest{Name: g.b})
	expect(t, err, notDeleted, "name")
}

func TestDeleteAndUndeleteFlow(t *testing.T) {
	t.Parallel()
	g := newGraph(t)
	ctx := t.Context()
	want := g.read(t)
	_, err := g.c.DeleteFlow(ctx, &flowstorev1.DeleteFlowRequest{Name: g.flow, Etag: "x"})
	expect(t, err, stale, "etag")
	req := &flowstorev1.DeleteFlowRequest{Name: g.flow, Etag: want.GetEtag(), RequestId: id(2000)}
	got := must[*flowstorev1.Flow](t)(g.c.DeleteFlow(ctx, req))
	if got.GetDeleteTime() == nil {
		t.Error("there is no time of deletion")
	}
	same(t, got, must[*flowstorev1.Flow](t)(g.c.DeleteFlow(ctx, req)))
	_, err = g.c.GetFlow(ctx, &flowstorev1.GetFlowRequest{Name: g.flow})
	expect(t, err, deleted, "name")
	must[*flowstorev1.Node](t)(g.c.GetNode(ctx, &flowstorev1.GetNodeRequest{Name: g.a}))
	listed := must[*flowstorev1.ListFlowsResponse](t)(g.c.ListFlows(ctx, &flowstorev1.ListFlowsRequest{Deleted: true}))
	if len(listed.GetFlows()) != 1 || listed.GetFlows()[0].GetNodeCount() != 3 || !proto.Equal(listed.GetFlows()[0].GetFlow().GetDeleteTime(), got.GetDeleteTime()) {
		t.Errorf("in the trash: %v", listed)
	}
	// The node may go now: what is in the trash holds nothing.
	must[*flowstorev1.DeleteNodeResponse](t)(g.c.DeleteNode(ctx, &flowstorev1.DeleteNodeRequest{Name: g.b}))
	same(t, want, must[*flowstorev1.Flow](t)(g.c.UndeleteFlow(ctx, &flowstorev1.UndeleteFlowRequest{Name: g.flow})))
	_, err = g.c.UndeleteFlow(ctx, &flowstorev1.UndeleteFlowRequest{Name: g.flow})
	expect(t, err, notDeleted, "name")
	found := must[*flowstorev1.ValidateFlowResponse](t)(g.c.ValidateFlow(ctx, &flowstorev1.ValidateFlowRequest{Flow: g.flow})).GetProblems()
	if len(found) != 2 || found[0].GetNode() != g.b || found[0].GetKind() != flowstorev1.FlowProblem_KIND_MISSING_NODE {
		t.Errorf("problems %v", found)
	}
}

// What stands in the way of a deletion is blamed on the node that was named, also where another one is the reason.
func TestDeletionIsRefused(t *testing.T) {
	t.Parallel()
	g := newGraph(t)
	_, err := g.c.DeleteNode(t.Context(), &flowstorev1.DeleteNodeRequest{Name: g.a, Mode: flowstorev1.RemoveMode_REMOVE_MODE_SUBTREE, RequestId: id(2000)})
	expect(t, err, unreadable, "name")
	if got := refusal(t, err).Metadata["name"]; got != g.broken {
		t.Errorf("the file is that of %s", got)
	}
	if got := g.read(t); len(got.GetNodes()) != 3 {
		t.Errorf("of the flow is left %v", got)
	}
}

// The trash has pages of its own: last deleted first, and a token of it is none of another list.
func TestPagesOfTheTrash(t *testing.T) {
	t.Parallel()
	c := serve(t)
	ctx := t.Context()
	var names []string
	for _, text := range []string{"a", "b", "c"} {
		names = append(names, must[*flowstorev1.Node](t)(c.CreateNode(ctx, &flowstorev1.CreateNodeRequest{Node: said(text)})).GetName())
	}
	for _, i := range []int{1, 0, 2} {
		must[*flowstorev1.DeleteNodeResponse](t)(c.DeleteNode(ctx, &flowstorev1.DeleteNodeRequest{Name: names[i]}))
	}
	var got []string
	req := &flowstorev1.ListNodesRequest{Deleted: true, PageSize: 2, Role: "user"}
	for {
		page := must[*flowstorev1.ListNodesResponse](t)(c.ListNodes(ctx, req))
		for _, item := range page.GetNodes() {
			got = append(got, item.GetNode().GetTexts()[0].GetContent())
		}
		if req.PageToken = page.GetNextPageToken(); req.GetPageToken() == "" {
			break
		}
		other := proto.CloneOf(req)
		other.Deleted = false
		_, err := c.ListNodes(ctx, other)
		expect(t, err, "InvalidArgument INVALID_PAGE_TOKEN", "page_token")
	}
	if len(got) != 3 || got[0] != "c" || got[1] != "a" || got[2] != "b" {
		t.Errorf("the trash lists %v", got)
	}
	if all := must[*flowstorev1.ListNodesResponse](t)(c.ListNodes(ctx, &flowstorev1.ListNodesRequest{})); len(all.GetNodes()) != 0 {
		t.Errorf("beside the trash are %v", all)
	}
}

// A refusal names as many flows as it has room for, and counts all.
func TestManyFlowsHoldIt(t *testing.T) {
	t.Parallel()
	c := serve(t)
	ctx := t.Context()
	n := must[*flowstorev1.Node](t)(c.CreateNode(ctx, &flowstorev1.CreateNodeRequest{Node: said("a")})).GetName()
	for range 101 {
		f := must[*flowstorev1.Flow](t)(c.CreateFlow(ctx, &flowstorev1.CreateFlowRequest{Flow: &flowstorev1.Flow{DisplayName: "n"}})).GetName()
		must[*flowstorev1.AddNodeResponse](t)(c.AddNode(ctx, &flowstorev1.AddNodeRequest{Flow: f, Source: stored(n)}))
	}
	_, err := c.DeleteNode(ctx, &flowstorev1.DeleteNodeRequest{Name: n})
	expect(t, err, "FailedPrecondition NODE_IN_USE", "name")
	if e := refusal(t, err); len(e.Preconditions) < 20 || e.Metadata["flow_count"] != "101" {
		t.Errorf("%d flows are named, %s counted", len(e.Preconditions), e.Metadata["flow_count"])
	}
}
