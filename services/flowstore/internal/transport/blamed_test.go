package transport_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	flowstorev1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/flowstore/v1"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/library"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/node"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store/memory"
)

// partly is a store in which the file of one node cannot be read.
type partly struct {
	store.Store
	broken uuid.UUID
}

func (p partly) Node(ctx context.Context, ns string, id uuid.UUID) (node.Node, error) {
	if id == p.broken {
		return node.Node{}, &store.UnreadableError{Path: "nodes/000/003.xml", Reason: "holds no element"}
	}
	return p.Store.Node(ctx, ns, id)
}

func (p partly) Update(ctx context.Context, ns string, fn func(store.Tx) error) error {
	return p.Store.Update(ctx, ns, func(tx store.Tx) error { return fn(partlyTx{tx, p.broken}) })
}

// partlyTx is partly within a transaction.
type partlyTx struct {
	store.Tx
	broken uuid.UUID
}

func (p partlyTx) Node(id uuid.UUID) (node.Node, error) {
	if id == p.broken {
		return node.Node{}, &store.UnreadableError{Path: "nodes/000/003.xml", Reason: "holds no element"}
	}
	return p.Tx.Node(id)
}

func (p partlyTx) Drop(t store.Thing) error {
	if _, err := p.Node(t.ID); t.Kind == store.KindNode && err != nil {
		return err
	}
	return p.Tx.Drop(t)
}

// graph is a flow with the nodes a -> b -> broken, of which the last cannot be read, an empty flow, and a node of no flow.
type graph struct {
	c                    flowstorev1.FlowStoreServiceClient
	flow, empty          string
	a, b, broken, nobody string
}

func newGraph(t *testing.T) graph {
	t.Helper()
	g := graph{
		c: client(t, library.New(partly{memory.New(func() time.Time { return now }), uuid.MustParse(id(103))}, &counting{})), flow: "flows/" + id(1000), empty: "flows/" + id(1001),
		a: "nodes/" + id(101), b: "nodes/" + id(102), broken: "nodes/" + id(103), nobody: "nodes/" + id(104),
	}
	for _, name := range []string{g.flow, g.empty} {
		must[*flowstorev1.Flow](t)(g.c.CreateFlow(t.Context(), &flowstorev1.CreateFlowRequest{
			Flow: &flowstorev1.Flow{DisplayName: "n"}, FlowId: strings.TrimPrefix(name, "flows/"), RequestId: strings.TrimPrefix(name, "flows/"),
		}))
	}
	var parents []string
	for _, name := range []string{g.a, g.b, g.broken} {
		must[*flowstorev1.AddNodeResponse](t)(g.c.AddNode(t.Context(), &flowstorev1.AddNodeRequest{
			Flow: g.flow, Source: fresh(), NodeId: strings.TrimPrefix(name, "nodes/"), Parents: parents,
		}))
		parents = []string{name}
	}
	must[*flowstorev1.Node](t)(g.c.CreateNode(t.Context(), &flowstorev1.CreateNodeRequest{Node: said("a"), NodeId: strings.TrimPrefix(g.nobody, "nodes/")}))
	return g
}

func fresh() *flowstorev1.AddNodeRequest_NewNode {
	return &flowstorev1.AddNodeRequest_NewNode{NewNode: said("x")}
}

func stored(name string) *flowstorev1.AddNodeRequest_Node {
	return &flowstorev1.AddNodeRequest_Node{Node: name}
}

const (
	noNode     = "NotFound NODE_NOT_FOUND"
	noFlow     = "NotFound FLOW_NOT_FOUND"
	taken      = "AlreadyExists ALREADY_EXISTS"
	reused     = "InvalidArgument REQUEST_ID_REUSED"
	unreadable = "DataLoss UNREADABLE_FILE"
	outside    = "FailedPrecondition NOT_IN_FLOW"
	closes     = "FailedPrecondition CYCLE"
	nowhere    = "FailedPrecondition NO_CURRENT_NODE"
	apart      = "FailedPrecondition NOT_CONNECTED"
	stale      = "Aborted ETAG_MISMATCH"
)

// Whatever stands in the way of a request, the fields by which it was asked for are named: all of them.
func TestFieldsOfRefusals(t *testing.T) {
	t.Parallel()
	g := newGraph(t)
	gone, goneFlow, free := "nodes/"+id(404), "flows/"+id(404), id(405)
	used := id(1000) // the request that made the flow
	add := func(q *flowstorev1.AddNodeRequest) func(context.Context) error {
		return func(ctx context.Context) error { _, err := g.c.AddNode(ctx, q); return err }
	}
	behind := func(parents, children []string) func(context.Context) error {
		return add(&flowstorev1.AddNodeRequest{Flow: g.flow, Source: fresh(), Parents: parents, Children: children, NodeId: free})
	}
	edge := func(name string, parents, children []string) func(context.Context) error {
		return add(&flowstorev1.AddNodeRequest{Flow: g.flow, Source: stored(name), Parents: parents, Children: children})
	}
	createNode := func(q *flowstorev1.CreateNodeRequest) func(context.Context) error {
		return func(ctx context.Context) error { _, err := g.c.CreateNode(ctx, q); return err }
	}
	createFlow := func(q *flowstorev1.CreateFlowRequest) func(context.Context) error {
		return func(ctx context.Context) error { _, err := g.c.CreateFlow(ctx, q); return err }
	}
	get := func(name string) func(context.Context) error {
		return func(ctx context.Context) error {
			_, err := g.c.GetNode(ctx, &flowstorev1.GetNodeRequest{Name: name})
			return err
		}
	}
	current := func(flow, name string) func(context.Context) error {
		return func(ctx context.Context) error {
			_, err := g.c.SetCurrentNode(ctx, &flowstorev1.SetCurrentNodeRequest{Flow: flow, Node: name})
			return err
		}
	}
	path := func(flow, name string) func(context.Context) error {
		return func(ctx context.Context) error {
			_, err := g.c.ListPathNodes(ctx, &flowstorev1.ListPathNodesRequest{Flow: flow, Node: name})
			return err
		}
	}
	named := func(n *flowstorev1.Flow) *flowstorev1.Flow { n.DisplayName = "n"; return n }
	list := func(names ...string) []string { return names }
	for title, tt := range map[string]struct {
		call   func(context.Context) error
		want   string
		fields []string
	}{
		"CreateNode, taken":   {createNode(&flowstorev1.CreateNodeRequest{Node: said("a"), NodeId: id(101)}), taken, list("node_id")},
		"CreateNode, reused":  {createNode(&flowstorev1.CreateNodeRequest{Node: said("a"), RequestId: used}), reused, list("request_id")},
		"CreateFlow, taken":   {createFlow(&flowstorev1.CreateFlowRequest{Flow: named(&flowstorev1.Flow{}), FlowId: id(1000)}), taken, list("flow_id")},
		"CreateFlow, reused":  {createFlow(&flowstorev1.CreateFlowRequest{Flow: named(&flowstorev1.Flow{}), FlowId: id(406), RequestId: used}), reused, list("request_id")},
		"GetNode":             {get(gone), noNode, list("name")},
		"GetNode, unreadable": {get(g.broken), unreadable, list("name")},
		"GetFlow": {func(ctx context.Context) error {
			_, err := g.c.GetFlow(ctx, &flowstorev1.GetFlowRequest{Name: goneFlow})
			return err
		}, noFlow, list("name")},
		"SetCurrentNode, no flow":     {current(goneFlow, ""), noFlow, list("flow")},
		"SetCurrentNode, no node":     {current(g.flow, gone), noNode, list("node")},
		"SetCurrentNode, neither":     {current(goneFlow, gone), noFlow, list("flow", "node")},
		"SetCurrentNode, outside":     {current(g.flow, g.nobody), outside, list("node")},
		"ListPathNodes, no flow":      {path(goneFlow, ""), noFlow, list("flow")},
		"ListPathNodes, no node":      {path(g.flow, gone), noNode, list("node")},
		"ListPathNodes, neither":      {path(goneFlow, gone), noFlow, list("flow", "node")},
		"ListPathNodes, outside":      {path(g.flow, g.nobody), outside, list("node")},
		"ListPathNodes, nowhere":      {path(g.flow, ""), nowhere, list("node")},
		"AddNode, no flow":            {add(&flowstorev1.AddNodeRequest{Flow: goneFlow, Source: fresh()}), noFlow, list("flow")},
		"AddNode, no node":            {edge(gone, nil, nil), noNode, list("node")},
		"AddNode, no parents":         {behind(list(gone, g.a, "nodes/"+id(407)), nil), noNode, list("parents[0]", "parents[2]")},
		"AddNode, no child":           {behind(nil, list(g.b, gone)), noNode, list("children[1]")},
		"AddNode, nothing is there":   {add(&flowstorev1.AddNodeRequest{Flow: goneFlow, Source: stored(gone), Parents: list(gone, "nodes/"+id(407))}), noFlow, list("flow", "node", "parents[0]", "parents[1]")},
		"AddNode, parent outside":     {behind(list(g.a, g.nobody), nil), outside, list("parents[1]")},
		"AddNode, child outside":      {behind(nil, list(g.nobody)), outside, list("children[0]")},
		"AddNode, missing, outside":   {behind(list(g.nobody), list(gone)), noNode, list("children[0]", "parents[0]")},
		"AddNode, taken":              {add(&flowstorev1.AddNodeRequest{Flow: g.flow, Source: fresh(), NodeId: id(101)}), taken, list("node_id")},
		"AddNode, taken, no parent":   {add(&flowstorev1.AddNodeRequest{Flow: g.flow, Source: fresh(), NodeId: id(101), Parents: list(gone)}), taken, list("node_id", "parents[0]")},
		"AddNode, reused":             {add(&flowstorev1.AddNodeRequest{Flow: g.flow, Source: fresh(), NodeId: free, RequestId: used}), reused, list("request_id")},
		"AddNode, unreadable":         {edge(g.broken, nil, nil), unreadable, list("node")},
		"AddNode, unreadable parent":  {behind(list(g.a, g.broken), nil), unreadable, list("parents[1]")},
		"AddNode, unreadable child":   {edge(g.a, nil, list(g.broken)), unreadable, list("children[0]")},
		"AddNode, its own parent":     {edge(g.a, list(g.a), nil), closes, list("parents[0]")},
		"AddNode, its own child":      {behind(nil, list("nodes/"+free)), closes, list("children[0]")},
		"AddNode, a cycle":            {edge(g.a, list(g.b), nil), closes, list("parents[0]")},
		"AddNode, a cycle through it": {behind(list(g.b), list(g.a)), closes, list("children[0]", "parents[0]")},
		"AddNode, a parent twice":     {behind(list(g.a, g.b, g.a), nil), invalid, list("parents[2]")},
		"AddNode, a child twice":      {behind(nil, list(g.a, strings.ToUpper(g.a[6:]), "nodes/"+strings.ToUpper(g.a[6:]))), invalid, list("children[1]", "children[2]")},
	} {
		t.Run(title, func(t *testing.T) {
			t.Parallel()
			err := tt.call(t.Context())
			expectSorted(t, err, tt.want, tt.fields...)
			for _, v := range refusal(t, err).Violations {
				if v.Description == "" {
					t.Errorf("%s: nothing says what is wrong", v.Field)
				}
			}
			if _, err := g.c.GetNode(t.Context(), &flowstorev1.GetNodeRequest{Name: "nodes/" + free}); err == nil {
				t.Error("a node was stored")
			}
		})
	}
	if got := must[*flowstorev1.ListPathNodesResponse](t)(g.c.ListPathNodes(t.Context(), &flowstorev1.ListPathNodesRequest{Flow: g.empty})); len(got.GetNodes()) > 0 {
		t.Errorf("the path of an empty flow: %v", got)
	}
}

// The sentences that people read.
func TestSentencesOfRefusals(t *testing.T) {
	t.Parallel()
	g := newGraph(t)
	for _, tt := range []struct {
		q    *flowstorev1.AddNodeRequest
		want string
	}{
		{&flowstorev1.AddNodeRequest{Flow: "flows/" + id(404), Source: fresh()}, "flows/" + id(404) + " does not exist"},
		{&flowstorev1.AddNodeRequest{Flow: g.flow, Source: fresh(), Parents: []string{"nodes/" + id(404), "nodes/" + id(405)}}, "nodes/" + id(404) + " does not exist (and 1 more)"},
		{&flowstorev1.AddNodeRequest{Flow: g.flow, Source: fresh(), NodeId: id(101)}, "nodes/" + id(101) + " exists already; choose another id, or none"},
		{&flowstorev1.AddNodeRequest{Flow: g.flow, Source: stored(g.broken)}, g.broken + " cannot be read: nodes/000/003.xml: holds no element; mend the file or put it away"},
	} {
		_, err := g.c.AddNode(t.Context(), tt.q)
		if got := refusal(t, err).Message; got != tt.want {
			t.Errorf("%q, want %q", got, tt.want)
		}
	}
}
