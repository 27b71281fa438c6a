// Package ollama talks to the HTTP server of Ollama through its native API (docs.ollama.com/api).
//
// Endpoints: GET /api/tags and POST /api/show for who it is, GET /api/ps for the window of a loaded model, POST
// /api/generate with `raw: true` for text, POST /api/chat for conversations. What this server does that surprises, and where it is handled:
//
//   - It has no endpoint that counts: texts are counted here, with the model's own vocabulary (count.go).
//   - A prompt over the window loses its middle, about half of it, with status 200. Each prompt is counted before it is
//     sent, and `truncate: false` makes an error of what is too long all the same (generate.go).
//   - An answer that fills the window pushes the beginning of the prompt out of it, unless told `shift: false` (generate.go).
//   - The window is what the request asks for, up to what the model was trained for, and each other one loads the model
//     anew (window.go).
//   - A request without a prompt only loads the model (generate.go).
//   - What models think is taken out of the answer, unless told `think: false` (generate.go).
//   - Some models run elsewhere, and the server sends their prompts on (window.go).
//   - A conversation gets the form of the model there, whose tokens nobody tells; room is kept for it (generate.go).
//   - A model that knows no tools is told so in its description, and refuses them (window.go).
//   - Settings that it does not know are dropped without a word (sampling.go).
//   - It does not tell which stop string ended an answer (stream.go).
package ollama

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/tsumugi-dev/tsumugi/services/internal/llm"
	"github.com/tsumugi-dev/tsumugi/services/internal/llm/tokenizer"
	"github.com/tsumugi-dev/tsumugi/services/internal/llm/wire"
)

// Kind is the name of this kind of server in the backends file.
const Kind = "ollama"

// idleConnection is how long a connection is kept. The server sets no limit of its own; proxies close after a minute or so.
const idleConnection = 30 * time.Second

// Config is one model of one server.
type Config struct {
	// Endpoint is where it is. Its key is that of a proxy in front of the server, which has none itself; its window is what
	// each request asks for, 0: that of the model as it is loaded.
	wire.Endpoint
	// Model is the name of the model there, such as `gemma3:4b`.
	Model string
	// Tokenizer is the model's own vocabulary. It must be there.
	Tokenizer *tokenizer.Tokenizer
}

// Client is one model of one Ollama server, as Counter and as Generator. Safe for concurrent use.
type Client struct {
	config Config
	server *wire.Server

	// tools: the model takes them, as the server told last.
	tools atomic.Bool

	mu sync.Mutex
	// known is what the server told of the model with the digest knownFor.
	known    shown
	knownFor string
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
		Endpoint: config.Endpoint, Kind: "Ollama", KeyName: "API key", Idle: idleConnection, Lines: true, Words: words,
	})}
}

// Close closes the connections that are not in use. The client can still be used.
func (c *Client) Close() error { return c.server.Close() }

// Warnings implements llm.Warner.
func (c *Client) Warnings() []string { return c.server.Warnings() }
