package flowstore

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"

	"github.com/google/uuid"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/fieldmaskpb"

	flowstorev1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/flowstore/v1"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/adapter/wire"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/summary"
	"github.com/tsumugi-dev/tsumugi/services/internal/apierr"
	"github.com/tsumugi-dev/tsumugi/services/internal/namespace"
)

// ofNode are the reasons that are about one node alone; LIMIT_EXCEEDED is where it names a node, which is too large then.
var ofNode = []string{"NODE_NOT_FOUND", "UNREADABLE_FILE", apierr.ReasonInvalidField}

var (
	// written is what a summariser changes.
	written = &fieldmaskpb.FieldMask{Paths: []string{"summary", "tags"}}
	// watched are the events after which a node may want a summary.
	watched = []string{"node_created", "node_updated", "summary_updated"}
)

// page is how many nodes are listed at once.
const page = 1000

// Summaries is a summary.Store over a connection.
type Summaries struct {
	rpc flowstorev1.FlowStoreServiceClient
}

// NewSummaries makes a Summaries.
func NewSummaries(conn grpc.ClientConnInterface) *Summaries {
	return &Summaries{rpc: flowstorev1.NewFlowStoreServiceClient(conn)}
}

// Marked gives the nodes whose summary is stale or whose file cannot be read, oldest first.
func (s *Summaries) Marked(ctx context.Context, ns string, flow uuid.UUID) iter.Seq2[uuid.UUID, error] {
	all := pages(marked, func(token string) ([]*flowstorev1.NodeItem, string, error) {
		list, err := s.rpc.ListNodes(namespace.With(ctx, ns), &flowstorev1.ListNodesRequest{
			Flow: wire.Name(wire.Flows, flow), PageSize: page, PageToken: token, Order: flowstorev1.ListOrder_LIST_ORDER_OLDEST_FIRST,
		})
		return list.GetNodes(), list.GetNextPageToken(), getFlow.Error(err)
	})
	return func(yield func(uuid.UUID, error) bool) {
		for id, err := range all {
			if (err != nil || id != uuid.Nil) && !yield(id, err) {
				return
			}
		}
	}
}

// marked gives a node whose summary is stale or whose file cannot be read; the zero UUID for any other.
func marked(n *flowstorev1.NodeItem) (uuid.UUID, error) {
	if n.GetProblem() == "" && !n.GetNode().GetSummary().GetStale() {
		return uuid.Nil, nil
	}
	return wire.ParseName(wire.Nodes, n.GetNode().GetName())
}

// Node gives a node.
func (s *Summaries) Node(ctx context.Context, ns string, id uuid.UUID) (summary.Node, error) {
	n, err := s.rpc.GetNode(namespace.With(ctx, ns), &flowstorev1.GetNodeRequest{Name: wire.Name(wire.Nodes, id)})
	if err != nil {
		return summary.Node{}, nodeError(err)
	}
	if n.GetDeleteTime() != nil {
		return summary.Node{}, &summary.NodeError{Reason: "NODE_NOT_FOUND", Message: "the node is in the trash"}
	}
	whole, err := contextNode(n)
	if err != nil {
		return summary.Node{}, err
	}
	prompt, answer := whole.Said()
	return summary.Node{
		ID: id, Prompt: prompt, Answer: answer,
		Source: n.GetSummary().GetSource(), Etag: n.GetEtag(), Stale: n.GetSummary().GetStale(),
	}, nil
}

// Write stores a summary and tags, with the etag and the source of what was read: flowstore refuses it where anything of the
// node changed. It is tried again while flowstore is not there, until the context ends.
func (s *Summaries) Write(ctx context.Context, ns string, n summary.Node, r summary.Reply) error {
	req := &flowstorev1.UpdateNodeRequest{
		Node: &flowstorev1.Node{
			Name: wire.Name(wire.Nodes, n.ID), Etag: n.Etag, Tags: r.Tags,
			Summary: &flowstorev1.NodeSummary{Text: r.Summary, Source: n.Source},
		},
		UpdateMask: written,
		RequestId:  uuid.NewString(), // of this write alone: tried again it is one
	}
	stored, err := s.rpc.UpdateNode(namespace.With(ctx, ns), req)
	for unavailable(err) && pause(ctx) {
		stored, err = s.rpc.UpdateNode(namespace.With(ctx, ns), req)
	}
	if reason(err) == "ETAG_MISMATCH" || err == nil && stored.GetSummary().GetStale() {
		return summary.ErrChanged
	}
	return nodeError(err)
}

// nodeError is a *summary.NodeError for what is about one node alone; nil stays nil.
func nodeError(err error) error {
	if e, ok := apierr.FromStatus(err); ok && (slices.Contains(ofNode, e.Reason) || e.Reason == apierr.ReasonLimitExceeded && e.Metadata["node"] != "") {
		return &summary.NodeError{Reason: e.Reason, Message: e.Message}
	}
	return getNode.Error(err)
}

// Changes gives nodes as they change.
func (s *Summaries) Changes(ctx context.Context, ns string) iter.Seq2[uuid.UUID, error] {
	return func(yield func(uuid.UUID, error) bool) {
		ctx, stop := context.WithCancel(namespace.With(ctx, ns))
		defer stop()
		stream, err := s.rpc.WatchEvents(ctx, &flowstorev1.WatchEventsRequest{Events: watched})
		for err == nil {
			var e *flowstorev1.Event
			if e, err = stream.Recv(); err == nil && !told(e, yield) {
				return
			}
		}
		if errors.Is(err, io.EOF) {
			yield(uuid.Nil, fmt.Errorf("flowstore ended the events of %s", ns))
			return
		}
		yield(uuid.Nil, getFlow.Error(err))
	}
}

// told passes an event on; false where nobody wants more.
func told(e *flowstorev1.Event, yield func(uuid.UUID, error) bool) bool {
	switch e.GetEvent() {
	case "hello", "resync_required":
		return yield(uuid.Nil, nil)
	case "heartbeat":
		return true
	}
	id, err := wire.ParseName(wire.Nodes, e.GetNode())
	return yield(id, err) && err == nil
}
