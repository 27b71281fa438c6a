// Package openai talks to servers with the HTTP API of OpenAI: OpenAI itself, vLLM, llama.cpp's /v1, and others.
//
// Endpoints: GET /v1/models for who it is, POST /v1/completions (raw prompts) or /v1/chat/completions for text, and for
// counts POST /tokenize of vLLM and of llama.cpp. What surprises, and where it is handled:
//
//   - OpenAI counts nothing and does not tell its windows: both stand in the backends file (count.go, window.go).
//   - A chat puts a prompt into a form that costs tokens. They are taken off the window, so that a text counts as what it is
//     (count.go).
//   - vLLM says how large its window is when it counts; a window that is too small is told in many wordings (package openaiwire).
//   - OpenAI takes four stop strings: the others are looked for here (request.go).
//   - Usage comes in the event with the finish reason, or in one without choices behind it (package openaiwire).
//   - Some servers leave out the [DONE] at the end; an answer with a finish reason is whole (package openaiwire).
//   - A tool call comes in fragments, whose index, id and name some servers leave out or repeat (wire.Calls).
//   - Errors inside a stream come in three forms (package openaiwire), and refusals may repeat the prompt, which is cut off there.
//   - A used-up quota is 429 like too much haste, but waiting does not help (package openaiwire).
package openai

import (
	"strings"
	"sync"
	"time"

	"github.com/tsumugi-dev/tsumugi/services/internal/llm"
	"github.com/tsumugi-dev/tsumugi/services/internal/llm/openaiwire"
	"github.com/tsumugi-dev/tsumugi/services/internal/llm/tokenizer"
	"github.com/tsumugi-dev/tsumugi/services/internal/llm/wire"
)

// Kind is the name of this kind of server in the backends file.
const Kind = "openai"

// idleConnection is how long a connection is kept: vLLM and llama.cpp close idle ones after 5 s.
const idleConnection = 3 * time.Second

// Program is what answers at the address: what it counts with, and what it takes for sampling.
type Program string

// The programs.
const (
	// OpenAI is OpenAI itself, and whatever is said to be compatible. It counts nothing.
	OpenAI Program = "openai"
	// VLLM is vLLM.
	VLLM Program = "vllm"
	// LlamaCpp is llama.cpp; kind `llamacpp` knows more of it.
	LlamaCpp Program = "llamacpp"
)

// API is how a prompt is sent.
type API string

// The APIs.
const (
	// Completions sends it as it is.
	Completions API = "completions"
	// Chat sends it as one message of a user.
	Chat API = "chat"
)

// Config is one server.
type Config struct {
	// Endpoint is where it is. A `/v1` at the end of the address is left out.
	wire.Endpoint
	// Program is what answers there.
	Program Program
	// API is how a prompt is sent.
	API API
	// Model is the model as the server names it; empty: the only one that it has.
	Model string
	// Tools: it takes tools in a conversation. Nobody can ask a server of this kind.
	Tools bool
	// Tokenizer is the model's own vocabulary. With it texts are counted here; nil: the server counts.
	Tokenizer *tokenizer.Tokenizer
}

// Client is one server, as Counter and as Generator. Safe for concurrent use.
type Client struct {
	config Config
	server *wire.Server

	mu sync.Mutex
	// around is what a chat costs besides the prompt, once it is known.
	around int
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
	config.Address = strings.TrimSuffix(config.Address, "/v1")
	return &Client{config: config, server: wire.NewServer(wire.Config{
		Endpoint: config.Endpoint, Kind: "OpenAI-compatible", KeyName: "API key", Idle: idleConnection, Words: openaiwire.Words,
	})}
}

// Close closes the connections that are not in use. The client can still be used.
func (c *Client) Close() error { return c.server.Close() }

// Warnings implements llm.Warner.
func (c *Client) Warnings() []string { return c.server.Warnings() }
