package main

import (
	"context"
	"fmt"
	"strings"

	flowstorev1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/flowstore/v1"
)

// holders gives the flows that hold a node, and whether one in the trash does. The ledger lets no node go that one in the trash
// holds: what comes back then is whole.
func (d drawing) holders(node string) (flows []string, inTrash bool) {
	for _, f := range d.flows {
		if d.is[f][prefixMember+node] != "" {
			flows = append(flows, f)
		}
	}
	return flows, len(d.trashed(node)) > 0
}

// trashed gives the flows in the trash that hold a node.
func (d drawing) trashed(node string) (flows []string) {
	for _, thing := range d.trash {
		if d.kept[thing][prefixMember+node] != "" {
			flows = append(flows, thing)
		}
	}
	return flows
}

// deleteNode deletes a node in one of the three ways, out of all flows that hold it.
func deleteNode(d drawing) *operation {
	name := d.oneOf(d.nodes)
	if name == "" {
		return nil
	}
	holding, _ := d.holders(name)
	req := &flowstorev1.DeleteNodeRequest{Name: name, RequestId: requestID(), Mode: flowstorev1.RemoveMode(d.random.IntN(4))}
	if len(holding) > 0 {
		req.Mode = d.childrenMode()
	}
	o := &operation{writes: map[key]string{}, ask: func(ctx context.Context, c client) (string, error) {
		_, err := c.DeleteNode(ctx, req)
		return "", err
	}}
	leaves := map[string]map[string]bool{name: {}}
	for _, f := range holding {
		d.flow = f
		s := d.shape()
		gone := s.remove(name, req.GetMode())
		if gone == nil {
			return nil
		}
		for m := range gone {
			if leaves[m] == nil {
				leaves[m] = map[string]bool{}
			}
			leaves[m][f] = true
		}
		part := d.becoming(s, nil)
		o.owns = append(o.owns, part.owns...)
		for k, value := range part.writes {
			o.writes[k] = value
		}
	}
	for m, left := range leaves {
		if !d.drop(o, m, left) {
			return nil
		}
	}
	return o
}

// drop has a node go to the trash that no flow holds but those it leaves; false where one in the trash does.
func (d drawing) drop(o *operation, name string, left map[string]bool) bool {
	holding, inTrash := d.holders(name)
	for _, f := range holding {
		if !left[f] {
			o.shares = append(o.shares, member(f, name))
		}
	}
	if len(holding) == len(left) {
		o.writes[key{name, partText}] = ""
		o.writes[key{name, partTrash}] = isThere
	}
	return !inTrash
}

// fromTrash draws a thing in the trash, by the beginning of its name.
func (d drawing) fromTrash(kind string) string {
	if name := d.oneOf(d.trash); strings.HasPrefix(name, kind) {
		return name
	}
	return ""
}

// back is an operation by which a thing comes back from the trash.
func (d drawing) back(name string, ask request) *operation {
	o := &operation{writes: map[key]string{{name, partTrash}: ""}, ask: ask}
	for part, value := range d.kept[name] {
		o.writes[key{name, part}] = value
		if node, isMember := strings.CutPrefix(part, prefixMember); isMember {
			o.shares = append(o.shares, key{node, partText})
		}
	}
	return o
}

func undeleteNode(d drawing) *operation {
	name := d.fromTrash("nodes/")
	if name == "" {
		return nil
	}
	req := &flowstorev1.UndeleteNodeRequest{Name: name, RequestId: requestID()}
	return d.back(name, asks(req, func(c client, ctx context.Context, r *flowstorev1.UndeleteNodeRequest) (*flowstorev1.Node, error) {
		return c.UndeleteNode(ctx, r)
	}))
}

func undeleteFlow(d drawing) *operation {
	name := d.fromTrash("flows/")
	if name == "" {
		return nil
	}
	req := &flowstorev1.UndeleteFlowRequest{Name: name, RequestId: requestID()}
	return d.back(name, asks(req, func(c client, ctx context.Context, r *flowstorev1.UndeleteFlowRequest) (*flowstorev1.Flow, error) {
		return c.UndeleteFlow(ctx, r)
	}))
}

func deleteFlow(d drawing) *operation {
	if d.flow == "" {
		return nil
	}
	req := &flowstorev1.DeleteFlowRequest{Name: d.flow, RequestId: requestID()}
	o := &operation{writes: map[key]string{{d.flow, partTrash}: isThere}}
	for part := range d.is[d.flow] {
		o.writes[key{d.flow, part}] = ""
	}
	o.ask = asks(req, func(c client, ctx context.Context, r *flowstorev1.DeleteFlowRequest) (*flowstorev1.Flow, error) {
		return c.DeleteFlow(ctx, r)
	})
	return o
}

// reason draws why something is purged.
func (d drawing) reason() string { return fmt.Sprintf("asked for\tby\n%d \\", d.random.IntN(9)) }

func purgeNode(d drawing) *operation {
	name := d.fromTrash("nodes/")
	if name == "" {
		return nil
	}
	req := &flowstorev1.PurgeNodeRequest{Name: name, Reason: d.reason()}
	return &operation{
		writes: map[key]string{{name, partTrash}: "", {name, partPurged}: req.GetReason()},
		ask: asks(req, func(c client, ctx context.Context, r *flowstorev1.PurgeNodeRequest) (*flowstorev1.Tombstone, error) {
			return c.PurgeNode(ctx, r)
		}),
	}
}

// purgeFlow purges a flow, sometimes with the nodes that no other one holds.
func purgeFlow(d drawing) *operation {
	name := d.fromTrash("flows/")
	if name == "" {
		return nil
	}
	req := &flowstorev1.PurgeFlowRequest{Name: name, Reason: d.reason(), PurgeNodes: d.random.IntN(2) == 0}
	o := &operation{writes: map[key]string{{name, partTrash}: "", {name, partPurged}: req.GetReason()}}
	o.ask = asks(req, func(c client, ctx context.Context, r *flowstorev1.PurgeFlowRequest) (*flowstorev1.Tombstone, error) {
		return c.PurgeFlow(ctx, r)
	})
	for part := range d.kept[name] {
		if node, isMember := strings.CutPrefix(part, prefixMember); isMember && req.GetPurgeNodes() {
			d.purgeOwn(o, name, node)
		}
	}
	return o
}

// purgeOwn has a node purged with its flow, unless another one holds it, which then has to stay as it is.
func (d drawing) purgeOwn(o *operation, flow, node string) {
	holding, _ := d.holders(node)
	own := len(holding) == 0
	for _, f := range holding {
		o.shares = append(o.shares, member(f, node))
	}
	for _, f := range d.trashed(node) {
		if f != flow {
			own = false
			o.shares = append(o.shares, key{f, partTrash})
		}
	}
	if own {
		o.writes[key{node, partText}] = ""
		o.writes[key{node, partPurged}] = o.writes[key{flow, partPurged}]
	}
}
