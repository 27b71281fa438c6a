// Package koboldcpp talks to the HTTP server of KoboldCpp through its native API.
//
// Endpoints: GET /api/extra/true_max_context_length and GET /api/v1/model for who it is, POST /api/extra/tokencount for
// counts, POST /api/extra/generate/stream for text, POST /api/extra/abort to stop it, GET /api/extra/perf for what it cost.
// What this server does that surprises, and where it is handled:
//
//   - A text of 50,000 tokens or more is counted as 0, with status 200 (count.go).
//   - Counts share one buffer of the server: two at once may give each the other's number (OneCount, below).
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
	// Endpoint is where it is. Its key is the server's password.
	wire.Endpoint
}

// Client is one KoboldCpp server, as Counter and as Generator. Safe for concurrent use.
type Client struct {
	server *wire.Server
}

var (
	_ llm.Counter   = (*Client)(nil)
	_ llm.Generator = (*Client)(nil)
	_ llm.Sampler   = (*Client)(nil)
	_ llm.Warner    = (*Client)(nil)
)

// New makes a client. It connects when it is first asked something (wire.NewServer says where prompts go).
func New(config Config) *Client {
	return &Client{server: wire.NewServer(wire.Config{
		Endpoint: config.Endpoint, Kind: "KoboldCpp", KeyName: "password", Idle: idleConnection, OneCount: true, Words: words,
	})}
}

// Close closes the connections that are not in use. The client can still be used.
func (c *Client) Close() error { return c.server.Close() }

// Warnings implements llm.Warner.
func (c *Client) Warnings() []string { return c.server.Warnings() }
