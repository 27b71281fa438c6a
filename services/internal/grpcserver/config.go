package grpcserver

import (
	"time"

	"github.com/tsumugi-dev/tsumugi/services/internal/config"
)

// MinMessageBytes is the least that MaxMessageBytes may be: the largest node that flowstore sends, 12 MiB, with the names
// of its neighbours. What promptbuilder and agent take and send is smaller.
const MinMessageBytes = 13 * config.MiB

// Config are the limits of a server.
type Config struct {
	// MaxMessageBytes is the largest request and the largest answer.
	MaxMessageBytes config.Size `yaml:"max_message_bytes" help:"largest request and answer; at least 13MiB"`
	// MaxInFlight is how many calls and streams may run at once, over all connections.
	MaxInFlight int `yaml:"max_in_flight" help:"calls and streams that may run at once"`
	// MaxStreams is how many calls and streams may run at once on one connection; more wait at the caller. It must be no less than what the
	// gateway lets in (gateway.max_in_flight), whose requests all come over one connection: else watchers could hold up everybody's calls
	// (cases/agent.md c35).
	MaxStreams uint32 `yaml:"max_streams" help:"calls and streams that may run at once on one connection, others wait; no less than gateway.max_in_flight"`
	// DefaultTimeout is the time limit of a call whose caller set none. Streams have no time limit.
	DefaultTimeout time.Duration `yaml:"default_timeout" help:"time limit of a call whose caller set none"`
	// MaxTimeout is the longest time limit that a caller can set for a call.
	MaxTimeout time.Duration `yaml:"max_timeout" help:"longest time limit that a caller can set for a call"`
	// StreamIdle ends a stream on which nothing was sent or received for so long.
	StreamIdle time.Duration `yaml:"stream_idle" help:"a stream ends when nothing was sent or received for so long"`
}

// DefaultConfig has limits for a service on one machine (field/gostyle.md 3.1); streams idle for eight of their heartbeats (15 s).
func DefaultConfig() Config {
	return Config{
		MaxMessageBytes: 16 * config.MiB, MaxInFlight: 1024, MaxStreams: 600,
		DefaultTimeout: 30 * time.Second, MaxTimeout: 120 * time.Second, StreamIdle: 2 * time.Minute,
	}
}

// Check finds limits that cannot be.
func (c Config) Check(p *config.Problems) {
	if c.MaxMessageBytes < MinMessageBytes || c.MaxMessageBytes > config.GiB {
		p.Add("max_message_bytes", "must be from %s, the largest node (12MiB) and what stands around it, to 1GiB, is %s",
			MinMessageBytes, c.MaxMessageBytes)
	}
	if c.MaxInFlight < 1 {
		p.Add("max_in_flight", "must be at least 1, is %d", c.MaxInFlight)
	}
	if c.MaxStreams < 1 {
		p.Add("max_streams", "must be at least 1, is %d", c.MaxStreams)
	}
	if c.DefaultTimeout <= 0 || c.DefaultTimeout > c.MaxTimeout {
		p.Add("default_timeout", "must be more than 0 and at most max_timeout (%s), is %s", c.MaxTimeout, c.DefaultTimeout)
	}
	if c.StreamIdle < 30*time.Second {
		p.Add("stream_idle", "must be at least 30s, two heartbeats, is %s", c.StreamIdle)
	}
}
