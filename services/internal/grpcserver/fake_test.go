package grpcserver_test

import (
	"context"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	agentv1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/agent/v1"
	flowstorev1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/flowstore/v1"
	"github.com/tsumugi-dev/tsumugi/services/internal/grpcserver"
	"github.com/tsumugi-dev/tsumugi/services/internal/testkit"
)

func TestMain(m *testing.M) { testkit.Main(m) }

// fake has one call and one stream, which do what the test says.
type fake struct {
	flowstorev1.UnimplementedFlowStoreServiceServer
	agentv1.UnimplementedAgentServiceServer
	create func(context.Context, *flowstorev1.CreateNodeRequest) (*flowstorev1.Node, error)
	watch  func(*agentv1.WatchGenerationRequest, grpc.ServerStreamingServer[agentv1.GenerateNodeEvent]) error
}

func (f *fake) CreateNode(ctx context.Context, r *flowstorev1.CreateNodeRequest) (*flowstorev1.Node, error) {
	return f.create(ctx, r)
}

func (f *fake) WatchGeneration(r *agentv1.WatchGenerationRequest, s grpc.ServerStreamingServer[agentv1.GenerateNodeEvent]) error {
	return f.watch(r, s)
}

// rig is a server with the fake, and what it wrote.
type rig struct {
	server  *grpcserver.Server
	conn    *grpc.ClientConn
	flows   flowstorev1.FlowStoreServiceClient
	agent   agentv1.AgentServiceClient
	logs    *observer.ObservedLogs
	metrics *prometheus.Registry
}

func serve(t *testing.T, f *fake, change func(*grpcserver.Options)) rig {
	t.Helper()
	core, logs := observer.New(zapcore.DebugLevel)
	r := rig{logs: logs, metrics: prometheus.NewRegistry()}
	o := grpcserver.Options{Config: grpcserver.DefaultConfig(), Log: zap.New(core), Metrics: r.metrics}
	if change != nil {
		change(&o)
	}
	r.server, r.conn = testkit.ServeWith(t, o, func(s grpc.ServiceRegistrar) {
		flowstorev1.RegisterFlowStoreServiceServer(s, f)
		agentv1.RegisterAgentServiceServer(s, f)
	})
	r.flows, r.agent = flowstorev1.NewFlowStoreServiceClient(r.conn), agentv1.NewAgentServiceClient(r.conn)
	return r
}

// drainEvents reads a stream to its end.
func drainEvents(t *testing.T, r rig) ([]*agentv1.GenerateNodeEvent, error) {
	t.Helper()
	s, err := r.agent.WatchGeneration(t.Context(), &agentv1.WatchGenerationRequest{})
	if err != nil {
		t.Fatal(err)
	}
	var events []*agentv1.GenerateNodeEvent
	for {
		e, err := s.Recv()
		if err != nil {
			return events, err
		}
		events = append(events, proto.CloneOf(e))
	}
}

func text(s string) *agentv1.GenerateNodeEvent {
	return &agentv1.GenerateNodeEvent{Event: &agentv1.GenerateNodeEvent_Text{Text: &agentv1.TextPiece{Text: s}}}
}
