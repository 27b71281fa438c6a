// Command agent is AgentService alone, over gRPC. `tsumugi serve` runs it together with the other services.
package main

import (
	"context"
	"errors"
	"os"
	"slices"

	"github.com/tsumugi-dev/tsumugi/services/agent/app"
	"github.com/tsumugi-dev/tsumugi/services/internal/grpcclient"
	"github.com/tsumugi-dev/tsumugi/services/internal/lifecycle"
)

func main() {
	if code, child := app.Child(); child {
		os.Exit(code)
	}
	s := defaults()
	os.Exit(lifecycle.Main(lifecycle.Program{
		Name: "agent", Summary: "continues flows with models",
		Config: &s, Settings: &s.Settings, GRPC: &s.GRPC, Approver: &s.Data,
		Start: func(ctx context.Context, e lifecycle.Env) (lifecycle.App, error) { return start(ctx, s, e) },
		Try:   "grpcurl -plaintext ADDRESS list tsumugi.agent.v1.AgentService",
	}, os.Args[1:], os.Environ(), os.Stdout, os.Stderr))
}

func start(ctx context.Context, s settings, e lifecycle.Env) (lifecycle.App, error) {
	deps := app.Deps{Log: e.Log, Metrics: e.Metrics}
	prompts, noPrompts := grpcclient.Dial(s.PromptBuilder, grpcclient.Options{Token: s.shown})
	flows, noFlows := grpcclient.Dial(s.FlowStore, grpcclient.Options{ToTheLast: true, Token: s.shown}) // stopped together, it takes our last words
	if err := errors.Join(noPrompts, noFlows); err != nil {
		return nil, err
	}
	for _, f := range []func() error{s.set.Close, prompts.Close, flows.Close} {
		e.Defer(f)
	}
	deps.Backends, deps.PromptBuilder, deps.FlowStore = s.set, prompts, flows
	deps.Own = slices.Concat(e.Own, s.files())
	return app.New(ctx, s.Config, deps)
}
