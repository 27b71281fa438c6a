// Command gateway is REST in front of the three services. `tsumugi serve` runs it together with them.
package main

import (
	"context"
	"errors"
	"os"

	"github.com/tsumugi-dev/tsumugi/services/gateway/app"
	"github.com/tsumugi-dev/tsumugi/services/internal/grpcclient"
	"github.com/tsumugi-dev/tsumugi/services/internal/lifecycle"
)

type settings struct {
	lifecycle.Settings `yaml:",inline"`
	app.Config         `yaml:",inline"`
	PromptBuilder      string `yaml:"promptbuilder" help:"address of promptbuilder"`
	Agent              string `yaml:"agent" help:"address of agent"`
	FlowStore          string `yaml:"flowstore" help:"address of flowstore"`
}

func main() {
	s := settings{
		Settings: lifecycle.DefaultSettings("127.0.0.1:7480", "127.0.0.1:7490"), Config: app.DefaultConfig(),
		PromptBuilder: "127.0.0.1:7451", Agent: "127.0.0.1:7452", FlowStore: "127.0.0.1:7453",
	}
	os.Exit(lifecycle.Main(lifecycle.Program{
		Name: "gateway", Summary: "REST and Server-Sent Events in front of promptbuilder, agent and flowstore",
		Config: &s, Settings: &s.Settings,
		Start: func(ctx context.Context, e lifecycle.Env) (lifecycle.App, error) { return start(ctx, s, e) },
		Try:   "curl -s http://ADDRESS/openapi.json",
	}, os.Args[1:], os.Environ(), os.Stdout, os.Stderr))
}

func start(ctx context.Context, s settings, e lifecycle.Env) (lifecycle.App, error) {
	prompts, noPrompts := grpcclient.Dial(s.PromptBuilder, grpcclient.Options{})
	agent, noAgent := grpcclient.Dial(s.Agent, grpcclient.Options{})
	flows, noFlows := grpcclient.Dial(s.FlowStore, grpcclient.Options{})
	if err := errors.Join(noPrompts, noAgent, noFlows); err != nil {
		return nil, err
	}
	for _, f := range []func() error{prompts.Close, agent.Close, flows.Close} {
		e.Defer(f)
	}
	return app.New(ctx, s.Config, app.Deps{Log: e.Log, Metrics: e.Metrics, Auth: e.Auth, PromptBuilder: prompts, Agent: agent, FlowStore: flows})
}
