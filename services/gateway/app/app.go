// Package app is the gateway: REST, Server-Sent Events and OpenAPI in front of the three services.
//
// It keeps nothing and decides nothing: each path of the protos leads over gRPC to its service, and what HTTP needs
// beside that (known hosts, limits, content types, error bodies, streams) is here.
package app

import (
	"context"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"
	"google.golang.org/grpc"

	"github.com/tsumugi-dev/tsumugi/services/gateway/internal/edge"
	"github.com/tsumugi-dev/tsumugi/services/gateway/internal/rest"
	"github.com/tsumugi-dev/tsumugi/services/internal/auth"
	"github.com/tsumugi-dev/tsumugi/services/internal/grpcclient"
	"github.com/tsumugi-dev/tsumugi/services/internal/obs"
)

// Deps are what the gateway is given.
type Deps struct {
	// Log gets one line for each request; nil for none.
	Log *zap.Logger
	// Metrics is where metrics are registered; nil for nowhere.
	Metrics prometheus.Registerer
	// Auth finds out who calls, before anything of a request is read; nil: the services alone do, who get the same token.
	Auth *auth.Authenticator
	// PromptBuilder, Agent and FlowStore are connections of grpcclient's, which passes on request id and trace.
	PromptBuilder, Agent, FlowStore grpc.ClientConnInterface
}

// App is the gateway.
type App struct {
	deps    Deps
	handler http.Handler
	grace   time.Duration
	// cut ends the open streams.
	cut context.CancelFunc
}

// New makes the gateway. It calls no service: a service that is away is an answer to a request, not a reason not to start.
func New(_ context.Context, cfg Config, deps Deps) (*App, error) {
	if deps.Log == nil {
		deps.Log = zap.NewNop()
	}
	streams, cut := context.WithCancel(context.Background())
	surface, err := rest.New(rest.Options{
		PromptBuilder: deps.PromptBuilder, Agent: deps.Agent, FlowStore: deps.FlowStore, Auth: deps.Auth,
		MaxBodyBytes: int64(cfg.MaxBody), BodyTimeout: cfg.BodyTimeout, Timeout: cfg.Timeout, MaxTimeout: cfg.MaxTimeout,
		Streams: streams,
	})
	if err != nil {
		cut()
		return nil, err
	}
	handler, err := edge.Wrap(surface, edge.Options{
		Hosts: cfg.Hosts, MaxInFlight: cfg.MaxInFlight, WriteTimeout: cfg.WriteTimeout, Log: deps.Log, Metrics: deps.Metrics,
	})
	if err != nil {
		cut()
		return nil, err
	}
	return &App{deps: deps, handler: handler, grace: cfg.DrainGrace, cut: cut}, nil
}

// Handler answers HTTP requests, complete with limits, log and metrics.
func (a *App) Handler() http.Handler { return a.handler }

// Drain begins the end of the open streams. An agent that is stopping too ends them itself, and says more than the gateway
// could; those that are still open after DrainGrace get the error DRAINING. Other calls go on. It may be called twice.
func (a *App) Drain() { time.AfterFunc(a.grace, a.cut) }

// Ready tells of each service whether it answers. None is fatal: the paths of the others work, and a request for one that
// is away is answered with a sentence that says so.
func (a *App) Ready(ctx context.Context) []obs.Check {
	return obs.Ask(ctx,
		grpcclient.Ready("promptbuilder", a.deps.PromptBuilder), grpcclient.Ready("agent", a.deps.Agent), grpcclient.Ready("flowstore", a.deps.FlowStore))
}

// Run has nothing to do beside answering, and returns when ctx ends.
func (a *App) Run(ctx context.Context) error {
	<-ctx.Done()
	return nil
}

// Close ends the streams that are still open. The connections belong to who gave them.
func (a *App) Close(context.Context) error {
	a.cut()
	return nil
}
