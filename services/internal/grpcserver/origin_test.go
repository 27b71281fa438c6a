package grpcserver_test

import (
	"context"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"

	agentv1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/agent/v1"
	flowstorev1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/flowstore/v1"
	"github.com/tsumugi-dev/tsumugi/services/internal/origin"
)

// The name that a caller gives itself goes through every service, as our own clients hand it on; one that cannot be told is refused.
func TestOrigin(t *testing.T) {
	t.Parallel()
	store := serve(t, &fake{create: func(ctx context.Context, _ *flowstorev1.CreateNodeRequest) (*flowstorev1.Node, error) {
		return &flowstorev1.Node{Model: origin.From(ctx)}, nil
	}}, nil)
	r := serve(t, &fake{
		create: func(ctx context.Context, q *flowstorev1.CreateNodeRequest) (*flowstorev1.Node, error) {
			return store.flows.CreateNode(ctx, q)
		},
		watch: func(_ *agentv1.WatchGenerationRequest, s grpc.ServerStreamingServer[agentv1.GenerateNodeEvent]) error {
			return s.Send(text(origin.From(s.Context())))
		},
	}, nil)
	for _, tt := range []struct {
		ctx  context.Context
		want string
	}{
		{t.Context(), ""},
		{origin.With(t.Context(), "desk 1"), "desk 1"},
		{metadata.AppendToOutgoingContext(t.Context(), "tsumugi-client", "desk-1"), "desk-1"},
	} {
		got, err := r.flows.CreateNode(tt.ctx, &flowstorev1.CreateNodeRequest{})
		if err != nil || got.GetModel() != tt.want {
			t.Errorf("%q, %v; want %q", got.GetModel(), err, tt.want)
		}
	}
	s, err := r.agent.WatchGeneration(origin.With(t.Context(), "desk 1"), &agentv1.WatchGenerationRequest{})
	if err != nil {
		t.Fatal(err)
	}
	if e, err := s.Recv(); err != nil || e.GetText().GetText() != "desk 1" {
		t.Errorf("a stream of %v, %v", e, err)
	}
	for _, pairs := range [][]string{{"tsumugi-client", origin.External}, {"tsumugi-client", ""}, {"tsumugi-client", "a", "tsumugi-client", "b"}} {
		_, err := r.flows.CreateNode(metadata.AppendToOutgoingContext(t.Context(), pairs...), &flowstorev1.CreateNodeRequest{})
		check(t, err, codes.InvalidArgument, "INVALID_FIELD")
	}
}
