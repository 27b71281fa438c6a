// Command promptbuilder is PromptBuilderService alone, over gRPC. `tsumugi serve` runs it together with the other services.
package main

import (
	"context"
	"os"

	"github.com/tsumugi-dev/tsumugi/services/internal/config"
	"github.com/tsumugi-dev/tsumugi/services/internal/grpcserver"
	"github.com/tsumugi-dev/tsumugi/services/internal/lifecycle"
	"github.com/tsumugi-dev/tsumugi/services/internal/llm/backends"
	"github.com/tsumugi-dev/tsumugi/services/promptbuilder/app"
)

type settings struct {
	lifecycle.Settings `yaml:",inline"`
	app.Config         `yaml:",inline"`
	GRPC               grpcserver.Config `yaml:"grpc"`
	Backends           string            `yaml:"backends" help:"backends file; empty: a llama.cpp server on port 8080"`

	set *backends.Set // what Backends holds, once Check has read it
}

// Check reads the backends file, and finds a default that is not in it.
func (s *settings) Check(p *config.Problems) {
	s.set = backends.Check(p, "backends", s.Backends)
	s.CheckBackend(p, "", s.set)
}

func main() {
	s := settings{
		Settings: lifecycle.DefaultSettings("127.0.0.1:7451", "127.0.0.1:7491"),
		Config:   app.DefaultConfig(), GRPC: grpcserver.DefaultConfig(),
	}
	os.Exit(lifecycle.Main(lifecycle.Program{
		Name: "promptbuilder", Summary: "makes prompts and makes them fit the window of a model",
		Config: &s, Settings: &s.Settings, GRPC: &s.GRPC,
		Start: func(ctx context.Context, e lifecycle.Env) (lifecycle.App, error) { return start(ctx, s, e) },
		Try:   `grpcurl -plaintext -d '{"body": "一。\n二。\n三。\n四は"}' ADDRESS tsumugi.promptbuilder.v1.PromptBuilderService/BuildStory`,
	}, os.Args[1:], os.Environ(), os.Stdout, os.Stderr))
}

func start(ctx context.Context, s settings, e lifecycle.Env) (lifecycle.App, error) {
	e.Defer(s.set.Close)
	return app.New(ctx, s.Config, app.Deps{Log: e.Log, Metrics: e.Metrics, Backends: s.set})
}
