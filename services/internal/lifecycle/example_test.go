package lifecycle_test

import (
	"context"
	"os"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"
	"google.golang.org/grpc"

	"github.com/tsumugi-dev/tsumugi/services/internal/config"
	"github.com/tsumugi-dev/tsumugi/services/internal/grpcclient"
	"github.com/tsumugi-dev/tsumugi/services/internal/grpcserver"
	"github.com/tsumugi-dev/tsumugi/services/internal/lifecycle"
	"github.com/tsumugi-dev/tsumugi/services/internal/obs"
)

// app stands for the app package of a service: services/agent/app here.
var app = struct {
	DefaultConfig func() appConfig
	New           func(context.Context, appConfig, appDeps) (*appApp, error)
}{
	func() appConfig { return appConfig{} },
	func(context.Context, appConfig, appDeps) (*appApp, error) { return &appApp{}, nil },
}

type (
	appConfig struct {
		Idle string `yaml:"idle"`
	}
	appDeps struct {
		Log       *zap.Logger
		Metrics   prometheus.Registerer
		FlowStore grpc.ClientConnInterface
	}
	appApp struct{}
)

func (appConfig) Check(*config.Problems)          {}
func (*appApp) Register(grpc.ServiceRegistrar)    {}
func (*appApp) Ready(context.Context) []obs.Check { return nil }
func (*appApp) Run(ctx context.Context) error     { <-ctx.Done(); return nil }
func (*appApp) Close(context.Context) error       { return nil }

// settings are those of every program, those of this one, and those of the service, side by side in one file.
type settings struct {
	lifecycle.Settings `yaml:",inline"`
	GRPC               grpcserver.Config `yaml:"grpc"`
	FlowStore          string            `yaml:"flowstore" help:"address of flowstore"`
	Service            appConfig         `yaml:",inline"` // app.Config
}

// A whole cmd/<service>/main.go: copy settings and this function, which is main there. A program whose service answers
// HTTP leaves GRPC out. A service that reads the backends file adds a key `backends` and a Check that loads it.
func Example() {
	s := settings{
		Settings:  lifecycle.DefaultSettings("127.0.0.1:7452", "127.0.0.1:7492"),
		GRPC:      grpcserver.DefaultConfig(),
		FlowStore: "127.0.0.1:7453",
		Service:   app.DefaultConfig(),
	}
	program := lifecycle.Program{
		Name: "agent", Summary: "runs models on flows.",
		Config: &s, Settings: &s.Settings, GRPC: &s.GRPC,
		Try: "grpcurl -plaintext ADDRESS list",
		Start: func(ctx context.Context, e lifecycle.Env) (lifecycle.App, error) {
			flowstore, err := grpcclient.Dial(s.FlowStore, grpcclient.Options{})
			if err != nil {
				return nil, err
			}
			e.Defer(flowstore.Close)
			return app.New(ctx, s.Service, appDeps{Log: e.Log, Metrics: e.Metrics, FlowStore: flowstore})
		},
	}
	os.Exit(lifecycle.Main(program, os.Args[1:], os.Environ(), os.Stdout, os.Stderr))
}
