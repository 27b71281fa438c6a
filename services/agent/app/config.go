package app

import (
	"time"

	"github.com/tsumugi-dev/tsumugi/services/agent/internal/generation"
	"github.com/tsumugi-dev/tsumugi/services/internal/config"
)

// Config are the settings of the agent.
type Config struct {
	// Data is the folder of what the agent keeps: sessions, the keys of their audit, and the secret of approvers where there is no file of tokens.
	// It is made where it is not there.
	Data       string           `yaml:"data" help:"folder of the agent: its sessions, the keys of their audit, and the secret of approvers where there is no file of tokens"`
	Generation GenerationConfig `yaml:"generation"`
	Summaries  SummariesConfig  `yaml:"summaries"`
	Sessions   SessionsConfig   `yaml:"sessions"`
}

// Check finds settings that cannot be.
func (c Config) Check(p *config.Problems) {
	if c.Data == "" {
		p.Add("data", "must be the name of a folder")
	}
}

// GenerationConfig are the limits of generations.
type GenerationConfig struct {
	// MaxTokens is the length of an answer that asks for none.
	MaxTokens int `yaml:"max_tokens" help:"tokens of an answer that asks for no length"`
	// Variants, Options and Repeat are how many answers one request may ask for. Of the first two, which run at once, never
	// more than Running.
	Variants int `yaml:"variants" help:"answers to one prompt that a request may ask for"`
	Options  int `yaml:"options" help:"combinations of options of dynamic prompts for which a request may ask an answer each"`
	Repeat   int `yaml:"repeat" help:"answers one behind the other that a request may ask for"`
	// Running is how many may run at once.
	Running int `yaml:"running" help:"generations that may run at once"`
	// Total is how long one may take, FirstPiece and Silence how long the model may say nothing before and after its first piece.
	Total      time.Duration `yaml:"total" help:"how long a generation may take"`
	FirstPiece time.Duration `yaml:"first_piece" help:"how long the model may take to read the prompt"`
	Silence    time.Duration `yaml:"silence" help:"how long the model may be silent in the middle"`
	// Store is how long storing an answer, or a summary, may take, also while the service stops.
	Store time.Duration `yaml:"store" help:"how long storing an answer may take"`
	// Heartbeat is how long a stream is silent before it says that it lives.
	Heartbeat time.Duration `yaml:"heartbeat" help:"how long a stream is silent before a heartbeat"`
	// Keep, Kept and KeptBytes bound what can be watched again after its end.
	Keep      time.Duration `yaml:"keep" help:"how long an ended generation can be watched again"`
	Kept      int           `yaml:"kept" help:"ended generations that can be watched again"`
	KeptBytes config.Size   `yaml:"kept_bytes" help:"text of ended generations that is kept in memory"`
}

// DefaultConfig has the limits of generation.DefaultLimits and the numbers of summary.DefaultNumbers.
func DefaultConfig() Config {
	l := generation.DefaultLimits()
	return Config{Data: "./tsumugi-data/agent", Summaries: defaultSummaries(), Sessions: defaultSessions(), Generation: GenerationConfig{
		MaxTokens: l.MaxTokens, Variants: l.Variants, Options: l.Options, Repeat: l.Repeat, Running: l.Running,
		Total: l.Total, FirstPiece: l.FirstPiece, Silence: l.Silence, Store: l.Store, Heartbeat: l.Heartbeat,
		Keep: l.Keep, Kept: l.Kept, KeptBytes: config.Size(l.KeptBytes),
	}}
}

func (c GenerationConfig) limits() generation.Limits {
	return generation.Limits{
		MaxTokens: c.MaxTokens,
		Variants:  min(c.Variants, c.Running), Options: min(c.Options, c.Running), Repeat: c.Repeat, Running: c.Running,
		Total: c.Total, FirstPiece: c.FirstPiece, Silence: c.Silence, Store: c.Store, Heartbeat: c.Heartbeat,
		Keep: c.Keep, Kept: c.Kept, KeptBytes: int(c.KeptBytes),
	}
}

// CheckIdle finds heartbeats that do not keep a stream alive on a server that ends idle ones. prefix is where the settings
// of the agent stand.
func (c Config) CheckIdle(p *config.Problems, prefix string, idle time.Duration) {
	if c.Generation.Heartbeat > idle/2 {
		p.Add(prefix+"generation.heartbeat", "must be at most half of grpc.stream_idle (%s), or a late heartbeat finds its stream ended; is %s",
			idle, c.Generation.Heartbeat)
	}
}

// Check finds limits that cannot be.
func (c GenerationConfig) Check(p *config.Problems) {
	for _, n := range []struct {
		key  string
		got  int
		most int
	}{
		{"max_tokens", c.MaxTokens, 1 << 20},
		{"running", c.Running, 10_000},
		{"kept", c.Kept, 1_000_000},
		{"variants", c.Variants, 64},
		{"options", c.Options, 100}, // promptbuilder lists no more
		{"repeat", c.Repeat, 1000},
	} {
		if n.got < 1 || n.got > n.most {
			p.Add(n.key, "must be from 1 to %d, is %d", n.most, n.got)
		}
	}
	for _, d := range []struct {
		key  string
		got  time.Duration
		most time.Duration
	}{
		{"total", c.Total, 24 * time.Hour},
		{"first_piece", c.FirstPiece, 24 * time.Hour},
		{"silence", c.Silence, 24 * time.Hour},
		{"store", c.Store, time.Minute},
		{"heartbeat", c.Heartbeat, time.Minute},
		{"keep", c.Keep, 24 * time.Hour},
	} {
		if d.got <= 0 || d.got > d.most {
			p.Add(d.key, "must be more than 0 and at most %s, is %s", d.most, d.got)
		}
	}
	if c.KeptBytes < config.MiB || c.KeptBytes > 64*config.GiB {
		p.Add("kept_bytes", "must be from 1MiB to 64GiB, is %s", c.KeptBytes)
	}
}
