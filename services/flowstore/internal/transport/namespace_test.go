package transport_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	flowstorev1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/flowstore/v1"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/library"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store/memory"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/transport"
	"github.com/tsumugi-dev/tsumugi/services/internal/grpcserver"
	"github.com/tsumugi-dev/tsumugi/services/internal/namespace"
	"github.com/tsumugi-dev/tsumugi/services/internal/testkit"
)

// flushed is a library that counts, beside everything else, which namespace was flushed: no answer shows that.
type flushed struct {
	*library.Library
	times map[string]int
}

func (f *flushed) Flush(ctx context.Context, ns string) (int, error) {
	f.times[ns]++
	return f.Library.Flush(ctx, ns)
}

// tenant is a namespace with a flow of two nodes in it.
type tenant struct {
	ctx              context.Context
	flow, root, leaf string
}

func settle(t *testing.T, c flowstorev1.FlowStoreServiceClient, ns string) tenant {
	t.Helper()
	a := tenant{ctx: namespace.With(t.Context(), ns)}
	a.flow = must[*flowstorev1.Flow](t)(c.CreateFlow(a.ctx, &flowstorev1.CreateFlowRequest{Flow: &flowstorev1.Flow{DisplayName: ns}})).GetName()
	a.root = must[*flowstorev1.Node](t)(c.CreateNode(a.ctx, &flowstorev1.CreateNodeRequest{Node: said(ns)})).GetName()
	must[*flowstorev1.AddNodeResponse](t)(c.AddNode(a.ctx, &flowstorev1.AddNodeRequest{
		Flow: a.flow, Source: &flowstorev1.AddNodeRequest_Node{Node: a.root},
	}))
	a.leaf = must[*flowstorev1.AddNodeResponse](t)(c.AddNode(a.ctx, &flowstorev1.AddNodeRequest{
		Flow: a.flow, Source: &flowstorev1.AddNodeRequest_NewNode{NewNode: said(ns)}, Parents: []string{a.root}, SetCurrent: true,
	})).GetNode().GetName()
	return a
}

// TestNamespaces: every call acts in the namespace that the caller comes from, and what is in another one is not there.
func TestNamespaces(t *testing.T) {
	t.Parallel()
	s := memory.New(func() time.Time { return now })
	l := &flushed{library.New(s, &counting{}), map[string]int{}}
	_, conn := testkit.ServeWith(t, grpcserver.Options{Config: grpcserver.DefaultConfig(), TrustCaller: true}, func(r grpc.ServiceRegistrar) {
		flowstorev1.RegisterFlowStoreServiceServer(r, transport.New(l))
	})
	c := flowstorev1.NewFlowStoreServiceClient(conn)
	own, other := settle(t, c, "team-a"), settle(t, c, "team-b")
	before := look(t, c, other)
	const noFlow, noNode = "NotFound FLOW_NOT_FOUND", "NotFound NODE_NOT_FOUND"
	// Each with what is the caller's own, which must succeed, and with what is not.
	type try struct {
		refused string
		field   string
		call    func(flow, node string) error
	}
	operation := func(name string) []try {
		call := func(flow, node string) error {
			must[*flowstorev1.Flow](t)(c.ConnectNodes(own.ctx, &flowstorev1.ConnectNodesRequest{Flow: own.flow, Parent: own.root, Child: own.leaf}))
			return operations(c, flow, own.root, node)[name](own.ctx, "", "")
		}
		return []try{
			{noFlow, "flow", func(flow, _ string) error { return call(flow, own.leaf) }},
			{noNode, "child", func(_, node string) error { return call(own.flow, node) }},
		}
	}
	// loose is a node of the tenant's flow that may go.
	loose := func(a tenant) string {
		return must[*flowstorev1.AddNodeResponse](t)(c.AddNode(a.ctx, &flowstorev1.AddNodeRequest{
			Flow: a.flow, Source: &flowstorev1.AddNodeRequest_NewNode{NewNode: said("x")},
		})).GetNode().GetName()
	}
	trash := func(of store.Thing) string { return inTrash(t, s, own.ctx, of) }
	rebuild := func(flow, node string) error {
		etag := must[*flowstorev1.Flow](t)(c.GetFlow(own.ctx, &flowstorev1.GetFlowRequest{Name: own.flow})).GetEtag()
		_, err := c.RebuildFlow(own.ctx, &flowstorev1.RebuildFlowRequest{Flow: flow, Nodes: []string{node}, Etag: etag})
		return err
	}
	calls := map[string][]try{
		"GetNode": {{noNode, "name", func(_, node string) error {
			_, err := c.GetNode(own.ctx, &flowstorev1.GetNodeRequest{Name: node})
			return err
		}}},
		"ListNodeRevisions": {{noNode, "name", func(_, node string) error {
			return nodeOperations(c, own.flow, node)["ListNodeRevisions"](own.ctx, "", "")
		}}},
		"RestoreNodeRevision": {{noNode, "name", func(_, node string) error {
			if node == own.leaf {
				must[*flowstorev1.Node](t)(c.UpdateNode(own.ctx, &flowstorev1.UpdateNodeRequest{Node: &flowstorev1.Node{Name: node, Note: "x"}, UpdateMask: mask("note")}))
			}
			return nodeOperations(c, own.flow, node)["RestoreNodeRevision"](own.ctx, "", "")
		}}},
		"SplitNode": {{noFlow, "flow", func(flow, _ string) error {
			return nodeOperations(c, flow, own.leaf)["SplitNode"](own.ctx, "", "")
		}}, {noNode, "node", func(_, node string) error {
			return nodeOperations(c, own.flow, node)["SplitNode"](own.ctx, "", "")
		}}},
		"UpdateNode": {{noNode, "node.name", func(_, node string) error {
			return nodeOperations(c, own.flow, node)["UpdateNode"](own.ctx, "", "")
		}}},
		"GetFlow": {{noFlow, "name", func(flow, _ string) error {
			_, err := c.GetFlow(own.ctx, &flowstorev1.GetFlowRequest{Name: flow})
			return err
		}}},
		"AddNode": {{noFlow, "flow", func(flow, _ string) error {
			_, err := c.AddNode(own.ctx, &flowstorev1.AddNodeRequest{Flow: flow, Source: &flowstorev1.AddNodeRequest_NewNode{NewNode: said("x")}})
			return err
		}}, {noNode, "parents[0]", func(_, node string) error {
			_, err := c.AddNode(own.ctx, &flowstorev1.AddNodeRequest{
				Flow: own.flow, Source: &flowstorev1.AddNodeRequest_NewNode{NewNode: said("x")}, Parents: []string{node},
			})
			return err
		}}},
		"SetCurrentNode": {{noFlow, "flow", func(flow, _ string) error {
			_, err := c.SetCurrentNode(own.ctx, &flowstorev1.SetCurrentNodeRequest{Flow: flow})
			return err
		}}, {noNode, "node", func(_, node string) error {
			_, err := c.SetCurrentNode(own.ctx, &flowstorev1.SetCurrentNodeRequest{Flow: own.flow, Node: node})
			return err
		}}},
		"ListPathNodes": {{noFlow, "flow", func(flow, _ string) error {
			_, err := c.ListPathNodes(own.ctx, &flowstorev1.ListPathNodesRequest{Flow: flow})
			return err
		}}, {noNode, "node", func(_, node string) error {
			_, err := c.ListPathNodes(own.ctx, &flowstorev1.ListPathNodesRequest{Flow: own.flow, Node: node})
			return err
		}}},
		"ListHistoryNodes": {{noFlow, "flow", func(flow, _ string) error {
			_, err := c.ListHistoryNodes(own.ctx, &flowstorev1.ListHistoryNodesRequest{Flow: flow})
			return err
		}}},
		"DiffNodes": {{noNode, "node", func(_, node string) error {
			_, err := c.DiffNodes(own.ctx, &flowstorev1.DiffNodesRequest{Node: node, Other: own.root})
			return err
		}}, {noNode, "other", func(_, node string) error {
			_, err := c.DiffNodes(own.ctx, &flowstorev1.DiffNodesRequest{Node: own.root, Other: node})
			return err
		}}},
		"DiffHeads": {{noFlow, "flow", func(flow, _ string) error {
			_, err := c.DiffHeads(own.ctx, &flowstorev1.DiffHeadsRequest{Flow: flow, Node: own.root, Other: own.leaf})
			return err
		}}, {noNode, "other", func(_, node string) error {
			_, err := c.DiffHeads(own.ctx, &flowstorev1.DiffHeadsRequest{Flow: own.flow, Node: own.root, Other: node})
			return err
		}}},
		"ValidateFlow": {{noFlow, "flow", func(flow, _ string) error {
			_, err := c.ValidateFlow(own.ctx, &flowstorev1.ValidateFlowRequest{Flow: flow})
			return err
		}}},
		"ConnectNodes":    operation("ConnectNodes"),
		"DisconnectNodes": operation("DisconnectNodes"),
		"ReconnectNodes":  operation("ReconnectNodes"),
		"RemoveNode": {{noFlow, "flow", func(flow, _ string) error {
			return operations(c, flow, own.root, loose(own))["RemoveNode"](own.ctx, "", "")
		}}, {noNode, "node", func(_, node string) error {
			if node == own.leaf {
				node = loose(own)
			}
			return operations(c, own.flow, own.root, node)["RemoveNode"](own.ctx, "", "")
		}}},
		"BranchFlow": {{noFlow, "flow", func(flow, _ string) error {
			return operations(c, flow, "", loose(own))["BranchFlow"](own.ctx, "", "")
		}}, {noNode, "node", func(_, node string) error {
			_, err := c.BranchFlow(own.ctx, &flowstorev1.BranchFlowRequest{Flow: own.flow, Node: node, DisplayName: "晴"})
			return err
		}}},
		"ForkFlow": {{noFlow, "flow", func(flow, _ string) error {
			_, err := c.ForkFlow(own.ctx, &flowstorev1.ForkFlowRequest{Flow: flow, Way: flowstorev1.ForkWay_FORK_WAY_WHOLE})
			return err
		}}, {noNode, "node", func(_, node string) error {
			return operations(c, own.flow, "", node)["ForkFlow"](own.ctx, "", "")
		}}},
		"RebuildFlow": {{noFlow, "flow", func(flow, _ string) error {
			return rebuild(flow, own.leaf)
		}}, {noNode, "nodes[0]", func(_, node string) error {
			return rebuild(own.flow, node)
		}}},
		"PurgeNode": {{noNode, "name", func(_, node string) error {
			if node == own.leaf {
				node = trash(store.Thing{Kind: store.KindNode, ID: uuid.MustParse(id(3001))})
			}
			_, err := c.PurgeNode(own.ctx, &flowstorev1.PurgeNodeRequest{Name: node, Reason: "r"})
			return err
		}}},
		"PurgeFlow": {{noFlow, "name", func(flow, _ string) error {
			if flow == own.flow {
				flow = trash(store.Thing{Kind: store.KindFlow, ID: uuid.MustParse(id(3002))})
			}
			_, err := c.PurgeFlow(own.ctx, &flowstorev1.PurgeFlowRequest{Name: flow, Reason: "r"})
			return err
		}}},
		"UndoFlow": {{noFlow, "flow", func(flow, _ string) error {
			loose(own)
			return operations(c, flow, "", "")["UndoFlow"](own.ctx, "", "")
		}}},
		"RedoFlow": {{noFlow, "flow", func(flow, _ string) error {
			loose(own)
			must[*flowstorev1.UndoFlowResponse](t)(c.UndoFlow(own.ctx, &flowstorev1.UndoFlowRequest{Flow: own.flow}))
			return operations(c, flow, "", "")["RedoFlow"](own.ctx, "", "")
		}}},
		"DeleteNode": {{noNode, "name", func(_, node string) error {
			if node == own.leaf {
				node = must[*flowstorev1.Node](t)(c.CreateNode(own.ctx, &flowstorev1.CreateNodeRequest{Node: said("x")})).GetName()
			}
			return trashCalls(c, "", node)["DeleteNode"](own.ctx)
		}}},
		"UndeleteNode": {{noNode, "name", func(_, node string) error {
			if node == own.leaf {
				node = must[*flowstorev1.Node](t)(c.CreateNode(own.ctx, &flowstorev1.CreateNodeRequest{Node: said("x")})).GetName()
				must[*flowstorev1.DeleteNodeResponse](t)(c.DeleteNode(own.ctx, &flowstorev1.DeleteNodeRequest{Name: node}))
			}
			return trashCalls(c, "", node)["UndeleteNode"](own.ctx)
		}}},
		"DeleteFlow": {{noFlow, "name", func(flow, _ string) error {
			err := trashCalls(c, flow, "")["DeleteFlow"](own.ctx)
			if flow == own.flow {
				must[*flowstorev1.Flow](t)(c.UndeleteFlow(own.ctx, &flowstorev1.UndeleteFlowRequest{Name: flow}))
			}
			return err
		}}},
		"UndeleteFlow": {{noFlow, "name", func(flow, _ string) error {
			if flow == own.flow {
				must[*flowstorev1.Flow](t)(c.DeleteFlow(own.ctx, &flowstorev1.DeleteFlowRequest{Name: flow}))
			}
			return trashCalls(c, flow, "")["UndeleteFlow"](own.ctx)
		}}},
		"UpdateFlow": {{noFlow, "flow.name", func(flow, _ string) error {
			return operations(c, flow, "", "")["UpdateFlow"](own.ctx, "", "")
		}}},
		// These name nothing that could be foreign: settle has made with them what the others find.
		"CreateNode": nil, "CreateFlow": nil, "ImportFlows": nil, "FlushStore": nil, "CheckStore": nil, "RepairStore": nil,
		"ListNodes": {{noFlow, "flow", func(flow, _ string) error {
			_, err := c.ListNodes(own.ctx, &flowstorev1.ListNodesRequest{Flow: flow})
			return err
		}}},
		"ExportFlows": {{noFlow, "flows[0]", func(flow, _ string) error {
			_, err := exporting(c.ExportFlows(own.ctx, &flowstorev1.ExportFlowsRequest{Flows: []string{flow}}))
			return err
		}}},
		"SearchNodes": {{"InvalidArgument INVALID_QUERY", "query", func(flow, _ string) error {
			_, err := c.SearchNodes(own.ctx, &flowstorev1.SearchNodesRequest{Query: "flow:" + flow})
			return err
		}}},
		"ListTags": nil,
		// It lists what is the caller's own: look compares what the other sees before and after.
		"ListFlows": nil,
		// Its filter names what need not be there; TestWatchedNamespace looks at what it tells.
		"WatchEvents": nil,
	}
	methods := flowstorev1.File_tsumugi_flowstore_v1_flowstore_proto.Services().Get(0).Methods()
	for i := range methods.Len() {
		name := string(methods.Get(i).Name())
		tries, known := calls[name]
		if !known {
			t.Errorf("%s is not tried", name)
		}
		for _, try := range tries {
			if err := try.call(own.flow, own.leaf); err != nil {
				t.Errorf("%s with the caller's own: %v", name, err)
			}
			expect(t, try.call(other.flow, other.leaf), try.refused, try.field)
		}
	}
	must[*flowstorev1.FlushStoreResponse](t)(c.FlushStore(own.ctx, &flowstorev1.FlushStoreRequest{}))
	if all, err := exporting(c.ExportFlows(own.ctx, &flowstorev1.ExportFlowsRequest{})); err != nil || strings.Contains(all, strings.TrimPrefix(other.flow, "flows/")) {
		t.Errorf("an export holds what is another's: %s, %v", all, err)
	}
	if _, err := importing(own.ctx, c, nil, conversation); err != nil {
		t.Error(err)
	}
	if looked, err := receive(c.CheckStore(namespace.With(t.Context(), "team-c"), &flowstorev1.CheckStoreRequest{})); err != nil || len(looked) != 1 {
		t.Errorf("a look at an empty namespace: %v, %v", looked, err)
	}
	if len(l.times) != 1 || l.times["team-a"] != 1 {
		t.Errorf("flushed were %v", l.times)
	}
	if nodes := before[2].(*flowstorev1.ListNodesResponse).GetNodes(); len(nodes) != 2 {
		t.Errorf("%d nodes are listed", len(nodes))
	}
	if flows := before[3].(*flowstorev1.ListFlowsResponse).GetFlows(); len(flows) != 1 {
		t.Errorf("%d flows are listed", len(flows))
	}
	for i, m := range look(t, c, other) {
		same(t, before[i], m)
	}
}

// look reads all that a namespace holds.
func look(t *testing.T, c flowstorev1.FlowStoreServiceClient, a tenant) []proto.Message {
	t.Helper()
	return []proto.Message{
		must[*flowstorev1.Flow](t)(c.GetFlow(a.ctx, &flowstorev1.GetFlowRequest{Name: a.flow})),
		must[*flowstorev1.ListPathNodesResponse](t)(c.ListPathNodes(a.ctx, &flowstorev1.ListPathNodesRequest{Flow: a.flow})),
		must[*flowstorev1.ListNodesResponse](t)(c.ListNodes(a.ctx, &flowstorev1.ListNodesRequest{})),
		must[*flowstorev1.ListFlowsResponse](t)(c.ListFlows(a.ctx, &flowstorev1.ListFlowsRequest{})),
		must[*flowstorev1.SearchNodesResponse](t)(c.SearchNodes(a.ctx, &flowstorev1.SearchNodesRequest{Query: "-tag:x"})),
		must[*flowstorev1.ListTagsResponse](t)(c.ListTags(a.ctx, &flowstorev1.ListTagsRequest{})),
	}
}
