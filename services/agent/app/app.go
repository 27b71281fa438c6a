// Package app is the agent: AgentService, which continues flows, summarises nodes with models, and makes contexts of flows.
package app

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"
	"google.golang.org/grpc"

	agentv1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/agent/v1"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/adapter/flowstore"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/adapter/promptbuilder"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/adapter/telemetry"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/generation"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/nodecontext"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/summary"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/transport"
	"github.com/tsumugi-dev/tsumugi/services/internal/grpcclient"
	"github.com/tsumugi-dev/tsumugi/services/internal/llm/backends"
	"github.com/tsumugi-dev/tsumugi/services/internal/obs"
)

// Deps are what the agent is given. Only Log and Metrics may be nil.
type Deps struct {
	Log     *zap.Logger
	Metrics prometheus.Registerer
	// Backends are the model servers; promptbuilder reads the same file.
	Backends *backends.Set
	// Own are files and folders of the program, such as its settings and tokens: no folder of sessions may hold one of them
	// (field/review-agent.md S12).
	Own []string
	// PromptBuilder and FlowStore are connections of grpcclient's. They must work until Close has returned.
	PromptBuilder, FlowStore grpc.ClientConnInterface
}

// App is the agent.
type App struct {
	deps        Deps
	cfg         SummariesConfig
	generations *generation.Service
	contexts    *nodecontext.Service
	summaries   *summary.Service
	sessions    *sessions
	// heartbeat is how long a stream is silent before it says that it lives.
	heartbeat time.Duration
}

// New makes the agent, and opens its data folder. It calls nobody: what is away is an answer to a request, not a reason not to start.
func New(_ context.Context, cfg Config, deps Deps) (*App, error) {
	if deps.Log == nil {
		deps.Log = zap.NewNop()
	}
	if deps.Metrics == nil {
		deps.Metrics = prometheus.NewRegistry()
	}
	observer, err := telemetry.New(deps.Log, deps.Metrics)
	if err != nil {
		return nil, err
	}
	seen, err := telemetry.NewSummaries(deps.Log, deps.Metrics)
	if err != nil {
		return nil, err
	}
	flows, prompts, limits := flowstore.New(deps.FlowStore), promptbuilder.New(deps.PromptBuilder), cfg.Generation.limits()
	contexts := nodecontext.New(flows, prompts)
	sessions, err := openSessions(cfg, deps, contexts, prompts)
	if err != nil {
		return nil, err
	}
	return &App{sessions: sessions, deps: deps, cfg: cfg.Summaries, contexts: contexts, heartbeat: limits.Heartbeat, generations: generation.New(generation.Deps{
		Flows: flows, Prompts: prompts, Contexts: contexts, Models: deps.Backends,
		Clock: clock{}, Random: random{}, Observer: observer,
		Limits: limits,
	}), summaries: summary.New(summary.Deps{
		Store:   flowstore.NewSummaries(deps.FlowStore),
		Prompts: prompts,
		Models:  deps.Backends,
		Clock:   clock{}, Observer: seen,
		Numbers: cfg.Summaries.numbers(),
		Limits:  summary.Limits{Parallel: cfg.Summaries.Parallel, Ask: cfg.Summaries.Ask, Store: limits.Store, Heartbeat: limits.Heartbeat},
	})}, nil
}

// Register adds AgentService to a server.
func (a *App) Register(r grpc.ServiceRegistrar) {
	agentv1.RegisterAgentServiceServer(r, transport.New(a.generations, a.contexts, a.summaries, a.sessions.service, a.heartbeat))
}

// Ready tells how the model servers and the other services are. None is fatal: a request that needs one that is away is
// answered with a sentence that says so, and everything else works.
func (a *App) Ready(ctx context.Context) []obs.Check {
	return append(obs.Ask(ctx, append([]obs.Question{
		grpcclient.Ready("promptbuilder", a.deps.PromptBuilder), grpcclient.Ready("flowstore", a.deps.FlowStore),
	}, a.deps.Backends.Ready()...)...), a.ReadyServers()...)
}

// ReadyServers is the part of Ready about MCP servers, of which the agent alone knows. It asks nobody, and none is fatal.
func (a *App) ReadyServers() []obs.Check { return a.sessions.servers.Ready() }

// Run carries sessions on, and makes summaries in the background where the settings say so. It returns when ctx ends.
func (a *App) Run(ctx context.Context) error {
	var following sync.WaitGroup
	if a.cfg.Background {
		for _, ns := range a.cfg.Namespaces {
			following.Go(func() {
				a.summaries.Follow(ctx, ns, summary.Request{Backend: a.cfg.Backend, Locale: a.cfg.Locale})
			})
		}
	}
	err := a.sessions.run(ctx)
	<-ctx.Done()
	following.Wait()
	return err
}

// Drain ends all generations and the work on summaries, since the process is stopping; what was received is stored. It does
// not wait. Streams do it by themselves when their server drains; this is for what nobody watches.
func (a *App) Drain() {
	a.generations.Drain()
	a.summaries.Drain()
}

// Close drains and waits until what was received is stored: promptbuilder and flowstore stop after it. Run has returned.
func (a *App) Close(ctx context.Context) error {
	a.Drain()
	return errors.Join(a.summaries.Close(ctx), a.generations.Close(ctx), a.sessions.close())
}

// clock is package time.
type clock struct{}

func (clock) Now() time.Time                                  { return time.Now() }
func (clock) NewTimer(d time.Duration) *time.Timer            { return time.NewTimer(d) }
func (clock) AfterFunc(d time.Duration, f func()) *time.Timer { return time.AfterFunc(d, f) }

// random is the system's randomness.
type random struct{}

func (random) ID() uuid.UUID { return uuid.New() }
