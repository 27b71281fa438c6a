package transport

import (
	"context"

	"github.com/google/uuid"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	agentv1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/agent/v1"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/adapter/wire"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/generation"
	"github.com/tsumugi-dev/tsumugi/services/internal/apierr"
	"github.com/tsumugi-dev/tsumugi/services/internal/namespace"
)

// WatchGeneration attaches to a generation, running or ended.
func (s *Server) WatchGeneration(q *agentv1.WatchGenerationRequest, stream grpc.ServerStreamingServer[agentv1.GenerateNodeEvent]) error {
	f, id := named(q, q.GetName())
	if q.GetAfter() < 0 {
		f.Add("after", "must be 0 or the number of an event, is %d", q.GetAfter())
	}
	if err := f.Err(); err != nil {
		return err
	}
	ctx := stream.Context()
	v, err := s.generations.Watch(ctx, namespace.From(ctx), id, int(q.GetAfter()))
	if err != nil {
		return fault(err)
	}
	return s.show(stream, v)
}

// GetGeneration says how far a generation is.
func (s *Server) GetGeneration(ctx context.Context, q *agentv1.GetGenerationRequest) (*agentv1.Generation, error) {
	f, id := named(q, q.GetName())
	if err := f.Err(); err != nil {
		return nil, err
	}
	st, err := s.generations.Status(ctx, namespace.From(ctx), id)
	if err != nil {
		return nil, fault(err)
	}
	return status(st), nil
}

// CancelGeneration ends a generation and says how it ended.
func (s *Server) CancelGeneration(ctx context.Context, q *agentv1.CancelGenerationRequest) (*agentv1.Generation, error) {
	f, id := named(q, q.GetName())
	if err := f.Err(); err != nil {
		return nil, err
	}
	st, err := s.generations.Cancel(ctx, namespace.From(ctx), id)
	if err != nil {
		return nil, fault(err)
	}
	return status(st), nil
}

// named reads the `name` of a request.
func named(q proto.Message, name string) (*apierr.Fields, uuid.UUID) {
	f := &apierr.Fields{}
	f.Required(q)
	return f, id(f, "name", wire.Generations, name)
}

var states = map[generation.State]agentv1.Generation_State{
	generation.Running:   agentv1.Generation_STATE_RUNNING,
	generation.Done:      agentv1.Generation_STATE_DONE,
	generation.Cancelled: agentv1.Generation_STATE_CANCELLED,
	generation.Failed:    agentv1.Generation_STATE_FAILED,
}

func status(st generation.Status) *agentv1.Generation {
	g := &agentv1.Generation{
		Name: wire.Name(wire.Generations, st.ID), State: states[st.State],
		Flow: wire.Name(wire.Flows, st.Flow), Node: wire.Name(wire.Nodes, st.Node),
		LastEvent: int32(st.LastEvent), Characters: int32(st.Characters),
		FinishReason: string(st.Finish), Error: sentence(st.Err),
	}
	if !st.Started.IsZero() {
		g.StartTime = timestamppb.New(st.Started)
	}
	if !st.Ended.IsZero() {
		g.EndTime = timestamppb.New(st.Ended)
	}
	return g
}
