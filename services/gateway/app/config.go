package app

import (
	"net"
	"time"

	"github.com/tsumugi-dev/tsumugi/services/internal/config"
)

// Config are the settings of the gateway.
type Config struct {
	// Hosts are names for which it answers beside loopback names.
	Hosts []string `yaml:"hosts" help:"names, without port, that the header Host may have beside loopback names"`
	// MaxBody is the largest body of a request.
	MaxBody config.Size `yaml:"max_body" help:"largest body of a request"`
	// MaxInFlight is how many requests may run at once, streams included.
	MaxInFlight int `yaml:"max_in_flight" help:"requests that may run at once, streams included"`
	// BodyTimeout is how long the body of a request may take to arrive.
	BodyTimeout time.Duration `yaml:"body_timeout" help:"how long the body of a request may take to arrive"`
	// Timeout is the time limit of a call that is no stream.
	Timeout time.Duration `yaml:"timeout" help:"time limit of a call that is no stream"`
	// MaxTimeout is the longest time limit that the header Grpc-Timeout can ask for.
	MaxTimeout time.Duration `yaml:"max_timeout" help:"longest time limit that the header Grpc-Timeout can ask for"`
	// WriteTimeout is how long a client may not read before it is cut off.
	WriteTimeout time.Duration `yaml:"write_timeout" help:"how long a client may not read before it is cut off"`
	// DrainGrace is how long open streams may go on when the gateway stops. It should be less than the time that running
	// calls have to end, or streams break instead of being told.
	DrainGrace time.Duration `yaml:"drain_grace" help:"how long open streams may go on when the gateway stops"`
}

// DefaultConfig fits the defaults of the services' own servers.
func DefaultConfig() Config {
	return Config{
		MaxBody: 16 * config.MiB, MaxInFlight: 512, BodyTimeout: time.Minute,
		Timeout: 30 * time.Second, MaxTimeout: 2 * time.Minute, WriteTimeout: time.Minute, DrainGrace: 10 * time.Second,
	}
}

// maxBody is what every body may reach at most: it is held in memory while it is read.
const maxBody = config.GiB

// Check finds settings that cannot be.
func (c Config) Check(p *config.Problems) {
	for _, host := range c.Hosts {
		if name, _, err := net.SplitHostPort(host); err == nil {
			p.Add("hosts", "must be names without port: %s instead of %s", name, host)
		}
	}
	if c.MaxBody < config.KiB || c.MaxBody > maxBody {
		p.Add("max_body", "must be from 1KiB to %s, is %s", maxBody, c.MaxBody)
	}
	if c.MaxInFlight < 1 {
		p.Add("max_in_flight", "must be at least 1, is %d", c.MaxInFlight)
	}
	if c.Timeout <= 0 || c.Timeout > c.MaxTimeout {
		p.Add("timeout", "must be more than 0 and at most max_timeout (%s), is %s", c.MaxTimeout, c.Timeout)
	}
	if c.BodyTimeout <= 0 {
		p.Add("body_timeout", "must be more than 0, is %s", c.BodyTimeout)
	}
	if c.WriteTimeout <= 0 {
		p.Add("write_timeout", "must be more than 0, is %s", c.WriteTimeout)
	}
	if c.DrainGrace < 0 {
		p.Add("drain_grace", "must be 0 or more, is %s", c.DrainGrace)
	}
}
