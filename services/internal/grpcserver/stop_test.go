package grpcserver_test

import (
	"context"
	"errors"
	"io"
	"net"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"

	agentv1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/agent/v1"
	flowstorev1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/flowstore/v1"
	"github.com/tsumugi-dev/tsumugi/services/internal/apierr"
	"github.com/tsumugi-dev/tsumugi/services/internal/grpcserver"
	"github.com/tsumugi-dev/tsumugi/services/internal/interceptor"
)

func healthOf(t *testing.T, r rig, service string) string {
	t.Helper()
	resp, err := grpc_health_v1.NewHealthClient(r.conn).Check(t.Context(), &grpc_health_v1.HealthCheckRequest{Service: service})
	if err != nil {
		return status.Code(err).String()
	}
	return resp.Status.String()
}

func TestHealth(t *testing.T) {
	t.Parallel()
	r := serve(t, &fake{}, nil)
	for service, want := range map[string]string{
		"": "SERVING", "tsumugi.flowstore.v1.FlowStoreService": "SERVING", "tsumugi.agent.v1.AgentService": "SERVING", "none": "NotFound",
	} {
		if got := healthOf(t, r, service); got != want {
			t.Errorf("%q is %s", service, got)
		}
	}
	r.server.Drain()
	r.server.Drain()
	if got := healthOf(t, r, ""); got != "NOT_SERVING" {
		t.Errorf("while draining: %s", got)
	}
	if n := r.logs.Len(); n != 0 {
		t.Errorf("health checks were logged: %v", r.logs.All())
	}
}

// A stream is told, sends its last event and ends by itself; calls are answered until then.
func TestDrain(t *testing.T) {
	t.Parallel()
	r := serve(t, &fake{
		create: func(context.Context, *flowstorev1.CreateNodeRequest) (*flowstorev1.Node, error) {
			return &flowstorev1.Node{}, nil
		},
		watch: func(_ *agentv1.WatchGenerationRequest, s grpc.ServerStreamingServer[agentv1.GenerateNodeEvent]) error {
			if err := s.Send(text("open")); err != nil {
				return err
			}
			<-interceptor.Draining(s.Context())
			if err := s.Send(text("last")); err != nil {
				return err
			}
			return apierr.New(codes.Unavailable, apierr.ReasonDraining, "the service is stopping")
		},
	}, nil)
	s, err := r.agent.WatchGeneration(t.Context(), &agentv1.WatchGenerationRequest{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Recv(); err != nil {
		t.Fatal(err)
	}
	r.server.Drain()
	if _, err := r.flows.CreateNode(t.Context(), &flowstorev1.CreateNodeRequest{}); err != nil {
		t.Errorf("a call while draining: %v", err)
	}
	if e, err := s.Recv(); err != nil || e.GetText().GetText() != "last" {
		t.Errorf("got %v, %v", e, err)
	}
	_, err = s.Recv()
	check(t, err, codes.Unavailable, apierr.ReasonDraining)
}

// GracefulStop alone would wait for this stream for ever (cases-gostyle 16). Stop cuts it, and waits until the handler
// has stored what it held.
func TestStopWaitsForLastWords(t *testing.T) {
	t.Parallel()
	entered := make(chan struct{})
	stored := false
	r := serve(t, &fake{watch: func(_ *agentv1.WatchGenerationRequest, s grpc.ServerStreamingServer[agentv1.GenerateNodeEvent]) error {
		close(entered)
		<-s.Context().Done()
		stored = true
		return s.Context().Err()
	}}, nil)
	s, err := r.agent.WatchGeneration(t.Context(), &agentv1.WatchGenerationRequest{})
	if err != nil {
		t.Fatal(err)
	}
	<-entered
	now, cancel := context.WithCancel(t.Context())
	cancel()
	if err := r.server.Stop(now); err != nil || !stored {
		t.Errorf("stored %v, %v", stored, err)
	}
	if _, err := s.Recv(); err == nil || errors.Is(err, io.EOF) {
		t.Errorf("the caller is told %v", err)
	}
}

func TestServeFails(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
	s := grpcserver.New(grpcserver.Options{Config: grpcserver.DefaultConfig()})
	if err := s.Serve(l); err == nil {
		t.Error("a closed listener is no error")
	}
	if err := s.Stop(t.Context()); err != nil {
		t.Error(err)
	}
	if err := s.Serve(l); err != nil {
		t.Errorf("after Stop: %v", err)
	}
}

func TestReflection(t *testing.T) {
	t.Parallel()
	list := func(r rig) error {
		s, err := r.conn.NewStream(t.Context(), &grpc.StreamDesc{ServerStreams: true, ClientStreams: true}, "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo")
		if err != nil {
			return err
		}
		if err := s.CloseSend(); err != nil {
			return err
		}
		return s.RecvMsg(&flowstorev1.Node{})
	}
	if err := list(serve(t, &fake{}, nil)); status.Code(err) != codes.Unimplemented {
		t.Errorf("without asking: %v", err)
	}
	if err := list(serve(t, &fake{}, func(o *grpcserver.Options) { o.Reflection = true })); !errors.Is(err, io.EOF) {
		t.Errorf("asked for: %v", err)
	}
}
