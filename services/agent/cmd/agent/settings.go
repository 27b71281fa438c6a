package main

import (
	"slices"

	"github.com/tsumugi-dev/tsumugi/services/agent/app"
	"github.com/tsumugi-dev/tsumugi/services/internal/config"
	"github.com/tsumugi-dev/tsumugi/services/internal/grpcserver"
	"github.com/tsumugi-dev/tsumugi/services/internal/lifecycle"
	"github.com/tsumugi-dev/tsumugi/services/internal/llm/backends"
	"github.com/tsumugi-dev/tsumugi/services/internal/token"
)

type settings struct {
	lifecycle.Settings `yaml:",inline"`
	app.Config         `yaml:",inline"`
	GRPC               grpcserver.Config `yaml:"grpc"`
	Backends           string            `yaml:"backends" help:"backends file; empty: a llama.cpp server on port 8080"`
	PromptBuilder      string            `yaml:"promptbuilder" help:"address of promptbuilder"`
	FlowStore          string            `yaml:"flowstore" help:"address of flowstore"`
	ServiceToken       string            `yaml:"service_token" help:"file with the token (role service) that promptbuilder and flowstore are shown; empty: they ask for none"`

	set   *backends.Set // what Backends holds, once Check has read it
	shown string        // what ServiceToken holds
}

// Check reads the backends file, and finds settings that contradict each other.
func (s *settings) Check(p *config.Problems) {
	s.set = backends.Check(p, "backends", s.Backends)
	s.CheckIdle(p, "", s.GRPC.StreamIdle)
	switch {
	case s.ServiceToken != "":
		var err error
		s.shown, err = token.ReadSecret(s.ServiceToken)
		p.AddFile("service_token", s.ServiceToken, err)
	case s.Auth.On():
		p.Add("service_token", "must name a file: promptbuilder and flowstore have to believe for whom the agent calls (`tsumugi token add --role service`)")
	}
}

// files are those that the settings name, which no folder of a session may hold.
func (s *settings) files() []string {
	return slices.DeleteFunc([]string{s.Backends, s.ServiceToken}, func(name string) bool { return name == "" })
}

func defaults() settings {
	return settings{
		Settings: lifecycle.DefaultSettings("127.0.0.1:7452", "127.0.0.1:7492"),
		Config:   app.DefaultConfig(), GRPC: grpcserver.DefaultConfig(),
		PromptBuilder: "127.0.0.1:7451", FlowStore: "127.0.0.1:7453",
	}
}
