package flowstore

import (
	"context"
	"fmt"
	"strings"

	"github.com/google/uuid"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	flowstorev1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/flowstore/v1"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/adapter/wire"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/conversation"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/generation"
	"github.com/tsumugi-dev/tsumugi/services/internal/apierr"
	"github.com/tsumugi-dev/tsumugi/services/internal/namespace"
)

// Conversations is a conversation.Flows over a connection.
type Conversations struct {
	rpc flowstorev1.FlowStoreServiceClient
}

// NewConversations makes a Conversations.
func NewConversations(conn grpc.ClientConnInterface) *Conversations {
	return &Conversations{rpc: flowstorev1.NewFlowStoreServiceClient(conn)}
}

// Begin makes a flow. It has no request id: its own id does what one would, and for longer than a day.
func (c *Conversations) Begin(ctx context.Context, ns string, f conversation.Flow) error {
	_, err := c.rpc.CreateFlow(namespace.With(ctx, ns), &flowstorev1.CreateFlowRequest{
		Flow: &flowstorev1.Flow{DisplayName: f.Title, Description: f.Description}, FlowId: f.ID.String(),
	})
	e, _ := apierr.FromStatus(err)
	switch reason(err) {
	case "ALREADY_EXISTS":
		if e.Metadata["delete_time"] == "" {
			return nil
		}
		return conversation.ErrTaken
	case "PURGED":
		return conversation.ErrTaken
	}
	return conversationError(err)
}

// Add stores a node with its place, under its own id alone, as Begin. One that is in the trash, or purged, was stored.
func (c *Conversations) Add(ctx context.Context, ns string, a generation.Addition) error {
	_, err := c.rpc.AddNode(namespace.With(ctx, ns), addNode(a))
	e, _ := apierr.FromStatus(err)
	switch reason(err) {
	case "ALREADY_EXISTS":
		return nil
	case "FLOW_NOT_FOUND":
		return conversation.ErrNoFlow
	case "NODE_NOT_FOUND", "NOT_IN_FLOW":
		return conversation.ErrNoParent
	case "DELETED", "PURGED":
		switch name := e.Metadata["name"]; {
		case strings.HasPrefix(name, wire.Flows):
			return conversation.ErrNoFlow
		case name == wire.Name(wire.Nodes, a.Node.ID):
			return nil
		}
		return conversation.ErrNoParent
	}
	return conversationError(err)
}

// Members gives the nodes of a flow, by their numbers. conversation.ErrNoFlow, conversation.ErrAway.
func (c *Conversations) Members(ctx context.Context, ns string, flow uuid.UUID) ([]uuid.UUID, error) {
	f, err := c.rpc.GetFlow(namespace.With(ctx, ns), &flowstorev1.GetFlowRequest{Name: wire.Name(wire.Flows, flow)})
	if r := reason(err); r == "FLOW_NOT_FOUND" || r == "DELETED" || r == "PURGED" {
		return nil, conversation.ErrNoFlow
	}
	if err != nil {
		return nil, conversationError(err)
	}
	all := make([]uuid.UUID, len(f.GetNodes()))
	for i, n := range f.GetNodes() {
		if all[i], err = wire.ParseName(wire.Nodes, n.GetNode()); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// conversationError is what an error means that has no name of its own; nil stays nil.
func conversationError(err error) error {
	switch status.Code(err) {
	case codes.OK:
		return nil
	case codes.Unavailable, codes.DeadlineExceeded:
		return fmt.Errorf("%w: %w", conversation.ErrAway, called(nil).Error(err))
	case codes.InvalidArgument:
		return &conversation.RefusedError{Why: status.Convert(err).Message()}
	}
	return called(nil).Error(err)
}
