package app_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/tsumugi-dev/tsumugi/services/gateway/app"
	"github.com/tsumugi-dev/tsumugi/services/internal/config"
	"github.com/tsumugi-dev/tsumugi/services/internal/grpcserver"
	"github.com/tsumugi-dev/tsumugi/services/internal/obs"
	"github.com/tsumugi-dev/tsumugi/services/internal/testkit"
)

func TestReady(t *testing.T) {
	t.Parallel()
	well := testkit.Serve(t, func(grpc.ServiceRegistrar) {})
	stopping, conn := testkit.ServeWith(t, grpcserver.Options{Config: grpcserver.DefaultConfig()}, func(grpc.ServiceRegistrar) {})
	stopping.Drain()
	gateway, err := app.New(t.Context(), app.DefaultConfig(), app.Deps{
		PromptBuilder: well, Agent: conn, FlowStore: fails{status.Error(codes.Unavailable, "connection refused")},
	})
	if err != nil {
		t.Fatal(err)
	}
	want := []obs.Check{
		{Name: "promptbuilder", OK: true},
		{Name: "agent", Message: "says NOT_SERVING"},
		{Name: "flowstore", Message: "does not answer: nothing listens there"},
	}
	if diff := cmp.Diff(want, gateway.Ready(t.Context())); diff != "" {
		t.Error(diff)
	}
}

func TestRunEndsWithItsContext(t *testing.T) {
	t.Parallel()
	gateway, err := app.New(t.Context(), app.DefaultConfig(), app.Deps{})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- gateway.Run(ctx) }()
	cancel()
	if err := receive(t, done); err != nil {
		t.Error(err)
	}
}

func TestConfig(t *testing.T) {
	t.Parallel()
	good := app.DefaultConfig()
	if err := config.Load(&good, config.Source{}); err != nil {
		t.Errorf("the defaults: %v", err)
	}
	bad := app.Config{Hosts: []string{"tsumugi.example:7480", "::1"}, MaxBody: 1, Timeout: 2, MaxTimeout: 1, DrainGrace: -1}
	err := config.Load(&bad, config.Source{})
	if err == nil {
		t.Fatal("nothing was wrong")
	}
	for _, key := range []string{"hosts", "max_body", "max_in_flight", "timeout", "body_timeout", "write_timeout", "drain_grace"} {
		if !strings.Contains(err.Error(), "\n  "+key+": must be ") {
			t.Errorf("nothing about %s in %v", key, err)
		}
	}
	if strings.Contains(err.Error(), "::1") {
		t.Errorf("an IPv6 address was taken for a name with a port: %v", err)
	}
}

func Example() {
	gateway, err := app.New(context.Background(), app.DefaultConfig(), app.Deps{}) // with connections of grpcclient
	if err != nil {
		fmt.Println(err)
		return
	}
	w := httptest.NewRecorder()
	r := httptest.NewRequestWithContext(context.Background(), http.MethodGet, "http://localhost:7480/v1/novels", http.NoBody)
	gateway.Handler().ServeHTTP(w, r)
	fmt.Println(w.Code, strings.Contains(w.Body.String(), "there is no path /v1/novels"))
	// Output: 404 true
}
