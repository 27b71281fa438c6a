// Package flowstore lets generations and contexts read, and generations store, through FlowStoreService.
package flowstore

import (
	"context"
	"fmt"
	"iter"
	"time"

	"github.com/google/uuid"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	flowstorev1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/flowstore/v1"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/adapter/downstream"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/adapter/wire"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/generation"
	"github.com/tsumugi-dev/tsumugi/services/internal/apierr"
	"github.com/tsumugi-dev/tsumugi/services/internal/namespace"
)

// called is flowstore, with what the fields of one of its calls are made from.
func called(fields map[string]string) downstream.Service {
	return downstream.Service{
		Name:   "flowstore",
		Passed: []string{"FLOW_NOT_FOUND", "NODE_NOT_FOUND", "NOT_IN_FLOW", "UNREADABLE_FILE", "STORE_READ_ONLY", "INVALID_QUERY"},
		Fields: fields,
	}
}

var (
	getNode = called(map[string]string{"name": "name"}) // that of the generation
	getFlow = called(map[string]string{"name": "flow"})
	inFlow  = called(map[string]string{"flow": "flow", "node": "parent", "parents": "parent"})
)

// retryPause is the time between two tries to store a node.
const retryPause = 200 * time.Millisecond

// Client is a generation.Flows and a nodecontext.Flows over a connection.
type Client struct {
	rpc flowstorev1.FlowStoreServiceClient
}

// New makes a Client.
func New(conn grpc.ClientConnInterface) *Client {
	return &Client{rpc: flowstorev1.NewFlowStoreServiceClient(conn)}
}

// Node gives a node.
func (c *Client) Node(ctx context.Context, ns string, id uuid.UUID) (generation.Node, error) {
	n, err := c.rpc.GetNode(namespace.With(ctx, ns), &flowstorev1.GetNodeRequest{Name: wire.Name(wire.Nodes, id)})
	if reason(err) == "NODE_NOT_FOUND" {
		return generation.Node{}, generation.ErrNoNode
	}
	if err != nil {
		return generation.Node{}, getNode.Error(err)
	}
	return wire.Node(n)
}

// Story gives the story fields of a flow.
func (c *Client) Story(ctx context.Context, ns string, flow uuid.UUID) (generation.Story, error) {
	f, err := c.rpc.GetFlow(namespace.With(ctx, ns), &flowstorev1.GetFlowRequest{Name: wire.Name(wire.Flows, flow)})
	return wire.Story(f.GetStory()), getFlow.Error(err)
}

// Path gives a node of a flow and everything before it, page by page, roots first.
func (c *Client) Path(ctx context.Context, ns string, flow, node uuid.UUID) iter.Seq2[generation.PathNode, error] {
	return pages(pathNode, func(token string) ([]*flowstorev1.PathNode, string, error) {
		page, err := c.rpc.ListPathNodes(namespace.With(ctx, ns), &flowstorev1.ListPathNodesRequest{
			Flow: wire.Name(wire.Flows, flow), Node: wire.Name(wire.Nodes, node), PageToken: token,
		})
		return page.GetNodes(), page.GetNextPageToken(), inFlow.Error(err)
	})
}

// pages gives what read makes of the items of all pages of a list. An error is the last thing it gives.
func pages[Item, T any](read func(Item) (T, error), list func(token string) (items []Item, next string, err error)) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for token := ""; ; {
			items, next, err := list(token)
			if err != nil {
				var none T
				yield(none, err)
				return
			}
			for _, item := range items {
				one, err := read(item)
				if !yield(one, err) || err != nil {
					return
				}
			}
			if token = next; token == "" {
				return
			}
		}
	}
}

func pathNode(n *flowstorev1.PathNode) (generation.PathNode, error) {
	id, err := wire.ParseName(wire.Nodes, n.GetNode().GetName())
	p := generation.PathNode{ID: id, Texts: wire.Texts(n.GetNode()), Problem: n.GetProblem(), File: n.GetProblemPath()}
	for _, name := range n.GetParents() {
		parent, wrong := wire.ParseName(wire.Nodes, name)
		p.Parents = append(p.Parents, parent)
		if err == nil {
			err = wrong
		}
	}
	if err != nil {
		err = fmt.Errorf("flowstore lists a path with a bad name: %w", err)
	}
	return p, err
}

// Add stores a new node with its edge. While flowstore is not there it is tried again until the context ends: the same
// request id cannot make two nodes. The request id is the node's id and not the caller's, which may be that of another
// request to flowstore.
func (c *Client) Add(ctx context.Context, ns string, a generation.Addition) (generation.Node, error) {
	req := addNode(a)
	req.RequestId = req.GetNodeId()
	resp, err := c.rpc.AddNode(namespace.With(ctx, ns), req)
	for unavailable(err) && pause(ctx) {
		resp, err = c.rpc.AddNode(namespace.With(ctx, ns), req)
	}
	switch r := reason(err); {
	case r == "ALREADY_EXISTS", r == "REQUEST_ID_REUSED":
		return generation.Node{}, generation.ErrTaken
	case err != nil:
		return generation.Node{}, inFlow.Error(err)
	}
	return wire.Node(resp.GetNode())
}

// addNode is the request that stores a node with its place, under its own id.
func addNode(a generation.Addition) *flowstorev1.AddNodeRequest {
	n := wire.FromNode(a.Node)
	n.Name = ""
	req := &flowstorev1.AddNodeRequest{
		Flow: wire.Name(wire.Flows, a.Flow), Source: &flowstorev1.AddNodeRequest_NewNode{NewNode: n}, NodeId: a.Node.ID.String(), SetCurrent: a.SetCurrent,
	}
	if a.Parent != uuid.Nil {
		req.Parents = []string{wire.Name(wire.Nodes, a.Parent)}
	}
	return req
}

// unavailable says that a call may succeed later. A store that cannot write says so itself.
func unavailable(err error) bool {
	return status.Code(err) == codes.Unavailable && reason(err) != "STORE_READ_ONLY"
}

// pause is false when the context ended first.
func pause(ctx context.Context) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(retryPause):
		return true
	}
}

// reason is the ErrorInfo reason of an error; empty where it has none.
func reason(err error) string {
	if e, ok := apierr.FromStatus(err); ok {
		return e.Reason
	}
	return ""
}
