package flowstore

import (
	"context"
	"errors"
	"io"
	"iter"
	"strings"

	"github.com/google/uuid"
	"google.golang.org/protobuf/proto"

	flowstorev1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/flowstore/v1"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/adapter/wire"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/nodecontext"
	"github.com/tsumugi-dev/tsumugi/services/internal/namespace"
)

// The largest pages that there are.
const (
	pageOfWay  = 1000
	pageOfHits = 100
)

// Seq is the number of the last change of the store, which a stream of events tells first.
func (c *Client) Seq(ctx context.Context, ns string) (int64, error) {
	ctx, cancel := context.WithCancel(namespace.With(ctx, ns))
	defer cancel()
	stream, err := c.rpc.WatchEvents(ctx, &flowstorev1.WatchEventsRequest{})
	if err != nil {
		return 0, called(nil).Error(err)
	}
	hello, err := stream.Recv()
	if errors.Is(err, io.EOF) {
		return 0, errors.New("flowstore ended a stream of events before its first one")
	}
	return hello.GetLastSeq(), called(nil).Error(err)
}

// Way gives a node of a flow and everything before it, roots first, with the beginnings of their texts.
func (c *Client) Way(ctx context.Context, ns string, flow, node uuid.UUID, field string) iter.Seq2[nodecontext.Step, error] {
	service := called(map[string]string{"flow": "flow", "node": field})
	return pages(step, func(token string) ([]*flowstorev1.PathNode, string, error) {
		page, err := c.rpc.ListPathNodes(namespace.With(ctx, ns), &flowstorev1.ListPathNodesRequest{
			Flow: wire.Name(wire.Flows, flow), Node: wire.Name(wire.Nodes, node),
			PageSize: pageOfWay, PageToken: token, View: flowstorev1.NodeView_NODE_VIEW_BASIC,
		})
		return page.GetNodes(), page.GetNextPageToken(), service.Error(err)
	})
}

// History gives all nodes of a flow in the order of Way.
func (c *Client) History(ctx context.Context, ns string, flow uuid.UUID) iter.Seq2[nodecontext.Step, error] {
	return pages(step, func(token string) ([]*flowstorev1.PathNode, string, error) {
		page, err := c.rpc.ListHistoryNodes(namespace.With(ctx, ns), &flowstorev1.ListHistoryNodesRequest{
			Flow: wire.Name(wire.Flows, flow), PageSize: pageOfWay, PageToken: token, View: flowstorev1.NodeView_NODE_VIEW_BASIC,
		})
		return page.GetNodes(), page.GetNextPageToken(), inFlow.Error(err)
	})
}

func step(n *flowstorev1.PathNode) (nodecontext.Step, error) {
	node, err := contextNode(n.GetNode())
	return nodecontext.Step{Node: node, Problem: n.GetProblem(), File: n.GetProblemPath()}, err
}

// Before gives the nodes that each node of a flow continues, by their numbers.
func (c *Client) Before(ctx context.Context, ns string, flow uuid.UUID) (map[uuid.UUID][]uuid.UUID, error) {
	f, err := c.rpc.GetFlow(namespace.With(ctx, ns), &flowstorev1.GetFlowRequest{Name: wire.Name(wire.Flows, flow)})
	if err != nil {
		return nil, getFlow.Error(err)
	}
	places := map[int32]uuid.UUID{}
	for _, n := range f.GetNodes() {
		if places[n.GetIndex()], err = wire.ParseName(wire.Nodes, n.GetNode()); err != nil {
			return nil, err
		}
	}
	before := map[uuid.UUID][]uuid.UUID{}
	for _, e := range f.GetEdges() { // by `from`
		from, there := places[e.GetFrom()]
		if to, ok := places[e.GetTo()]; ok && there {
			before[to] = append(before[to], from)
		}
	}
	return before, nil
}

// Glance gives a node with so much of it.
func (c *Client) Glance(ctx context.Context, ns string, id uuid.UUID, much nodecontext.Much) (nodecontext.Node, error) {
	q := &flowstorev1.GetNodeRequest{Name: wire.Name(wire.Nodes, id)}
	switch much {
	case nodecontext.Beginnings:
		q.View = flowstorev1.NodeView_NODE_VIEW_BASIC
	case nodecontext.WholeSummary:
		q.TextIndex, q.Length = proto.Int32(0), 1
	case nodecontext.Everything:
		q.View = flowstorev1.NodeView_NODE_VIEW_FULL
	}
	n, err := c.rpc.GetNode(namespace.With(ctx, ns), q)
	if r := reason(err); r == "NODE_NOT_FOUND" || r == "DELETED" {
		return nodecontext.Node{}, nodecontext.ErrNoNode
	}
	if err != nil {
		return nodecontext.Node{}, called(nil).Error(err)
	}
	return contextNode(n)
}

// Search gives a page of nodes. What went away while it was made is left out.
func (c *Client) Search(ctx context.Context, ns string, q nodecontext.Query, page string) (nodecontext.Hits, error) {
	words, field := q.Words, "refs.query"
	if len(q.Tags) > 0 {
		words, field = tagged(q.Tags), "refs.tags"
	}
	r, err := c.rpc.SearchNodes(namespace.With(ctx, ns), &flowstorev1.SearchNodesRequest{Query: words, PageSize: pageOfHits, PageToken: page})
	if err != nil {
		return nodecontext.Hits{}, called(map[string]string{"query": field}).Error(err)
	}
	hits := nodecontext.Hits{Next: r.GetNextPageToken(), Approximate: r.GetApproximate()}
	for _, h := range r.GetHits() {
		if len(h.GetNode().GetTexts()) == 0 {
			continue
		}
		n, err := contextNode(h.GetNode())
		if err != nil {
			return nodecontext.Hits{}, err
		}
		hits.Nodes = append(hits.Nodes, n)
	}
	return hits, nil
}

// tagged is a query for nodes with any of these tags. A mark within quotation marks is written twice.
func tagged(tags []string) string {
	quoted := make([]string, len(tags))
	for i, tag := range tags {
		quoted[i] = `"` + strings.NewReplacer(`"`, `""`, "＂", "＂＂", "“", "““", "”", "””").Replace(tag) + `"`
	}
	return "tag:" + strings.Join(quoted, ",")
}

func contextNode(n *flowstorev1.Node) (nodecontext.Node, error) {
	id, err := wire.ParseName(wire.Nodes, n.GetName())
	out := nodecontext.Node{
		ID: id, Stale: n.GetSummary().GetStale(), Tags: n.GetTags(),
		Summary: nodecontext.Text{Content: n.GetSummary().GetText(), Cut: n.GetSummary().GetCharacterCount() > 0},
	}
	for _, t := range n.GetTexts() {
		out.Texts = append(out.Texts, nodecontext.Text{Role: t.GetRole(), Content: t.GetContent(), Cut: t.GetCharacterCount() > 0})
	}
	return out, err
}
