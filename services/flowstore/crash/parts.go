package main

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/google/uuid"
	"google.golang.org/protobuf/types/known/fieldmaskpb"

	flowstorev1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/flowstore/v1"
)

type client = flowstorev1.FlowStoreServiceClient

// createNode has half of the nodes' names chosen by the server.
func createNode(d drawing) *operation {
	o := &operation{}
	req := &flowstorev1.CreateNodeRequest{Node: d.node(), RequestId: requestID()}
	name := d.newNode(o, &req.NodeId)
	o.writes = map[key]string{{name, partText}: nodeParts(req.GetNode())[partText]}
	o.ask = asks(req, func(c client, ctx context.Context, r *flowstorev1.CreateNodeRequest) (*flowstorev1.Node, error) {
		return c.CreateNode(ctx, r)
	})
	return o
}

// newNode gives the name of a new node: one that is asked for, or a token for one that the server chooses.
func (d drawing) newNode(o *operation, id *string) string {
	if d.random.IntN(2) == 0 {
		*id = uuid.Must(uuid.NewV7()).String()
		return "nodes/" + *id
	}
	o.token = token()
	return o.token
}

// addNode adds a new node, or one that another flow may hold; to a head, sometimes, and as the reader's place.
func addNode(d drawing) *operation {
	if d.flow == "" {
		return nil
	}
	o := d.part(map[key]string{}, nil)
	req := &flowstorev1.AddNodeRequest{Flow: d.flow, RequestId: requestID(), SetCurrent: d.random.IntN(8) == 0}
	var name string
	if stored := d.oneOf(d.nodes); stored != "" && d.random.IntN(4) == 0 {
		if d.is[d.flow][prefixMember+stored] != "" {
			return nil
		}
		name = stored
		req.Source = &flowstorev1.AddNodeRequest_Node{Node: name}
		o.shares = append(o.shares, key{name, partText})
	} else {
		n := d.node()
		name = d.newNode(o, &req.NodeId)
		req.Source = &flowstorev1.AddNodeRequest_NewNode{NewNode: n}
		o.writes[key{name, partText}] = nodeParts(n)[partText]
	}
	req.Parents = d.some(d.random.IntN(3), name)
	parents := map[string]string{}
	for _, p := range req.GetParents() {
		parents[p] = ""
	}
	if at, branch := d.aHead(); at != "" && d.born[at] < d.bornOr(name) && d.random.IntN(3) == 0 {
		req.Head = branch
		parents[at] = ""
		o.writes[head(d.flow, branch)] = name
		d.keep(o, at)
	}
	if req.GetSetCurrent() {
		o.writes[key{d.flow, partCurrent}] = name
	}
	o.writes[member(d.flow, name)] = continues(parents)
	o.ask = func(ctx context.Context, c client) (string, error) {
		answer, err := c.AddNode(ctx, req)
		return answer.GetNode().GetName(), err
	}
	return d.keep(o, req.GetParents()...)
}

// bornOr is when a node was born; one that is still to be born is the last.
func (d drawing) bornOr(name string) int {
	if at, known := d.born[name]; known {
		return at
	}
	return len(d.born)
}

// aHead draws a head of the flow: where it stands, and its name.
func (d drawing) aHead() (at, name string) {
	name = fmt.Sprintf("枝 %d", d.random.IntN(4))
	return d.is[d.flow][prefixHead+name], name
}

// edge draws two members of the flow, the second born later, and says what the first is called there.
func (d drawing) edge() (parent, child string) {
	child = d.oneOf(d.members[d.flow])
	for _, p := range d.some(1, child) {
		return p, child
	}
	return "", child
}

// heldEdge draws an edge of the flow.
func (d drawing) heldEdge() (parent, child string) {
	if child = d.oneOf(d.members[d.flow]); child == "" {
		return "", ""
	}
	return d.oneOf(slices.Sorted(maps.Keys(d.parents(d.flow, child)))), child
}

// rejoined is an operation that changes what a member continues.
func (d drawing) rejoined(child string, ask request, change func(parents map[string]string)) *operation {
	return d.part(map[key]string{member(d.flow, child): d.parentsWith(d.flow, child, change)}, ask)
}

func connectNodes(d drawing) *operation {
	parent, child := d.edge()
	if parent == "" {
		return nil
	}
	req := &flowstorev1.ConnectNodesRequest{Flow: d.flow, Parent: parent, Child: child, RequestId: requestID()}
	if d.random.IntN(2) == 0 {
		req.DisplayName = "別の 枝"
	}
	ask := asks(req, func(c client, ctx context.Context, r *flowstorev1.ConnectNodesRequest) (*flowstorev1.Flow, error) {
		return c.ConnectNodes(ctx, r)
	})
	return d.keep(d.rejoined(child, ask, func(parents map[string]string) {
		if name := req.GetDisplayName(); name != "" || parents[parent] == "" { // no name leaves the one that is there
			parents[parent] = name
		}
	}), parent)
}

func disconnectNodes(d drawing) *operation {
	parent, child := d.heldEdge()
	if parent == "" {
		return nil
	}
	req := &flowstorev1.DisconnectNodesRequest{Flow: d.flow, Parent: parent, Child: child, RequestId: requestID()}
	ask := asks(req, func(c client, ctx context.Context, r *flowstorev1.DisconnectNodesRequest) (*flowstorev1.Flow, error) {
		return c.DisconnectNodes(ctx, r)
	})
	return d.keep(d.rejoined(child, ask, func(parents map[string]string) { delete(parents, parent) }), parent)
}

func reconnectNodes(d drawing) *operation {
	from, child := d.heldEdge()
	to := append(d.some(1, child), "")[0]
	if from == "" || to == "" || from == to {
		return nil
	}
	req := &flowstorev1.ReconnectNodesRequest{Flow: d.flow, Child: child, OldParent: from, NewParent: to, RequestId: requestID()}
	ask := asks(req, func(c client, ctx context.Context, r *flowstorev1.ReconnectNodesRequest) (*flowstorev1.Flow, error) {
		return c.ReconnectNodes(ctx, r)
	})
	return d.keep(d.rejoined(child, ask, func(parents map[string]string) {
		if _, held := parents[to]; !held { // the edge moves with its name
			parents[to] = parents[from]
		}
		delete(parents, from)
	}), from, to)
}

func updateFlow(d drawing) *operation {
	if d.flow == "" {
		return nil
	}
	text := d.text()
	req := &flowstorev1.UpdateFlowRequest{
		Flow: &flowstorev1.Flow{Name: d.flow, Description: text}, UpdateMask: &fieldmaskpb.FieldMask{Paths: []string{"description"}},
	}
	return d.part(map[key]string{{d.flow, partDescription}: text},
		asks(req, func(c client, ctx context.Context, r *flowstorev1.UpdateFlowRequest) (*flowstorev1.Flow, error) {
			return c.UpdateFlow(ctx, r)
		}))
}

func setCurrentNode(d drawing) *operation {
	to := d.oneOf(d.members[d.flow])
	if to == "" {
		return nil
	}
	if d.random.IntN(8) == 0 {
		to = ""
	}
	req := &flowstorev1.SetCurrentNodeRequest{Flow: d.flow, Node: to}
	o := d.part(map[key]string{{d.flow, partCurrent}: to},
		asks(req, func(c client, ctx context.Context, r *flowstorev1.SetCurrentNodeRequest) (*flowstorev1.Flow, error) {
			return c.SetCurrentNode(ctx, r)
		}))
	if to == "" {
		return o
	}
	return d.keep(o, to)
}

func branchFlow(d drawing) *operation {
	at, name := d.aHead()
	to := d.oneOf(d.members[d.flow])
	if at != "" || to == "" {
		return nil
	}
	req := &flowstorev1.BranchFlowRequest{Flow: d.flow, Node: to, DisplayName: name, RequestId: requestID()}
	return d.keep(d.part(map[key]string{head(d.flow, name): to},
		asks(req, func(c client, ctx context.Context, r *flowstorev1.BranchFlowRequest) (*flowstorev1.Flow, error) {
			return c.BranchFlow(ctx, r)
		})), to)
}

func createFlow(d drawing) *operation {
	if len(d.flows) >= d.maxFlows/2 { // the other half are forks
		return nil
	}
	o := &operation{}
	req := &flowstorev1.CreateFlowRequest{Flow: &flowstorev1.Flow{DisplayName: "夜の駅", Description: d.text()}, RequestId: requestID()}
	name := d.newFlow(o, &req.FlowId)
	o.writes = map[key]string{{name, partIs}: isThere, {name, partDescription}: req.GetFlow().GetDescription()}
	o.ask = asks(req, func(c client, ctx context.Context, r *flowstorev1.CreateFlowRequest) (*flowstorev1.Flow, error) {
		return c.CreateFlow(ctx, r)
	})
	return o
}

// newFlow is newNode for a flow.
func (d drawing) newFlow(o *operation, id *string) string {
	if d.random.IntN(2) == 0 {
		*id = uuid.Must(uuid.NewV7()).String()
		return "flows/" + *id
	}
	o.token = token()
	return o.token
}
