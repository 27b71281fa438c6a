package grpcserver_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"

	flowstorev1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/flowstore/v1"
	"github.com/tsumugi-dev/tsumugi/services/internal/apierr"
	"github.com/tsumugi-dev/tsumugi/services/internal/grpcserver"
	"github.com/tsumugi-dev/tsumugi/services/internal/interceptor"
	"github.com/tsumugi-dev/tsumugi/services/internal/namespace"
)

func echo(_ context.Context, q *flowstorev1.CreateNodeRequest) (*flowstorev1.Node, error) {
	return q.Node, nil
}

func TestAccessLogHoldsNoContent(t *testing.T) {
	t.Parallel()
	r := serve(t, &fake{create: echo}, nil)
	ctx := metadata.AppendToOutgoingContext(t.Context(), "traceparent", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")
	if _, err := r.flows.CreateNode(ctx, &flowstorev1.CreateNodeRequest{Node: &flowstorev1.Node{Model: "さくら"}}); err != nil {
		t.Fatal(err)
	}
	if r.logs.Len() != 1 {
		t.Fatalf("%d lines for a call", r.logs.Len())
	}
	line := r.logs.All()[0].ContextMap()
	for key, want := range map[string]any{
		"method": "/tsumugi.flowstore.v1.FlowStoreService/CreateNode", "code": "OK", "namespace": "default",
		"trace_id": "0af7651916cd43dd8448eb211c80319c",
	} {
		if line[key] != want {
			t.Errorf("%s is %v", key, line[key])
		}
	}
	if line["duration"] == nil || line["request_id"] == "" || strings.Contains(fmt.Sprint(line), "さくら") {
		t.Errorf("line: %v", line)
	}
}

// cases-gostyle 32: what a caller can choose never makes a series.
func TestMetricsCardinality(t *testing.T) {
	t.Parallel()
	r := serve(t, &fake{create: echo}, nil)
	for i := range 200 {
		m := fmt.Sprintf("/tsumugi.flowstore.v1.FlowStoreService/Unknown%d", i)
		if err := r.conn.Invoke(t.Context(), m, &flowstorev1.Node{}, &flowstorev1.Node{}); err == nil {
			t.Fatal("an unknown method answers")
		}
		if _, err := r.flows.CreateNode(t.Context(), &flowstorev1.CreateNodeRequest{Node: &flowstorev1.Node{Model: m}}); err != nil {
			t.Fatal(err)
		}
	}
	families, err := r.metrics.Gather()
	if err != nil {
		t.Fatal(err)
	}
	series := map[string]int{}
	for _, f := range families {
		series[f.GetName()] = len(f.Metric)
	}
	want := map[string]int{"tsumugi_grpc_calls_total": 2, "tsumugi_grpc_call_seconds": 2, "tsumugi_grpc_calls_in_flight": 1, "tsumugi_grpc_panics_total": 1}
	if fmt.Sprint(series) != fmt.Sprint(want) {
		t.Errorf("series %v", series)
	}
}

func TestTwoServersShareMetrics(t *testing.T) {
	t.Parallel()
	a := serve(t, &fake{create: echo}, nil)
	b := serve(t, &fake{create: echo}, func(o *grpcserver.Options) { o.Metrics = a.metrics })
	for _, r := range []rig{a, b} {
		if _, err := r.flows.CreateNode(t.Context(), &flowstorev1.CreateNodeRequest{}); err != nil {
			t.Fatal(err)
		}
	}
	families, err := a.metrics.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() == "tsumugi_grpc_calls_total" && f.Metric[0].Counter.GetValue() != 2 {
			t.Errorf("counted %v calls", f.Metric[0].Counter.GetValue())
		}
	}
}

func namespaceOf(ctx context.Context, _ *flowstorev1.CreateNodeRequest) (*flowstorev1.Node, error) {
	return &flowstorev1.Node{Model: namespace.From(ctx), Tags: []string{interceptor.RequestID(ctx)}}, nil
}

// The namespace that a caller names counts only where none but our own services can call.
func TestNamespace(t *testing.T) {
	t.Parallel()
	ctx := namespace.With(t.Context(), "team-a") // grpcclient sends it
	for name, tt := range map[string]struct {
		change func(*grpcserver.Options)
		want   string
	}{
		"front":         {nil, "default"},
		"inner":         {func(o *grpcserver.Options) { o.TrustNamespace = true }, "team-a"},
		"authenticated": {func(o *grpcserver.Options) { o.Authenticate = always("team-b", nil) }, "team-b"},
	} {
		r := serve(t, &fake{create: namespaceOf}, tt.change)
		if n, err := r.flows.CreateNode(ctx, &flowstorev1.CreateNodeRequest{}); err != nil || n.Model != tt.want {
			t.Errorf("%s: %q, %v", name, n.GetModel(), err)
		}
	}
	r := serve(t, &fake{create: namespaceOf}, func(o *grpcserver.Options) { o.TrustNamespace = true })
	_, err := r.flows.CreateNode(namespace.With(t.Context(), "../x"), &flowstorev1.CreateNodeRequest{})
	check(t, err, codes.PermissionDenied, apierr.ReasonNamespaceDenied)
	denied := apierr.New(codes.Unauthenticated, "UNAUTHENTICATED", "who are you?")
	r = serve(t, &fake{create: namespaceOf}, func(o *grpcserver.Options) { o.Authenticate = always("", denied) })
	_, err = r.flows.CreateNode(t.Context(), &flowstorev1.CreateNodeRequest{})
	check(t, err, codes.Unauthenticated, "UNAUTHENTICATED")
	_, err = drainEvents(t, r)
	check(t, err, codes.Unauthenticated, "UNAUTHENTICATED")
}

func always(ns string, err error) func(context.Context, string) (string, error) {
	return func(context.Context, string) (string, error) { return ns, err }
}

// cases-gostyle 7: one request id over every hop, and a missing one is made once.
func TestRequestIDOverTwoHops(t *testing.T) {
	t.Parallel()
	store := serve(t, &fake{create: namespaceOf}, nil)
	agent := serve(t, &fake{create: func(ctx context.Context, q *flowstorev1.CreateNodeRequest) (*flowstorev1.Node, error) {
		return store.flows.CreateNode(ctx, q)
	}}, nil)
	for _, given := range []string{"r-9", ""} {
		ctx := t.Context()
		if given != "" {
			ctx = metadata.AppendToOutgoingContext(ctx, "x-request-id", given)
		}
		var header metadata.MD
		n, err := agent.flows.CreateNode(ctx, &flowstorev1.CreateNodeRequest{}, grpc.Header(&header))
		if err != nil {
			t.Fatal(err)
		}
		told := header.Get("x-request-id")
		if len(told) != 1 || told[0] != n.Tags[0] || (given != "" && told[0] != given) || told[0] == "" {
			t.Errorf("given %q, told %v, at the store %q", given, told, n.Tags[0])
		}
	}
}
