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
	"github.com/tsumugi-dev/tsumugi/services/internal/auth"
	"github.com/tsumugi-dev/tsumugi/services/internal/auth/authtest"
	"github.com/tsumugi-dev/tsumugi/services/internal/grpcserver"
	"github.com/tsumugi-dev/tsumugi/services/internal/interceptor"
	"github.com/tsumugi-dev/tsumugi/services/internal/namespace"
	"github.com/tsumugi-dev/tsumugi/services/internal/token"
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
	return &flowstorev1.Node{Model: namespace.From(ctx), Note: auth.From(ctx).Name, Tags: []string{interceptor.RequestID(ctx)}}, nil
}

// mallory may call nothing here; the agent may call for her, whose session it is about.
func mallory(ns string) auth.Caller {
	return auth.Caller{Name: "mallory", Namespace: ns, Roles: []token.Role{token.User}, Session: "sessions/0196b2c4-0001-7aaa-8bbb-000000000001"}
}

// The namespace that a caller names counts only where none but our own services can call, or with the token of one. A
// server that knows nobody refuses what is meant for another namespace than its own.
func TestNamespace(t *testing.T) {
	t.Parallel()
	path, shown := authtest.File(t, authtest.User("b", "team-b"), authtest.Service("agent"))
	known := func(o *grpcserver.Options) { o.Auth = authtest.Open(t, path) }
	inner := func(o *grpcserver.Options) { o.TrustCaller = true }
	for name, tt := range map[string]struct {
		change            func(*grpcserver.Options)
		named, say, token string
		want              string
	}{
		"front":                {nil, "default", "", "", "default"},
		"front, another one":   {nil, "team-a", "", "", ""},
		"inner":                {inner, "team-a", "", "", "team-a"},
		"inner, for somebody":  {inner, "team-a", "team-a", "", "team-a"},
		"inner, contradictory": {inner, "team-a", "team-c", "", ""},
		"inner, no namespace":  {inner, "../x", "", "", ""},
		"a person":             {known, "team-a", "", shown[0], "team-b"},
		"a person, for others": {known, "team-a", "team-a", shown[0], "team-b"},
		"a program":            {known, "team-a", "", shown[1], "team-a"},
		"a program, for one":   {known, "team-a", "team-a", shown[1], "team-a"},
		"a program, two":       {known, "team-a", "team-c", shown[1], ""},
	} {
		r := serve(t, &fake{create: namespaceOf}, tt.change)
		ctx := namespace.With(t.Context(), tt.named) // grpcclient sends it
		if tt.say != "" {
			ctx = namespace.With(auth.With(ctx, mallory(tt.say)), tt.named)
		}
		if tt.token != "" {
			ctx = metadata.AppendToOutgoingContext(ctx, "authorization", "Bearer "+tt.token)
		}
		n, err := r.flows.CreateNode(ctx, &flowstorev1.CreateNodeRequest{})
		switch {
		case tt.want == "":
			check(t, err, codes.PermissionDenied, apierr.ReasonNamespaceDenied)
		case err != nil || n.Model != tt.want:
			t.Errorf("%s: %q, %v", name, n.GetModel(), err)
		case (tt.say != "" && tt.token != shown[0]) != (n.Note == "mallory"):
			t.Errorf("%s: the caller is %q", name, n.Note)
		}
	}
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
