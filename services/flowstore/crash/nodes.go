package main

import (
	"context"
	"encoding/json"
	"fmt"

	"google.golang.org/protobuf/types/known/fieldmaskpb"

	flowstorev1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/flowstore/v1"
)

// saying is what a node says, as its value in the ledger holds it.
type saying struct {
	Model string   `json:",omitempty"`
	Tags  []string `json:",omitempty"`
	// Texts are roles and texts in turn.
	Texts []string
}

func (s saying) value() string {
	data, err := json.Marshal(s)
	if err != nil {
		panic(err) // texts and lists of texts always can be
	}
	return string(data)
}

// saying reads what a node says.
func (d drawing) saying(node string) (s saying) {
	if err := json.Unmarshal([]byte(d.is[node][partText]), &s); err != nil {
		panic(err) // value wrote it
	}
	return s
}

func updateNode(d drawing) *operation {
	name := d.oneOf(d.nodes)
	if name == "" {
		return nil
	}
	n := d.node()
	n.Name = name
	after := d.saying(name)
	mask := &fieldmaskpb.FieldMask{}
	if d.random.IntN(2) == 0 {
		n.Tags = []string{fmt.Sprintf("稿%d", d.random.Uint64())}
		mask.Paths, after.Tags = append(mask.GetPaths(), "tags"), n.GetTags()
	}
	if len(mask.GetPaths()) == 0 || d.random.IntN(2) == 0 {
		mask.Paths, after.Texts = append(mask.GetPaths(), "texts"), textsOf(n)
	}
	req := &flowstorev1.UpdateNodeRequest{Node: n, UpdateMask: mask, RequestId: requestID()}
	return &operation{writes: map[key]string{{name, partText}: after.value()}, ask: asks(req,
		func(c client, ctx context.Context, r *flowstorev1.UpdateNodeRequest) (*flowstorev1.Node, error) {
			if r.GetNode().GetEtag() == "" {
				now, err := c.GetNode(ctx, &flowstorev1.GetNodeRequest{Name: name, View: flowstorev1.NodeView_NODE_VIEW_BASIC})
				if err != nil {
					return nil, err
				}
				r.Node.Etag = now.GetEtag() // The request that is repeated has it, too.
			}
			return c.UpdateNode(ctx, r)
		})}
}

// restoreNodeRevision gives a node back what it said before it was changed last.
func restoreNodeRevision(d drawing) *operation {
	name := d.oneOf(d.nodes)
	before := d.previous[name]
	if before == "" {
		return nil
	}
	req := &flowstorev1.RestoreNodeRevisionRequest{Name: name, RequestId: requestID()}
	return &operation{writes: map[key]string{{name, partText}: before}, ask: func(ctx context.Context, c client) (string, error) {
		if req.GetRevision() == "" {
			list, err := c.ListNodeRevisions(ctx, &flowstorev1.ListNodeRevisionsRequest{Name: name, PageSize: 2})
			if err != nil {
				return "", err
			}
			if len(list.GetRevisions()) < 2 {
				return "", fmt.Errorf("%s has no revision, and was changed", name)
			}
			req.Revision = list.GetRevisions()[1].GetRevision()
		}
		_, err := c.RestoreNodeRevision(ctx, req)
		return "", err
	}}
}

// splitNode keeps some characters of the first text.
func splitNode(d drawing) *operation {
	whole := d.oneOf(d.members[d.flow])
	if whole == "" {
		return nil
	}
	part := d.saying(whole)
	text := []rune(part.Texts[1])
	if len(text) < 2 {
		return nil
	}
	at := int32(1 + d.random.IntN(len(text)-1))
	index := int32(0)
	d.copied[marker(part.Texts[1])] = true
	part.Texts = []string{part.Texts[0], string(text[:at])}
	req := &flowstorev1.SplitNodeRequest{Flow: d.flow, Node: whole, TextIndex: &index, Offset: &at, SetCurrent: d.random.IntN(4) == 0, RequestId: requestID()}
	o := d.part(map[key]string{}, nil)
	name := d.newNode(o, &req.NodeId)
	parents := d.parents(d.flow, whole)
	for p := range parents {
		parents[p] = "" // the names of edges stay with the other one
	}
	o.writes[key{name, partText}] = part.value()
	o.writes[member(d.flow, name)] = continues(parents)
	if req.GetSetCurrent() {
		o.writes[key{d.flow, partCurrent}] = name
	}
	o.ask = func(ctx context.Context, c client) (string, error) {
		answer, err := c.SplitNode(ctx, req)
		return answer.GetNode().GetName(), err
	}
	return d.keep(o, whole)
}
