package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/google/uuid"

	flowstorev1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/flowstore/v1"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/flow"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/node"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/transfer"
)

// importFlows imports our own export of one flow, which is one transaction: a new flow, or a node more of one that there is.
func importFlows(d drawing) *operation {
	if d.flow == "" || len(d.flows) < d.maxFlows && d.random.IntN(4) == 0 {
		return d.importNew()
	}
	return d.importMore()
}

// imported draws a node of an export and says so in what is written.
func (d drawing) imported(o *operation, id uuid.UUID) node.Node {
	n := node.Node{ID: id, Texts: []node.Text{{Role: "user", Content: d.text()}}}
	o.writes[key{node.Name(id), partText}] = nodeFileParts(n)[partText]
	return n
}

// importNew imports a line of some nodes.
func (d drawing) importNew() *operation {
	f := flow.Flow{ID: uuid.Must(uuid.NewV7()), Name: "夜の駅", Description: d.text(), Next: 1}
	o := &operation{writes: map[key]string{}}
	var nodes []node.Node
	for range 1 + d.random.IntN(4) {
		n := d.imported(o, uuid.Must(uuid.NewV7()))
		nodes = append(nodes, n)
		f.Members = append(f.Members, flow.Member{Index: f.Next, Node: n.ID})
		if f.Next > 1 {
			f.Edges = append(f.Edges, flow.Edge{From: f.Next - 1, To: f.Next, Name: "枝"})
		}
		f.Current = f.Next
		f.Next++
	}
	f.Heads = []flow.Head{{Name: "枝 0", Index: f.Current}}
	for part, value := range flowFileParts(f) {
		o.writes[key{flow.Name(f.ID), part}] = value
	}
	o.ask = imports(nodes, f)
	return o
}

// importMore imports a flow that there is, with a new node behind one that it holds and, sometimes, another text of that one.
func (d drawing) importMore() *operation {
	above := d.oneOf(d.members[d.flow])
	if above == "" {
		return nil
	}
	o := d.part(map[key]string{}, nil)
	n := d.imported(o, uuid.Must(uuid.NewV7()))
	nodes := []node.Node{n}
	parent := uuid.MustParse(above[len(node.Collection):])
	if d.random.IntN(2) == 0 {
		after := d.saying(above)
		other := d.imported(o, parent)
		after.Model, after.Texts = "", []string{other.Texts[0].Role, other.Texts[0].Content}
		o.writes[key{above, partText}] = after.value() // its tags stay
		nodes = append(nodes, other)
	}
	o.writes[member(d.flow, node.Name(n.ID))] = continues(map[string]string{above: ""})
	o.ask = imports(nodes, flow.Flow{
		ID: uuid.MustParse(d.flow[len(flow.Collection):]), Name: "夜の駅", Next: 3,
		Members: []flow.Member{{Index: 1, Node: parent}, {Index: 2, Node: n.ID}}, Edges: []flow.Edge{{From: 1, To: 2}},
	})
	return d.keep(o, above)
}

// imports sends an export. Sent again, it changes nothing.
func imports(nodes []node.Node, f flow.Flow) request {
	var file bytes.Buffer
	add := func(line []byte, err error) {
		if err != nil {
			panic(err) // it can always be written
		}
		file.Write(line)
	}
	add(transfer.HeadLine())
	for _, n := range nodes {
		add(transfer.NodeLine(n))
	}
	add(transfer.FlowLine(f))
	add(transfer.EndLine(transfer.End{Flows: 1, Nodes: len(nodes)}))
	return func(ctx context.Context, c client) (string, error) {
		stream, err := c.ImportFlows(ctx)
		if err != nil {
			return "", err
		}
		err = stream.Send(&flowstorev1.ImportFlowsRequest{Part: &flowstorev1.ImportFlowsRequest_Chunk{Chunk: file.Bytes()}})
		if err != nil && !errors.Is(err, io.EOF) { // of which CloseAndRecv tells the reason
			return "", err
		}
		answer, err := stream.CloseAndRecv()
		if err == nil && answer.GetFailed() > 0 {
			return "", fmt.Errorf("not imported: %v", answer.GetFailures())
		}
		return "", err
	}
}
