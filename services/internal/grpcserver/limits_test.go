package grpcserver_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"

	agentv1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/agent/v1"
	flowstorev1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/flowstore/v1"
	"github.com/tsumugi-dev/tsumugi/services/internal/apierr"
	"github.com/tsumugi-dev/tsumugi/services/internal/config"
	"github.com/tsumugi-dev/tsumugi/services/internal/grpcserver"
)

func TestInFlight(t *testing.T) {
	t.Parallel()
	entered, leave := make(chan struct{}), make(chan struct{})
	r := serve(t, &fake{create: func(context.Context, *flowstorev1.CreateNodeRequest) (*flowstorev1.Node, error) {
		entered <- struct{}{}
		<-leave
		return &flowstorev1.Node{}, nil
	}}, func(o *grpcserver.Options) { o.Config.MaxInFlight = 1 })
	first := make(chan error, 1)
	go func() {
		_, err := r.flows.CreateNode(t.Context(), &flowstorev1.CreateNodeRequest{})
		first <- err
	}()
	<-entered
	_, err := r.flows.CreateNode(t.Context(), &flowstorev1.CreateNodeRequest{})
	check(t, err, codes.ResourceExhausted, apierr.ReasonLimitExceeded)
	if e, _ := apierr.FromStatus(err); e == nil || e.RetryAfter != time.Second {
		t.Errorf("no RetryInfo: %v", err)
	}
	_, err = drainEvents(t, r)
	check(t, err, codes.ResourceExhausted, apierr.ReasonLimitExceeded)
	if _, err := grpc_health_v1.NewHealthClient(r.conn).Check(t.Context(), &grpc_health_v1.HealthCheckRequest{}); err != nil {
		t.Errorf("a busy server says that it is dead: %v", err)
	}
	close(leave)
	if err := <-first; err != nil {
		t.Error(err)
	}
	go func() { <-entered }()
	if _, err := r.flows.CreateNode(t.Context(), &flowstorev1.CreateNodeRequest{}); err != nil {
		t.Errorf("the place was not given back: %v", err)
	}
}

func TestDeadlines(t *testing.T) {
	t.Parallel()
	var left time.Duration
	var limited bool
	r := serve(t, &fake{
		create: func(ctx context.Context, _ *flowstorev1.CreateNodeRequest) (*flowstorev1.Node, error) {
			end, ok := ctx.Deadline()
			left, limited = time.Until(end), ok
			return &flowstorev1.Node{}, nil
		},
		watch: func(_ *agentv1.WatchGenerationRequest, s grpc.ServerStreamingServer[agentv1.GenerateNodeEvent]) error {
			_, limited = s.Context().Deadline()
			return nil
		},
	}, nil)
	for _, tt := range []struct{ asked, low, high time.Duration }{
		{10 * time.Hour, 60 * time.Second, 120 * time.Second},
		{20 * time.Second, 0, 20 * time.Second},
	} {
		ctx, cancel := context.WithTimeout(t.Context(), tt.asked)
		if _, err := r.flows.CreateNode(ctx, &flowstorev1.CreateNodeRequest{}); err != nil || !limited || left < tt.low || left > tt.high {
			t.Errorf("asked %s: %s left, %v", tt.asked, left, err)
		}
		cancel()
	}
	if _, err := drainEvents(t, r); err.Error() != "EOF" || limited {
		t.Errorf("a stream has a total limit: %v, %v", limited, err)
	}
}

// A handler that hangs, and one that is blocked in Send since its reader does not read, are both ended.
func TestIdleStreams(t *testing.T) {
	t.Parallel()
	short := func(o *grpcserver.Options) { o.Config.StreamIdle = 50 * time.Millisecond }
	t.Run("hanging handler", func(t *testing.T) {
		t.Parallel()
		r := serve(t, &fake{watch: func(_ *agentv1.WatchGenerationRequest, s grpc.ServerStreamingServer[agentv1.GenerateNodeEvent]) error {
			<-s.Context().Done()
			return s.Context().Err()
		}}, short)
		_, err := drainEvents(t, r)
		check(t, err, codes.DeadlineExceeded, apierr.ReasonDeadlineExceeded)
		if !strings.Contains(err.Error(), "50ms") {
			t.Errorf("the limit is not named: %v", err)
		}
	})
	t.Run("blocked send", func(t *testing.T) {
		t.Parallel()
		ended := make(chan struct{})
		r := serve(t, &fake{watch: func(_ *agentv1.WatchGenerationRequest, s grpc.ServerStreamingServer[agentv1.GenerateNodeEvent]) error {
			for {
				if err := s.Send(text(strings.Repeat("x", 32<<10))); err != nil {
					close(ended)
					return err
				}
			}
		}}, short)
		if _, err := r.agent.WatchGeneration(t.Context(), &agentv1.WatchGenerationRequest{}); err != nil {
			t.Fatal(err)
		}
		select {
		case <-ended: // although the reader never reads
		case <-time.After(10 * time.Second):
			t.Error("a handler that is blocked in Send was not ended")
		}
	})
}

func TestConfigCheck(t *testing.T) {
	t.Parallel()
	good := grpcserver.DefaultConfig()
	if err := config.Load(&good, config.Source{}); err != nil {
		t.Error(err)
	}
	bad := grpcserver.Config{MaxMessageBytes: 1, DefaultTimeout: time.Hour, MaxTimeout: time.Minute}
	err := config.Load(&bad, config.Source{})
	for _, key := range []string{"max_message_bytes", "max_in_flight", "max_streams", "default_timeout", "stream_idle"} {
		if err == nil || !strings.Contains(err.Error(), key+": must be") {
			t.Errorf("%s is not refused: %v", key, err)
		}
	}
}

func TestCallerLeaves(t *testing.T) {
	t.Parallel()
	entered, left := make(chan struct{}), make(chan struct{})
	r := serve(t, &fake{create: func(ctx context.Context, _ *flowstorev1.CreateNodeRequest) (*flowstorev1.Node, error) {
		close(entered)
		<-ctx.Done()
		close(left)
		return nil, ctx.Err()
	}}, nil)
	ctx, cancel := context.WithCancel(t.Context())
	go func() { <-entered; cancel() }()
	if _, err := r.flows.CreateNode(ctx, &flowstorev1.CreateNodeRequest{}); status.Code(err) != codes.Canceled {
		t.Error(err)
	}
	<-left
}
