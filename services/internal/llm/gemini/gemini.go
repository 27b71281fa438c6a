// Package gemini talks to the Gemini API (the one of Google AI Studio, not of Vertex AI), with the shapes of
// google.golang.org/genai over our own HTTP: that library's client sends a prompt again by itself, reads keys and addresses
// from the environment, and has no limit on the size of an answer.
//
// Endpoints: GET models/M for who it is, POST models/M:countTokens for counts, POST models/M:streamGenerateContent for text.
// What this service does that surprises, and where it is handled:
//
//   - It has no raw prompts: a prompt is the turn of a user, and what the model is to go on with a turn of the model
//     (contents.go).
//   - A call of a function comes with a signature, and models refuse a conversation in which it is missing (contents.go).
//   - A count may be smaller than what generation reads, so a margin is kept (Margin, below).
//   - Its window is of the prompt alone; answers have another limit (window.go).
//   - What a model thinks is paid out of the tokens of the answer, which may be used up before the first word (stream.go).
//   - A filter refuses a prompt with status 200, or ends an answer in the middle (stream.go).
//   - A stream has no last event: an answer with a finish reason is whole (stream.go).
//   - A refusal may be a list of one, a wrong key is status 400, and when to come again stands in the body (errors.go).
//   - It takes 5 stop strings: the others are looked for here. It does not tell which one ended an answer (generate.go).
package gemini

import (
	"strings"
	"time"

	"github.com/tsumugi-dev/tsumugi/services/internal/llm"
	"github.com/tsumugi-dev/tsumugi/services/internal/llm/wire"
)

// Kind is the name of this kind of server in the backends file.
const Kind = "gemini"

const (
	// Address is where the service is.
	Address = "https://generativelanguage.googleapis.com"
	// Margin is how many tokens of the window are kept free unless the backends file says otherwise. The service's own page
	// on tokens counts 10 and reads 11 of the same text (field/wannabe.md 2), and a suffix is a turn of its own, with its marks.
	Margin = 64
)

// idleConnection is how long a connection is kept; the service keeps them for minutes.
const idleConnection = 30 * time.Second

// Config is one model of the service.
type Config struct {
	// Endpoint is where it is. It must have a key.
	wire.Endpoint
	// Model is its name, such as `gemini-2.5-flash`; `models/` in front of it may be left out.
	Model string
	// NoTools: the model takes no tools. Nobody can ask the service.
	NoTools bool
	// ThinkingBudget is how many tokens the model may think, 0 none; nil leaves it to the model.
	ThinkingBudget *int
}

// Client is one model of the service, as Counter and as Generator. Safe for concurrent use.
type Client struct {
	config Config
	server *wire.Server
	path   string // of the model
}

var (
	_ llm.Counter   = (*Client)(nil)
	_ llm.Generator = (*Client)(nil)
	_ llm.Sampler   = (*Client)(nil)
	_ llm.Warner    = (*Client)(nil)
)

// New makes a client. It connects when it is first asked something (wire.NewServer says where prompts go).
func New(config Config) *Client {
	path := config.Model
	if !strings.Contains(path, "/") {
		path = "models/" + path
	}
	return &Client{config: config, path: "/v1beta/" + path, server: wire.NewServer(wire.Config{
		Endpoint: config.Endpoint, Kind: "Gemini API", KeyName: "API key", KeyHeader: "x-goog-api-key", Idle: idleConnection, Words: words,
	})}
}

// Close closes the connections that are not in use. The client can still be used.
func (c *Client) Close() error { return c.server.Close() }

// Warnings implements llm.Warner.
func (c *Client) Warnings() []string { return c.server.Warnings() }
