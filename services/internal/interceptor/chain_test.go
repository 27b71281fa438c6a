package interceptor

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"
	"google.golang.org/grpc"
)

// The order is a decision (field/gostyle.md 1.8), and calls and streams go through the same stages.
func TestStages(t *testing.T) {
	t.Parallel()
	chain := New(Options{Log: zap.NewNop(), Metrics: prometheus.NewRegistry()})
	var passed []string
	for i, s := range chain.stages {
		chain.stages[i].run = func(ctx context.Context, c *call, next func(context.Context) error) error {
			passed = append(passed, s.name)
			return s.run(ctx, c, next)
		}
	}
	want := []string{"request_id", "access_log", "metrics", "errors", "recovery", "limit", "auth", "origin", "deadline", "validation", "inner_recovery"}

	resp, err := chain.Unary(t.Context(), nil, &grpc.UnaryServerInfo{FullMethod: "/s/m"}, func(context.Context, any) (any, error) { return "answer", nil })
	if diff := cmp.Diff(want, passed); err != nil || resp != "answer" || diff != "" {
		t.Errorf("call: %v, %v, %s", resp, err, diff)
	}
	passed = nil
	err = chain.Stream(nil, bare{ctx: t.Context()}, &grpc.StreamServerInfo{FullMethod: "/s/m"}, func(any, grpc.ServerStream) error { return nil })
	if diff := cmp.Diff(want, passed); err != nil || diff != "" {
		t.Errorf("stream: %v, %s", err, diff)
	}
}

type bare struct {
	grpc.ServerStream
	ctx context.Context
}

func (bare) SendMsg(any) error { return nil }
func (bare) RecvMsg(any) error { return nil }

func (b bare) Context() context.Context { return b.ctx }

func TestNewRequestID(t *testing.T) {
	t.Parallel()
	for _, given := range []string{"r-1", "a.b_c:d/e+f=g@h", "550e8400-e29b-41d4-a716-446655440000"} {
		if got := NewRequestID(given); got != given {
			t.Errorf("%q became %q", given, got)
		}
	}
	for _, given := range []string{"", "a b", "a\nb", `a"b`, "日本", string(make([]byte, 200))} {
		if got := NewRequestID(given); got == given || len(got) != 36 {
			t.Errorf("%q became %q", given, got)
		}
	}
	if RequestID(t.Context()) != "" || RequestID(WithRequestID(t.Context(), "x")) != "x" {
		t.Error("the id is lost")
	}
}

func TestDrainingOutsideOfACall(t *testing.T) {
	t.Parallel()
	select {
	case <-Draining(t.Context()):
		t.Error("closed")
	default:
	}
}

func TestDefaultTimeout(t *testing.T) {
	t.Parallel()
	chain := New(Options{Log: zap.NewNop(), Metrics: prometheus.NewRegistry(), DefaultTimeout: time.Minute, MaxTimeout: time.Hour})
	for asked, want := range map[time.Duration]time.Duration{0: time.Minute, time.Second: time.Second, 100 * time.Hour: time.Hour} {
		ctx := t.Context()
		if asked > 0 {
			var cancel context.CancelFunc
			ctx, cancel = context.WithTimeout(ctx, asked)
			defer cancel()
		}
		_, err := chain.Unary(ctx, nil, &grpc.UnaryServerInfo{FullMethod: "/s/m"}, func(ctx context.Context, _ any) (any, error) {
			if end, ok := ctx.Deadline(); !ok || time.Until(end) > want {
				t.Errorf("asked %s: %s left, limited %v", asked, time.Until(end), ok)
			}
			return nil, nil
		})
		if err != nil {
			t.Error(err)
		}
	}
}

// Each message sent or read gives a stream the whole idle limit again.
func TestActiveStreamHasNoTotalLimit(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		chain := New(Options{Log: zap.NewNop(), Metrics: prometheus.NewRegistry(), StreamIdle: time.Minute, DefaultTimeout: time.Second, MaxTimeout: time.Second})
		info := &grpc.StreamServerInfo{FullMethod: "/s/m"}
		err := chain.Stream(nil, bare{ctx: t.Context()}, info, func(_ any, ss grpc.ServerStream) error {
			for range 100 {
				time.Sleep(50 * time.Second)
				if err := errors.Join(ss.SendMsg(nil), ss.Context().Err()); err != nil {
					return err
				}
				time.Sleep(50 * time.Second)
				if err := errors.Join(ss.RecvMsg(nil), ss.Context().Err()); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	})
}

func BenchmarkChain(b *testing.B) {
	chain := New(Options{Log: zap.NewNop(), Metrics: prometheus.NewRegistry(), MaxInFlight: 10})
	info := &grpc.UnaryServerInfo{FullMethod: "/s/m"}
	handler := func(context.Context, any) (any, error) { return nil, nil }
	b.ReportAllocs()
	for b.Loop() {
		if _, err := chain.Unary(b.Context(), nil, info, handler); err != nil {
			b.Fatal(err)
		}
	}
}
