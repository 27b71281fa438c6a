// Package koboldcpp talks to the HTTP server of KoboldCpp through its native API.
//
// Endpoints: GET /api/extra/true_max_context_length and GET /api/v1/model for who it is, POST /api/extra/tokencount for
// counts, POST /api/extra/generate/stream for text, POST /api/extra/abort to stop it, GET /api/extra/perf for what it cost.
// What this server does that surprises, and where it is handled:
//
//   - A text of 50,000 tokens or more is counted as 0, with status 200 (count.go).
//   - Counts share one buffer of the server: two at once may give each the other's number (count.go).
//   - A prompt that does not fit loses its beginning without a word, so each is counted before it is sent (generate.go).
//   - The stop string is in the text, perhaps with more behind it, and a generation that it ended says `length` (stream.go).
//   - While streaming, finish_reason is the string `null`; the stream ends with the connection (stream.go).
//   - A generation that is aborted ends like one that is done (stream.go).
//   - Seeds are 31 bits, and 0 draws one (sampling.go).
//   - It tells no token borders: version 1.76 has no detokenize.
package koboldcpp

import (
	"time"

	"github.com/tsumugi-dev/tsumugi/services/internal/llm"
	"github.com/tsumugi-dev/tsumugi/services/internal/llm/wire"
)

// Kind is the name of this kind of server in the backends file.
const Kind = "koboldcpp"

// idleConnection is how long a connection would be kept; the server speaks HTTP/1.0 and closes each.
const idleConnection = time.Second

// Config is one server.
type Config struct {
	// Name is the backend's name in the backends file.
	Name string
	// Address is the base address, such as `http://127.0.0.1:5001`, without a slash at the end.
	Address string
	// Password is sent as bearer token; empty for none. It is never logged.
	Password string
	// Timeouts are the time limits; each must be positive.
	Timeouts llm.Timeouts
}

// Client is one KoboldCpp server, as Counter and as Generator. Safe for concurrent use.
type Client struct {
	config Config
	server *wire.Server
	// counting holds a token while a count is under way.
	counting chan struct{}
}

var (
	_ llm.Counter   = (*Client)(nil)
	_ llm.Generator = (*Client)(nil)
	_ llm.Sampler   = (*Client)(nil)
)

// New makes a client. It connects when it is first asked something. Prompts go to the address of the config and nowhere
// else: neither redirects nor the proxies of the environment are followed.
func New(config Config) *Client {
	return &Client{config: config, counting: make(chan struct{}, 1), server: wire.NewServer(wire.Config{
		Kind: "KoboldCpp", KeyName: "password", Name: config.Name, Address: config.Address, APIKey: config.Password,
		Timeouts: config.Timeouts, Idle: idleConnection, Words: words,
	})}
}

// Close closes the connections that are not in use. The client can still be used.
func (c *Client) Close() error { return c.server.Close() }
