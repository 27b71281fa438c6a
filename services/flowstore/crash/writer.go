package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"

	"github.com/google/uuid"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/fieldmaskpb"

	flowstorev1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/flowstore/v1"
)

// request is something that was asked for: it can be asked again, and notes what was acknowledged.
type request func(ctx context.Context, c flowstorev1.FlowStoreServiceClient) error

// writer asks for one thing after the other.
type writer struct {
	number int
	ledger *ledger
	random *rand.Rand
	count  int
	// own are the nodes that this writer added to each flow. Only he changes what they continue, so that the ledger knows
	// which of two changes came later.
	own map[*flowRecord][]string
	// leaving are nodes that nobody else knows of: they leave their flow again.
	leaving map[*flowRecord][]string
}

// run asks until stop is closed or the server is gone. underWay is what was asked for and not answered, if anything.
func (w *writer) run(ctx context.Context, c flowstorev1.FlowStoreServiceClient, stop <-chan struct{}) (underWay request, err error) {
	for {
		select {
		case <-stop:
			return nil, nil
		default:
		}
		next := w.next()
		err := next(ctx, c)
		switch {
		case err == nil:
			w.count++
		case status.Code(err) == codes.Unavailable:
			return next, nil
		default:
			return nil, fmt.Errorf("writer %d: %w", w.number, err)
		}
	}
}

// next draws what to ask for.
func (w *writer) next() request {
	f := w.ledger.flows[w.random.IntN(len(w.ledger.flows))]
	if own := w.number < len(w.ledger.flows); own && w.random.IntN(4) == 0 {
		if w.random.IntN(3) == 0 {
			return w.describe(w.ledger.flows[w.number])
		}
		return w.setCurrent(w.ledger.flows[w.number])
	}
	switch w.random.IntN(7) {
	case 0:
		return w.createNode()
	case 1:
		if loose := w.ledger.takeLoose(); loose != "" {
			return w.addStored(f, loose)
		}
	case 2, 3:
		if again := w.rejoin(f); again != nil {
			return again
		}
	case 4:
		if n := len(w.leaving[f]); n > 0 {
			return w.remove(f, w.leaving[f][n-1])
		}
		return w.addNew(f, true)
	}
	return w.addNew(f, false)
}

func (w *writer) remove(f *flowRecord, name string) request {
	w.leaving[f] = w.leaving[f][:len(w.leaving[f])-1]
	req := &flowstorev1.RemoveNodeRequest{Flow: f.name, Node: name, RequestId: uuid.NewString()}
	return func(ctx context.Context, c flowstorev1.FlowStoreServiceClient) error {
		_, err := c.RemoveNode(ctx, req)
		if err == nil {
			w.ledger.removed(f, name)
		}
		return err
	}
}

// rejoin takes an edge to a node of the writer away, moves or adds one; nil where nothing can be done.
func (w *writer) rejoin(f *flowRecord) request {
	if len(w.own[f]) == 0 {
		return nil
	}
	child := w.own[f][w.random.IntN(len(w.own[f]))]
	parents := w.ledger.parentsOf(f, child)
	parent := w.ledger.earlier(f, child, w.random)
	if len(parents) > 0 {
		old := parents[w.random.IntN(len(parents))]
		switch w.random.IntN(3) {
		case 0:
			return w.disconnect(f, old, child)
		case 1:
			if parent != old {
				return w.reconnect(f, old, parent, child)
			}
		}
	}
	if parent != "" {
		return w.connect(f, parent, child)
	}
	return nil
}

func (w *writer) reconnect(f *flowRecord, from, to, child string) request {
	req := &flowstorev1.ReconnectNodesRequest{Flow: f.name, Child: child, OldParent: from, NewParent: to, RequestId: uuid.NewString()}
	return func(ctx context.Context, c flowstorev1.FlowStoreServiceClient) error {
		_, err := c.ReconnectNodes(ctx, req)
		if err == nil {
			w.ledger.parted(f, from, child)
			w.ledger.joined(f, to, child)
		}
		return err
	}
}

func (w *writer) connect(f *flowRecord, parent, child string) request {
	req := &flowstorev1.ConnectNodesRequest{Flow: f.name, Parent: parent, Child: child, DisplayName: "枝", RequestId: uuid.NewString()}
	return func(ctx context.Context, c flowstorev1.FlowStoreServiceClient) error {
		_, err := c.ConnectNodes(ctx, req)
		if err == nil {
			w.ledger.joined(f, parent, child)
		}
		return err
	}
}

func (w *writer) disconnect(f *flowRecord, parent, child string) request {
	req := &flowstorev1.DisconnectNodesRequest{Flow: f.name, Parent: parent, Child: child, RequestId: uuid.NewString()}
	return func(ctx context.Context, c flowstorev1.FlowStoreServiceClient) error {
		_, err := c.DisconnectNodes(ctx, req)
		if err == nil {
			w.ledger.parted(f, parent, child)
		}
		return err
	}
}

func (w *writer) createNode() request {
	text := w.text()
	req := &flowstorev1.CreateNodeRequest{Node: said(text), RequestId: uuid.NewString()}
	return func(ctx context.Context, c flowstorev1.FlowStoreServiceClient) error {
		n, err := c.CreateNode(ctx, req)
		if err == nil {
			w.ledger.created(n.GetName(), text)
		}
		return err
	}
}

func (w *writer) addNew(f *flowRecord, leaving bool) request {
	text := w.text()
	req := &flowstorev1.AddNodeRequest{
		Flow: f.name, Source: &flowstorev1.AddNodeRequest_NewNode{NewNode: said(text)},
		Parents: w.ledger.someMembers(f, w.random.IntN(3), w.random), RequestId: uuid.NewString(),
	}
	return w.add(f, req, &text, leaving)
}

func (w *writer) addStored(f *flowRecord, name string) request {
	req := &flowstorev1.AddNodeRequest{
		Flow: f.name, Source: &flowstorev1.AddNodeRequest_Node{Node: name},
		Parents: w.ledger.someMembers(f, w.random.IntN(3), w.random), RequestId: uuid.NewString(),
	}
	return w.add(f, req, nil, false)
}

func (w *writer) add(f *flowRecord, req *flowstorev1.AddNodeRequest, text *string, leaving bool) request {
	return func(ctx context.Context, c flowstorev1.FlowStoreServiceClient) error {
		answer, err := c.AddNode(ctx, req)
		if err == nil {
			mine := w.own
			if leaving {
				mine = w.leaving
			}
			w.ledger.added(f, answer.GetNode().GetName(), text, req.GetParents(), leaving)
			mine[f] = append(mine[f], answer.GetNode().GetName())
		}
		return err
	}
}

func (w *writer) setCurrent(f *flowRecord) request {
	var to string
	if members := w.ledger.someMembers(f, 1, w.random); len(members) > 0 {
		to = members[0]
	}
	return func(ctx context.Context, c flowstorev1.FlowStoreServiceClient) error {
		w.ledger.move(f, to)
		_, err := c.SetCurrentNode(ctx, &flowstorev1.SetCurrentNodeRequest{Flow: f.name, Node: to})
		if err == nil {
			w.ledger.moved(f)
		}
		return err
	}
}

func (w *writer) describe(f *flowRecord) request {
	text := w.text()
	return func(ctx context.Context, c flowstorev1.FlowStoreServiceClient) error {
		w.ledger.write(f, text)
		_, err := c.UpdateFlow(ctx, &flowstorev1.UpdateFlowRequest{
			Flow: &flowstorev1.Flow{Name: f.name, Description: text}, UpdateMask: &fieldmaskpb.FieldMask{Paths: []string{"description"}},
		})
		if err == nil {
			w.ledger.wrote(f)
		}
		return err
	}
}

func said(text string) *flowstorev1.Node {
	return &flowstorev1.Node{Texts: []*flowstorev1.Text{{Role: "user", Content: text}}}
}

// text draws a text of its own, up to some kilobytes, with things in it that formats stumble over.
func (w *writer) text() string {
	pieces := []string{"夜明け前の町は静かだった。\n", "]]>", "\r\n", "\x00", "\\", "  \n\n", "少女は駅に立っていた。", "&lt;", "👩‍👩‍👧"}
	var b strings.Builder
	fmt.Fprintf(&b, "%d %x ", w.number, w.random.Uint64())
	for range w.random.IntN(60) {
		b.WriteString(pieces[w.random.IntN(len(pieces))])
	}
	return b.String()
}
