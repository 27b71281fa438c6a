package e2e

import (
	"context"
	"errors"
	"fmt"
	"io"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	"github.com/google/uuid"

	agentv1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/agent/v1"
	flowstorev1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/flowstore/v1"
)

// reading is what one watcher of a generation has received so far, over whatever protocol.
type reading struct {
	opened  *agentv1.Opened
	text    string // the pieces, joined
	details []*agentv1.NodeDetail
	pieces  int
	last    int32 // id of the last event that has one
	stored  *agentv1.Stored
	// err is why the stream ended; io.EOF for a good end.
	err error
	// fault is what a stream must never do.
	fault error

	receive func() (*agentv1.GenerateNodeEvent, error)
	leave   context.CancelFunc
}

// watch reads a stream of gRPC.
func watch(ctx context.Context, call func(context.Context) (grpc.ServerStreamingClient[agentv1.GenerateNodeEvent], error)) *reading {
	ctx, leave := context.WithCancel(ctx)
	stream, err := call(ctx)
	if err != nil {
		leave()
		return &reading{err: err, leave: leave}
	}
	return &reading{receive: stream.Recv, leave: leave}
}

// generate calls GenerateNode.
func (w *world) generate(q *agentv1.GenerateNodeRequest) *reading {
	return watch(w.ctx, func(ctx context.Context) (grpc.ServerStreamingClient[agentv1.GenerateNodeEvent], error) {
		return w.agents.GenerateNode(ctx, q)
	})
}

// watch calls WatchGeneration.
func (w *world) watch(generation string, after int32) *reading {
	return watch(w.ctx, func(ctx context.Context) (grpc.ServerStreamingClient[agentv1.GenerateNodeEvent], error) {
		return w.agents.WatchGeneration(ctx, &agentv1.WatchGenerationRequest{Name: generation, After: after})
	})
}

// step takes the next event; false at the end.
func (r *reading) step() bool {
	if r.err != nil {
		return false
	}
	event, err := r.receive()
	if err != nil {
		r.err = err
		r.leave()
		return false
	}
	r.fault = errors.Join(r.fault, r.take(event))
	return true
}

// take adds an event, and says what is wrong with its place in the stream.
func (r *reading) take(event *agentv1.GenerateNodeEvent) error {
	switch e := event.Event.(type) {
	case *agentv1.GenerateNodeEvent_Opened:
		if r.opened != nil {
			return errors.New("opened twice")
		}
		r.opened = e.Opened
		return nil
	case *agentv1.GenerateNodeEvent_Text:
		r.text += e.Text.Text
		r.pieces++
	case *agentv1.GenerateNodeEvent_NodeDetail:
		r.details = append(r.details, e.NodeDetail)
	case *agentv1.GenerateNodeEvent_Stored:
		r.stored = e.Stored
	default:
		return nil // belongs to the stream and has no number
	}
	before := r.last
	r.last = event.Id
	switch {
	case r.opened == nil:
		return fmt.Errorf("event %d comes before opened", event.Id)
	case event.Id <= before && !r.stored.GetReplayed():
		return fmt.Errorf("event %d comes behind %d", event.Id, before)
	}
	return nil
}

// upto reads until n pieces of text were received.
func (r *reading) upto(t *testing.T, n int) {
	t.Helper()
	for r.pieces < n {
		if !r.step() {
			t.Fatalf("the stream ended after %d pieces of text: %v", r.pieces, r.err)
		}
	}
}

// rest reads to the end.
func (r *reading) rest(t *testing.T) {
	t.Helper()
	for r.step() {
	}
	if r.fault != nil {
		t.Errorf("the stream is out of order: %v", r.fault)
	}
}

// node reads to the end, which must be a good one, and gives the stored node.
func (r *reading) node(t *testing.T) *flowstorev1.Node {
	t.Helper()
	r.rest(t)
	if !errors.Is(r.err, io.EOF) || r.stored == nil {
		t.Fatalf("the stream ended without a node: %v", r.err)
	}
	return r.stored.Node
}

// answer is what the model wrote into a node.
func answer(n *flowstorev1.Node) string {
	for _, text := range n.GetTexts() {
		if text.Role == "assistant" {
			return text.Content
		}
	}
	return ""
}

// short asks for a few tokens behind a node, always the same.
func short(flow, parent string) *agentv1.GenerateNodeRequest {
	return &agentv1.GenerateNodeRequest{
		Flow: flow, Parent: parent, RequestId: uuid.NewString(),
		Sampling: &flowstorev1.Sampling{Temperature: proto.Float64(0), Seed: proto.Uint32(1), MaxTokens: 24},
	}
}

// counting asks gemma to count on, which it does for more than 1,500 tokens: an answer that is still coming when a
// scenario breaks it off.
func counting(flow string, tokens int32) *agentv1.GenerateNodeRequest {
	return &agentv1.GenerateNodeRequest{
		Flow: flow, RequestId: uuid.NewString(), Prompt: "1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16",
		Sampling: &flowstorev1.Sampling{Temperature: proto.Float64(0), Seed: proto.Uint32(1), MaxTokens: tokens},
	}
}

// long is how many tokens are asked for where the answer is broken off.
const long = 1500
