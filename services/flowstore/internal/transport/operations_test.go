package transport_test

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/fieldmaskpb"

	commonv1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/common/v1"
	flowstorev1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/flowstore/v1"
	"github.com/tsumugi-dev/tsumugi/services/internal/apierr"
)

// operations calls each operation on a flow in which child continues parent, by name of the RPC.
func operations(c flowstorev1.FlowStoreServiceClient, flow, parent, child string) map[string]func(ctx context.Context, etag, request string) error {
	return map[string]func(ctx context.Context, etag, request string) error{
		"ConnectNodes": func(ctx context.Context, etag, request string) error {
			_, err := c.ConnectNodes(ctx, &flowstorev1.ConnectNodesRequest{Flow: flow, Parent: parent, Child: child, DisplayName: "雨", Etag: etag, RequestId: request})
			return err
		},
		"DisconnectNodes": func(ctx context.Context, etag, request string) error {
			_, err := c.DisconnectNodes(ctx, &flowstorev1.DisconnectNodesRequest{Flow: flow, Parent: parent, Child: child, Etag: etag, RequestId: request})
			return err
		},
		"ReconnectNodes": func(ctx context.Context, etag, request string) error {
			to, err := c.AddNode(ctx, &flowstorev1.AddNodeRequest{Flow: flow, Source: fresh()})
			if err != nil {
				return err
			}
			_, err = c.ReconnectNodes(ctx, &flowstorev1.ReconnectNodesRequest{
				Flow: flow, Child: child, OldParent: parent, NewParent: to.GetNode().GetName(), Etag: etag, RequestId: request,
			})
			return err
		},
		"BranchFlow": func(ctx context.Context, etag, request string) error {
			_, err := c.BranchFlow(ctx, &flowstorev1.BranchFlowRequest{Flow: flow, Node: child, DisplayName: "雨", Etag: etag, RequestId: request})
			return err
		},
		"ForkFlow": func(ctx context.Context, etag, request string) error {
			_, err := c.ForkFlow(ctx, &flowstorev1.ForkFlowRequest{Flow: flow, Way: flowstorev1.ForkWay_FORK_WAY_PATH, Node: child, Etag: etag, RequestId: request})
			return err
		},
		"RebuildFlow": func(ctx context.Context, etag, request string) error {
			_, err := c.RebuildFlow(ctx, &flowstorev1.RebuildFlowRequest{Flow: flow, Nodes: []string{child, parent}, Etag: cmp.Or(etag, "x"), RequestId: request})
			return err
		},
		"UndoFlow": func(ctx context.Context, etag, request string) error {
			_, err := c.UndoFlow(ctx, &flowstorev1.UndoFlowRequest{Flow: flow, Etag: etag, RequestId: request})
			return err
		},
		"RedoFlow": func(ctx context.Context, etag, request string) error {
			_, err := c.RedoFlow(ctx, &flowstorev1.RedoFlowRequest{Flow: flow, Etag: etag, RequestId: request})
			return err
		},
		"UpdateFlow": func(ctx context.Context, etag, _ string) error {
			_, err := c.UpdateFlow(ctx, &flowstorev1.UpdateFlowRequest{
				Flow: &flowstorev1.Flow{Name: flow, Description: "d", Etag: etag}, UpdateMask: &fieldmaskpb.FieldMask{Paths: []string{"description"}},
			})
			return err
		},
		"RemoveNode": func(ctx context.Context, etag, request string) error {
			_, err := c.RemoveNode(ctx, &flowstorev1.RemoveNodeRequest{Flow: flow, Node: child, Etag: etag, RequestId: request})
			return err
		},
	}
}

// edge is how an edge stands in a flow.
func edge(from, to int32, name string) *flowstorev1.Edge {
	return &flowstorev1.Edge{From: from, To: to, DisplayName: name}
}

// expectSorted is expect for fields in any order.
func expectSorted(t *testing.T, err error, want string, fields ...string) {
	t.Helper()
	e := refusal(t, err)
	slices.SortFunc(e.Violations, func(a, b apierr.Violation) int { return cmp.Compare(a.Field, b.Field) })
	expect(t, e.GRPCStatus().Err(), want, fields...)
}

// hasEdges compares the edges of an answer.
func hasEdges(t *testing.T, got *flowstorev1.Flow, want ...*flowstorev1.Edge) {
	t.Helper()
	same(t, &flowstorev1.Flow{Edges: want}, &flowstorev1.Flow{Edges: got.GetEdges()})
}

func TestConnectAndDisconnect(t *testing.T) {
	t.Parallel()
	g := newGraph(t)
	ctx := t.Context()
	one := must[*flowstorev1.AddNodeResponse](t)(g.c.AddNode(ctx, &flowstorev1.AddNodeRequest{Flow: g.flow, Source: fresh()})).GetNode().GetName()
	before := must[*flowstorev1.Flow](t)(g.c.GetFlow(ctx, &flowstorev1.GetFlowRequest{Name: g.flow}))
	got := must[*flowstorev1.Flow](t)(g.c.ConnectNodes(ctx, &flowstorev1.ConnectNodesRequest{
		Flow: g.flow, Parent: g.a, Child: one, DisplayName: "雨の夜", Etag: before.GetEtag(), RequestId: id(2000),
	}))
	hasEdges(t, got, edge(1, 2, ""), edge(1, 4, "雨の夜"), edge(2, 3, ""))
	if got.GetEtag() == before.GetEtag() || len(got.GetEtag()) != 22 {
		t.Errorf("etag %q, before %q", got.GetEtag(), before.GetEtag())
	}
	same(t, got, must[*flowstorev1.Flow](t)(g.c.GetFlow(ctx, &flowstorev1.GetFlowRequest{Name: g.flow})))
	got = must[*flowstorev1.Flow](t)(g.c.DisconnectNodes(ctx, &flowstorev1.DisconnectNodesRequest{Flow: g.flow, Parent: g.a, Child: one, Etag: got.GetEtag()}))
	hasEdges(t, got, edge(1, 2, ""), edge(2, 3, ""))
	_, err := g.c.ConnectNodes(ctx, &flowstorev1.ConnectNodesRequest{Flow: g.flow, Parent: g.a, Child: one, Etag: before.GetEtag()})
	e := refusal(t, err)
	if diff := gocmp.Diff(map[string]string{"flow": g.flow, "etag": before.GetEtag(), "current_etag": got.GetEtag()}, e.Metadata); diff != "" {
		t.Error(diff)
	}
}

func TestReconnectNodes(t *testing.T) {
	t.Parallel()
	g := newGraph(t)
	got := must[*flowstorev1.Flow](t)(g.c.ReconnectNodes(t.Context(), &flowstorev1.ReconnectNodesRequest{Flow: g.flow, Child: g.broken, OldParent: g.b, NewParent: g.a}))
	hasEdges(t, got, edge(1, 2, ""), edge(1, 3, ""))
	same(t, got, must[*flowstorev1.Flow](t)(g.c.GetFlow(t.Context(), &flowstorev1.GetFlowRequest{Name: g.flow})))
}

func TestRemoveNode(t *testing.T) {
	t.Parallel()
	const unspecified, restrict = flowstorev1.RemoveMode_REMOVE_MODE_UNSPECIFIED, flowstorev1.RemoveMode_REMOVE_MODE_RESTRICT
	const splice, subtree = flowstorev1.RemoveMode_REMOVE_MODE_SPLICE, flowstorev1.RemoveMode_REMOVE_MODE_SUBTREE
	g := newGraph(t)
	remove := func(node string, mode flowstorev1.RemoveMode) (*flowstorev1.Flow, error) {
		return g.c.RemoveNode(t.Context(), &flowstorev1.RemoveNodeRequest{Flow: g.flow, Node: node, Mode: mode})
	}
	for _, mode := range []flowstorev1.RemoveMode{unspecified, restrict} {
		_, err := remove(g.b, mode)
		expect(t, err, "FailedPrecondition HAS_CHILDREN", "node")
	}
	got := must[*flowstorev1.Flow](t)(remove(g.b, splice))
	hasEdges(t, got, edge(1, 3, ""))
	same(t, got, must[*flowstorev1.Flow](t)(g.c.GetFlow(t.Context(), &flowstorev1.GetFlowRequest{Name: g.flow})))
	must[*flowstorev1.Node](t)(g.c.GetNode(t.Context(), &flowstorev1.GetNodeRequest{Name: g.b}))
	if got := must[*flowstorev1.Flow](t)(remove(g.a, subtree)); len(got.GetNodes())+len(got.GetEdges()) > 0 {
		t.Errorf("%v is left", got)
	}
}

func TestUpdateFlow(t *testing.T) {
	t.Parallel()
	c := serve(t)
	made := must[*flowstorev1.Flow](t)(c.CreateFlow(t.Context(), &flowstorev1.CreateFlowRequest{Flow: &flowstorev1.Flow{
		DisplayName: "n", Description: "d", Story: &commonv1.Story{Title: proto.String("t"), Plot: proto.String("p"), Keywords: []string{"k"}},
	}}))
	update := func(f *flowstorev1.Flow, mask ...string) (*flowstorev1.Flow, error) {
		f.Name = made.GetName()
		return c.UpdateFlow(t.Context(), &flowstorev1.UpdateFlowRequest{Flow: f, UpdateMask: &fieldmaskpb.FieldMask{Paths: mask}})
	}
	// What the mask does not name stays, whatever stands in the request; what it names and is not there goes.
	got := must[*flowstorev1.Flow](t)(update(&flowstorev1.Flow{
		DisplayName: "夜", Description: strings.Repeat("x", 1<<20), Etag: made.GetEtag(), Story: &commonv1.Story{Title: proto.String("題"), Note: proto.String("x")},
	}, "display_name", "story.title", "story.plot"))
	want := proto.CloneOf(made)
	want.DisplayName, want.Story.Title, want.Story.Plot = "夜", proto.String("題"), nil
	want.UpdateTime, want.Etag = got.GetUpdateTime(), got.GetEtag()
	same(t, want, got)
	same(t, got, must[*flowstorev1.Flow](t)(c.GetFlow(t.Context(), &flowstorev1.GetFlowRequest{Name: made.GetName()})))
	same(t, got, must[*flowstorev1.Flow](t)(update(&flowstorev1.Flow{DisplayName: "夜"}, "display_name")))
	got = must[*flowstorev1.Flow](t)(update(&flowstorev1.Flow{Etag: got.GetEtag()}, "description", "story"))
	if got.GetDescription() != "" || got.GetStory() != nil || got.GetDisplayName() != "夜" {
		t.Errorf("%v", got)
	}
	for _, tt := range []struct {
		flow   *flowstorev1.Flow
		mask   []string
		want   string
		fields []string
	}{
		{&flowstorev1.Flow{}, nil, invalid, []string{"update_mask"}},
		{&flowstorev1.Flow{}, []string{"name"}, invalid, []string{"update_mask"}},
		{&flowstorev1.Flow{}, []string{"display_name", "nodes"}, invalid, []string{"flow.display_name", "update_mask"}},
		{&flowstorev1.Flow{Description: strings.Repeat("x", 1<<20), Story: &commonv1.Story{Rating: proto.String("x")}}, []string{"description", "story.rating"}, invalid, []string{"flow.description", "flow.story.rating"}},
		{&flowstorev1.Flow{}, []string{"story"}, invalid, []string{"flow.etag"}},
		{&flowstorev1.Flow{Etag: made.GetEtag()}, []string{"description"}, stale, []string{"flow.etag"}},
	} {
		_, err := update(tt.flow, tt.mask...)
		expectSorted(t, err, tt.want, tt.fields...)
	}
	_, err := c.UpdateFlow(t.Context(), &flowstorev1.UpdateFlowRequest{})
	expectSorted(t, err, invalid, "flow.name", "update_mask")
	_, err = c.UpdateFlow(t.Context(), &flowstorev1.UpdateFlowRequest{Flow: &flowstorev1.Flow{Name: "flows/" + id(404)}, UpdateMask: &fieldmaskpb.FieldMask{Paths: []string{"description"}}})
	expectSorted(t, err, noFlow, "flow.name")
}

// Whatever stands in the way of an operation, its fields are named: all of them.
func TestFieldsOfRefusedOperations(t *testing.T) {
	t.Parallel()
	g := newGraph(t)
	gone, goneFlow := "nodes/"+id(404), "flows/"+id(404)
	connect := func(q *flowstorev1.ConnectNodesRequest) func(context.Context) error {
		return func(ctx context.Context) error { _, err := g.c.ConnectNodes(ctx, q); return err }
	}
	disconnect := func(q *flowstorev1.DisconnectNodesRequest) func(context.Context) error {
		return func(ctx context.Context) error { _, err := g.c.DisconnectNodes(ctx, q); return err }
	}
	remove := func(q *flowstorev1.RemoveNodeRequest) func(context.Context) error {
		return func(ctx context.Context) error { _, err := g.c.RemoveNode(ctx, q); return err }
	}
	reconnect := func(child, from, to string) func(context.Context) error {
		return func(ctx context.Context) error {
			_, err := g.c.ReconnectNodes(ctx, &flowstorev1.ReconnectNodesRequest{Flow: g.flow, Child: child, OldParent: from, NewParent: to, Etag: "x"})
			return err
		}
	}
	freely := func(child, from, to string) func(context.Context) error {
		return func(ctx context.Context) error {
			_, err := g.c.ReconnectNodes(ctx, &flowstorev1.ReconnectNodesRequest{Flow: g.flow, Child: child, OldParent: from, NewParent: to})
			return err
		}
	}
	for title, tt := range map[string]struct {
		call   func(context.Context) error
		want   string
		fields []string
	}{
		"connect, empty":      {connect(&flowstorev1.ConnectNodesRequest{}), invalid, []string{"child", "flow", "parent"}},
		"connect, long name":  {connect(&flowstorev1.ConnectNodesRequest{Flow: g.flow, Parent: "x", Child: g.b, DisplayName: strings.Repeat("長", 257), RequestId: "x"}), invalid, []string{"display_name", "parent", "request_id"}},
		"connect, no flow":    {connect(&flowstorev1.ConnectNodesRequest{Flow: goneFlow, Parent: gone, Child: g.b}), noFlow, []string{"flow", "parent"}},
		"connect, outside":    {connect(&flowstorev1.ConnectNodesRequest{Flow: g.flow, Parent: g.nobody, Child: gone, Etag: "x"}), noNode, []string{"child", "etag", "parent"}},
		"connect, unreadable": {connect(&flowstorev1.ConnectNodesRequest{Flow: g.flow, Parent: g.a, Child: g.broken}), unreadable, []string{"child"}},
		"connect, a cycle":    {connect(&flowstorev1.ConnectNodesRequest{Flow: g.flow, Parent: g.b, Child: g.a}), closes, []string{"child", "parent"}},
		"connect, to itself":  {connect(&flowstorev1.ConnectNodesRequest{Flow: g.flow, Parent: g.a, Child: g.a}), closes, []string{"child", "parent"}},
		"connect, stale":      {connect(&flowstorev1.ConnectNodesRequest{Flow: g.flow, Parent: g.a, Child: g.b, Etag: "x"}), stale, []string{"etag"}},
		"connect, reused":     {connect(&flowstorev1.ConnectNodesRequest{Flow: g.flow, Parent: g.a, Child: g.b, RequestId: id(1000)}), reused, []string{"request_id"}},
		"disconnect, empty":   {disconnect(&flowstorev1.DisconnectNodesRequest{}), invalid, []string{"child", "flow", "parent"}},
		"disconnect, apart":   {disconnect(&flowstorev1.DisconnectNodesRequest{Flow: g.flow, Parent: g.b, Child: g.a}), apart, []string{"child", "parent"}},
		"disconnect, outside": {disconnect(&flowstorev1.DisconnectNodesRequest{Flow: g.flow, Parent: g.a, Child: g.nobody}), outside, []string{"child"}},
		"reconnect, empty":    {reconnect("", "", ""), invalid, []string{"child", "new_parent", "old_parent"}},
		"reconnect, the same": {reconnect("x", g.a, g.a), invalid, []string{"child", "new_parent"}},
		"reconnect, stale":    {reconnect(g.b, g.a, g.b), stale, []string{"etag"}},
		"reconnect, missing":  {reconnect(gone, g.nobody, g.broken), noNode, []string{"child", "etag", "new_parent", "old_parent"}},
		"reconnect, apart":    {freely(g.a, g.b, g.nobody), outside, []string{"new_parent"}},
		"reconnect, no edge":  {freely(g.broken, g.a, g.b), apart, []string{"child", "old_parent"}},
		"reconnect, itself":   {freely(g.b, g.a, g.b), closes, []string{"child", "new_parent"}},
		"remove, empty":       {remove(&flowstorev1.RemoveNodeRequest{}), invalid, []string{"flow", "node"}},
		"remove, no mode":     {remove(&flowstorev1.RemoveNodeRequest{Flow: g.flow, Node: "flows/x", Mode: 9}), invalid, []string{"mode", "node"}},
		"remove, outside":     {remove(&flowstorev1.RemoveNodeRequest{Flow: g.flow, Node: g.nobody, Etag: "x"}), outside, []string{"etag", "node"}},
		"remove, no flow":     {remove(&flowstorev1.RemoveNodeRequest{Flow: goneFlow, Node: gone}), noFlow, []string{"flow", "node"}},
		"disconnect, stale":   {disconnect(&flowstorev1.DisconnectNodesRequest{Flow: g.flow, Parent: g.a, Child: g.b, Etag: "x"}), stale, []string{"etag"}},
	} {
		t.Run(title, func(t *testing.T) {
			t.Parallel()
			expectSorted(t, tt.call(t.Context()), tt.want, tt.fields...)
		})
	}
}
