// Package app is flowstore: FlowStoreService, which keeps nodes and flows in a tree of text files.
package app

import (
	"context"
	"errors"
	"fmt"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"
	"google.golang.org/grpc"

	flowstorev1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/flowstore/v1"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/adapter/watch"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/library"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store/files"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/transport"
	"github.com/tsumugi-dev/tsumugi/services/internal/namespace"
	"github.com/tsumugi-dev/tsumugi/services/internal/obs"
)

// Deps are what flowstore is given; each may be left out.
type Deps struct {
	Log     *zap.Logger
	Metrics prometheus.Registerer
	// Alone says that nobody else in this process goes by the keys of config.yaml that are not flowstore's.
	Alone bool
}

// App is flowstore.
type App struct {
	store   *files.Store
	service *transport.Server
}

// New opens the data folder and what was stored there; it fails when another process holds the folder, or when it is of
// a newer program. Files that cannot be read are no reason to fail: they are told in the log and by Ready.
func New(ctx context.Context, cfg Config, deps Deps) (*App, error) {
	if deps.Log == nil {
		deps.Log = zap.NewNop()
	}
	if deps.Metrics == nil {
		deps.Metrics = prometheus.NewRegistry()
	}
	opts := files.Options{Data: cfg.Data, Log: deps.Log, Rescan: cfg.Rescan}
	if cfg.Watch {
		opts.Watch = newWatcher
	}
	opened, err := files.Open(opts)
	if err != nil {
		return nil, fmt.Errorf("opening the data of flowstore: %w", err)
	}
	// Reading opens the namespace, so that its trouble shows at start and the first request does not wait.
	if _, err := opened.Problems(ctx, namespace.Default); err != nil {
		return nil, errors.Join(fmt.Errorf("opening the namespace %s in %s: %w", namespace.Default, cfg.Data, err), opened.Close())
	}
	if err := registerMetrics(deps.Metrics, opened); err != nil {
		return nil, errors.Join(err, opened.Close())
	}
	tellConfig(deps.Log, cfg, deps.Alone)
	return &App{store: opened, service: transport.New(library.New(opened, newest{}))}, nil
}

// newWatcher gives the store the watcher of the operating system.
func newWatcher(changed func(folder string), lost func(error)) (files.Watcher, error) {
	w, err := watch.New(changed, lost)
	if err != nil {
		return nil, err // Not a nil *watch.Watcher, which is no nil Watcher.
	}
	return w, nil
}

// newest makes ids that begin with their time (UUIDv7): new nodes stand behind older ones wherever ids are sorted.
type newest struct{}

// NewID gives a UUIDv7.
func (newest) NewID() uuid.UUID { return uuid.Must(uuid.NewV7()) }

// Register adds FlowStoreService to a server.
func (a *App) Register(r grpc.ServiceRegistrar) {
	flowstorev1.RegisterFlowStoreServiceServer(r, a.service)
}

// Ready tells whether the store can write, and which files need a person. Neither is fatal: reads go on.
func (a *App) Ready(ctx context.Context) []obs.Check {
	writing := obs.Check{Name: "flowstore writes", OK: true}
	if n := a.store.Stats().ReadOnly; n > 0 {
		writing.OK, writing.Message = false, fmt.Sprintf("namespaces that cannot write: %d; reads go on, and the log says why", n)
	}
	readable := obs.Check{Name: "flowstore files", OK: true}
	problems, err := a.store.Problems(ctx, namespace.Default)
	if err != nil || len(problems) > 0 {
		readable.OK, readable.Message = false, trouble(problems, err)
	}
	return []obs.Check{writing, readable}
}

func trouble(problems []store.Problem, err error) string {
	if err != nil {
		return err.Error()
	}
	text := problems[0].Path + ": " + problems[0].Reason
	if more := len(problems) - 1; more > 0 {
		text += fmt.Sprintf(" (and %d more)", more)
	}
	return text
}

// Run has nothing to do beside answering, and returns when ctx ends.
func (*App) Run(ctx context.Context) error {
	<-ctx.Done()
	return nil
}

// Close writes what is pending into the text files and lets go of the data.
func (a *App) Close(context.Context) error { return a.store.Close() }
