// Package app is promptbuilder: PromptBuilderService, which makes prompts and makes them fit. It keeps nothing.
package app

import (
	"cmp"
	"context"
	"fmt"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"
	"google.golang.org/grpc"

	promptbuilderv1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/promptbuilder/v1"
	"github.com/tsumugi-dev/tsumugi/services/internal/llm/backends"
	"github.com/tsumugi-dev/tsumugi/services/internal/obs"
	"github.com/tsumugi-dev/tsumugi/services/promptbuilder/internal/adapter/counters"
	"github.com/tsumugi-dev/tsumugi/services/promptbuilder/internal/adapter/linecosts"
	"github.com/tsumugi-dev/tsumugi/services/promptbuilder/internal/adapter/models"
	"github.com/tsumugi-dev/tsumugi/services/promptbuilder/internal/adapter/presets"
	"github.com/tsumugi-dev/tsumugi/services/promptbuilder/internal/adapter/promptsfile"
	"github.com/tsumugi-dev/tsumugi/services/promptbuilder/internal/adapter/roots"
	"github.com/tsumugi-dev/tsumugi/services/promptbuilder/internal/layers"
	"github.com/tsumugi-dev/tsumugi/services/promptbuilder/internal/story"
	"github.com/tsumugi-dev/tsumugi/services/promptbuilder/internal/sysprompt"
	"github.com/tsumugi-dev/tsumugi/services/promptbuilder/internal/transport"
)

// Deps are what promptbuilder is given. Only Log and Metrics may be nil.
type Deps struct {
	Log     *zap.Logger
	Metrics prometheus.Registerer
	// Backends are the model servers; the agent reads the same file.
	Backends *backends.Set
}

// memoryBytes is what may be taken to remember what lines cost: a hundred thousand lines, a dozen of novels.
const memoryBytes = 16 << 20

// App is promptbuilder.
type App struct {
	backends *backends.Set
	service  *transport.Server
}

// New makes promptbuilder. It asks no model server: one that is away is an answer to a request, not a reason not to start.
func New(_ context.Context, cfg Config, deps Deps) (*App, error) {
	if deps.Log == nil {
		deps.Log = zap.NewNop()
	}
	if deps.Metrics == nil {
		deps.Metrics = prometheus.NewRegistry()
	}
	if _, err := deps.Backends.Counter(cfg.Backend); err != nil {
		return nil, fmt.Errorf("the setting default_backend: %w", err)
	}
	servers, err := models.New(deps.Backends, cfg.Backend, deps.Metrics)
	if err != nil {
		return nil, err
	}
	deps.Log.Info("model servers", zap.Strings("backends", deps.Backends.Names()), zap.String("default", cmp.Or(cfg.Backend, deps.Backends.Default())))
	named, err := presets.Load(cfg.Presets)
	if err != nil {
		return nil, err
	}
	builder := story.NewBuilder(servers, linecosts.New(memoryBytes), story.Defaults{
		MaxTokens: cfg.MaxTokens, IdeaTokens: cfg.IdeaTokens, AutocompleteTokens: cfg.AutocompleteTokens, Rating: cfg.Rating,
		Slack: cfg.Slack, Presets: named,
	})
	prompts, err := promptsfile.Load(cfg.Prompts)
	if err != nil {
		return nil, err
	}
	systems := sysprompt.NewBuilder(roots.New(prompts.Folders), counters.New(builder), prompts.Defaults)
	return &App{backends: deps.Backends, service: transport.New(builder, systems, layers.NewBuilder(systems))}, nil
}

// Register adds PromptBuilderService to a server.
func (a *App) Register(r grpc.ServiceRegistrar) {
	promptbuilderv1.RegisterPromptBuilderServiceServer(r, a.service)
}

// Ready tells how the model servers are. None is fatal: a request that needs one that is away is answered with a sentence
// that says so.
func (a *App) Ready(ctx context.Context) []obs.Check {
	return obs.Ask(ctx, a.backends.Ready()...)
}

// Run has nothing to do beside answering, and returns when ctx ends.
func (*App) Run(ctx context.Context) error {
	<-ctx.Done()
	return nil
}

// Close has nothing to free: the backends belong to who gave them.
func (*App) Close(context.Context) error { return nil }
