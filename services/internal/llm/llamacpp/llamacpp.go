// Package llamacpp talks to the HTTP server of llama.cpp (llama-server, and programs that embed it).
//
// Endpoints: GET /props and GET /v1/models for who it is, POST /tokenize for counts and token borders, POST /completion
// with `stream: true` for text. What this server does that surprises, and where it is handled:
//
//   - /tokenize leaves the BOS token out unless asked for it, while generation adds it (count.go).
//   - A wrong field name in /tokenize is answered with no tokens and status 200: 0 tokens never count as a fit (count.go).
//   - Pieces that are no valid UTF-8 come as arrays of bytes (pieces.go).
//   - The window is that of a slot, not of the server (window.go).
//   - A prompt over the window is refused with its size (errors.go); builds of 2025 say so inside the stream, in a line
//     that begins with `error:` (stream.go).
//   - The last event of a stream repeats the prompt, so the longest line of it depends on the prompt (generate.go).
//   - A template that has no place for tools drops them without a word: then none are sent (window.go).
//   - Only /v1/chat/completions reads the calls of tools out of an answer (generate.go).
//   - Streams are kept alive with SSE comments, and end without a mark after the event with `stop: true` (package wire).
package llamacpp

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/tsumugi-dev/tsumugi/services/internal/llm"
	"github.com/tsumugi-dev/tsumugi/services/internal/llm/tokenizer"
	"github.com/tsumugi-dev/tsumugi/services/internal/llm/wire"
)

// Kind is the name of this kind of server in the backends file.
const Kind = "llamacpp"

// idleConnection is how long a connection is kept: llama.cpp closes idle ones after 5 s.
const idleConnection = 3 * time.Second

// Config is one server.
type Config struct {
	wire.Endpoint
	// Tokenizer is the model's own vocabulary, read from a file. With it texts are counted here; nil: the server counts.
	Tokenizer *tokenizer.Tokenizer
}

// Client is one llama.cpp server, as Counter and as Generator. Safe for concurrent use.
type Client struct {
	config Config
	server *wire.Server
	// tools: the model's template has a place for them, as the server told last.
	tools atomic.Bool

	mu sync.Mutex
	// known is the tokenizer fingerprint of the server that described itself as knownFor.
	known, knownFor string
}

var (
	_ llm.Counter   = (*Client)(nil)
	_ llm.Generator = (*Client)(nil)
	_ llm.Local     = (*Client)(nil)
	_ llm.Sampler   = (*Client)(nil)
	_ llm.Warner    = (*Client)(nil)
)

// New makes a client. It connects when it is first asked something (wire.NewServer says where prompts go).
func New(config Config) *Client {
	return &Client{config: config, server: wire.NewServer(wire.Config{
		Endpoint: config.Endpoint, Kind: "llama.cpp", KeyName: "API key", Idle: idleConnection, Words: words,
	})}
}

// Close closes the connections that are not in use. The client can still be used.
func (c *Client) Close() error { return c.server.Close() }

// Warnings implements llm.Warner.
func (c *Client) Warnings() []string { return c.server.Warnings() }
