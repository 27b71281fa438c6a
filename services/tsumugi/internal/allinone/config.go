// Package allinone runs every service in one process.
//
// Two gRPC servers from one constructor stand inside (docs/adr/0003): front listens on TCP, and in memory for the gateway,
// and has all services; inner listens in memory only and has promptbuilder and flowstore, for the agent. So limits,
// interceptors, error details and streams are those of separate processes.
package allinone

import (
	"os"
	"slices"

	agent "github.com/tsumugi-dev/tsumugi/services/agent/app"
	flowstore "github.com/tsumugi-dev/tsumugi/services/flowstore/app"
	gateway "github.com/tsumugi-dev/tsumugi/services/gateway/app"
	"github.com/tsumugi-dev/tsumugi/services/internal/auth"
	"github.com/tsumugi-dev/tsumugi/services/internal/config"
	"github.com/tsumugi-dev/tsumugi/services/internal/grpcserver"
	"github.com/tsumugi-dev/tsumugi/services/internal/lifecycle"
	"github.com/tsumugi-dev/tsumugi/services/internal/llm/backends"
	"github.com/tsumugi-dev/tsumugi/services/internal/obs"
	promptbuilder "github.com/tsumugi-dev/tsumugi/services/promptbuilder/app"
)

// Config are the settings of the whole process. Those of a service stand under its name, as in the service's own program.
type Config struct {
	Listen        Listen               `yaml:"listen"`
	Auth          auth.Config          `yaml:"auth"`
	Backends      string               `yaml:"backends" help:"backends file; empty: the providers of config.yaml in the data of flowstore, else a llama.cpp server on port 8080"`
	Log           obs.LogConfig        `yaml:"log"`
	Stop          lifecycle.StopConfig `yaml:"stop"`
	GRPC          grpcserver.Config    `yaml:"grpc"`
	PromptBuilder promptbuilder.Config `yaml:"promptbuilder"`
	Agent         agent.Config         `yaml:"agent"`
	FlowStore     flowstore.Config     `yaml:"flowstore"`
	Gateway       gateway.Config       `yaml:"gateway"`

	file string        // that these settings stand in, where there is one
	set  *backends.Set // what Backends holds, or config.yaml beside the stories, once Check has read it
	told backends.Told // what became of that config.yaml
}

// Listen are the addresses. Port 0 takes a free one.
type Listen struct {
	GRPC  string `yaml:"grpc" help:"address of gRPC, all services"`
	HTTP  string `yaml:"http" help:"address of REST and Server-Sent Events"`
	Admin string `yaml:"admin" help:"address of /livez, /readyz and /metrics; Host must be localhost or an IP address"`
}

// DefaultConfig needs nothing: loopback addresses, and data in ./tsumugi-data.
func DefaultConfig() Config {
	return Config{
		Listen:        Listen{GRPC: "127.0.0.1:7450", HTTP: "127.0.0.1:7480", Admin: "127.0.0.1:7490"},
		Log:           obs.DefaultLogConfig(),
		Stop:          lifecycle.DefaultStopConfig(),
		GRPC:          grpcserver.DefaultConfig(),
		PromptBuilder: promptbuilder.DefaultConfig(),
		Agent:         agent.DefaultConfig(),
		FlowStore:     flowstore.DefaultConfig(),
		Gateway:       gateway.DefaultConfig(),
	}
}

// In says in which file the settings stand: no folder of a session may hold it.
func (c *Config) In(file string) { c.file = file }

// own are the files and folders of this process, which no folder of a session may hold (field/review-agent.md S12).
func (c *Config) own() []string {
	program, _ := os.Executable() // Where nobody knows it, nothing holds it.
	all := []string{program, c.file, c.Auth.Tokens, c.Backends, c.FlowStore.Data, c.PromptBuilder.Prompts, c.PromptBuilder.Presets}
	return slices.DeleteFunc(all, func(name string) bool { return name == "" })
}

// Sections say where the settings of each service stand, for the environment (config.Source).
var Sections = map[string]string{
	"TSUMUGI": "", "PROMPTBUILDER": "promptbuilder", "AGENT": "agent", "FLOWSTORE": "flowstore", "GATEWAY": "gateway",
}

// Check finds addresses that may not be opened, reads the backends file or, without one, the providers of flowstore's config.yaml, and finds settings of different services that contradict each other.
func (c *Config) Check(p *config.Problems) {
	lifecycle.CheckAddress(p, "listen.grpc", c.Listen.GRPC, c.Auth)
	lifecycle.CheckAddress(p, "listen.http", c.Listen.HTTP, c.Auth)
	lifecycle.CheckAddress(p, "listen.admin", c.Listen.Admin, auth.Config{}) // nobody is asked there
	c.set, c.told = backends.CheckChoice(p, "backends", c.Backends, c.FlowStore.ConfigFile())
	c.PromptBuilder.CheckBackend(p, "promptbuilder.", c.set)
	c.Agent.CheckIdle(p, "agent.", c.GRPC.StreamIdle)
	if store := c.Agent.Generation.Store; store > c.Stop.Total {
		p.Add("agent.generation.store", "must be at most stop.total (%s), in which a stopping process stores what it has, and is %s", c.Stop.Total, store)
	}
	if c.Gateway.MaxBody > c.GRPC.MaxMessageBytes {
		p.Add("gateway.max_body", "must be at most grpc.max_message_bytes (%s), in which the services get it, and is %s", c.GRPC.MaxMessageBytes, c.Gateway.MaxBody)
	}
	if grace := c.Gateway.DrainGrace; grace > c.Stop.Graceful {
		p.Add("gateway.drain_grace", "must be at most stop.graceful (%s), after which connections are cut, and is %s", c.Stop.Graceful, grace)
	}
}
