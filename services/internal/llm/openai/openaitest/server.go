// Package openaitest is an OpenAI-compatible server for tests: no model, but the endpoints, status codes, bodies and event
// streams of OpenAI, vLLM or llama.cpp's /v1. Its texts come from the test, its tokens from a simple rule.
package openaitest

import (
	"net/http"
	"sync"
	"testing"

	"github.com/tsumugi-dev/tsumugi/services/internal/llm/servertest"
)

// Program is whose words the server speaks.
type Program string

// The programs.
const (
	// OpenAI has no /tokenize, takes four stop strings and only the settings that it knows.
	OpenAI Program = "openai"
	// VLLM counts, tells its window with each count, and which stop string it was.
	VLLM Program = "vllm"
	// LlamaCpp counts, tells its window with the model, and the usage with the finish reason.
	LlamaCpp Program = "llamacpp"
)

// Options are what the server is. The zero value is OpenAI with one model `fake`, a window of 4096 tokens, one token a
// character, that answers every prompt with a line of a story.
type Options struct {
	Program Program
	// Window is the tokens of prompt and answer together. 0: 4096.
	Window int
	// Models are what it has. nil: `fake`.
	Models []string
	// Cut says what the tokens of a text are. nil: servertest.Runes.
	Cut servertest.Rule
	// BOS puts a token in front of raw prompts.
	BOS bool
	// Around is how many tokens the form of a chat has. 0: 7, as with OpenAI.
	Around int
	// APIKey refuses requests without this bearer token. Empty: none.
	APIKey string
	// Reply gives the pieces of the answer to a prompt, one token each; the model ends the text after the last. nil: a
	// line of a story.
	Reply func(prompt string) []string
	// Stepped holds each event of a stream back until Step is called.
	Stepped bool
	// Finish is what ends an answer instead of `stop`, such as `content_filter`. Empty: `stop`.
	Finish string
	// NoTools refuses tools, as vLLM does without its flags for them.
	NoTools bool
	// NoDone leaves out the last event.
	NoDone bool
}

// Faults are what goes wrong. The zero value is nothing.
type Faults struct {
	// Refuse is a status for the next answers, with Body and a Retry-After of 7 seconds. 0: none.
	Refuse int
	Body   string
	// Break is how a stream goes wrong after BreakAfter pieces.
	Break      servertest.Break
	BreakAfter int
	// Count is what /tokenize says instead of the truth, without naming tokens.
	Count *int
}

// Server is a fake server, whose URL is without /v1. Safe for concurrent use.
type Server struct {
	*servertest.Server

	mu      sync.Mutex
	options Options
	faults  Faults
}

// New starts a server that stops at the end of the test.
func New(tb testing.TB, o Options) *Server {
	tb.Helper()
	s := &Server{options: o}
	s.Server = servertest.New(tb, s.handle)
	return s
}

// Break makes things go wrong from now on; the zero Faults mend it.
func (s *Server) Break(f Faults) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults = f
}

// Restart puts other options in place, as when the server was started again.
func (s *Server) Restart(o Options) {
	s.Forget()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.options = o
}

// LlamaChat answers a request to /v1/chat/completions for the fake of kind `llamacpp`, whose server is s.
func LlamaChat(s *servertest.Server, w http.ResponseWriter, r *http.Request, body []byte, o Options, f Faults) {
	o.Program = LlamaCpp
	own := &Server{Server: s, options: o, faults: f}
	o, f = own.state()
	own.complete(call{w, r, body, o, f}, true)
}

// state is what a request finds.
func (s *Server) state() (Options, Faults) {
	s.mu.Lock()
	defer s.mu.Unlock()
	o := s.options
	if o.Window == 0 {
		o.Window = 4096
	}
	if o.Program == "" {
		o.Program = OpenAI
	}
	if o.Models == nil {
		o.Models = []string{"fake"}
	}
	if o.Cut == nil {
		o.Cut = servertest.Runes
	}
	if o.Around == 0 {
		o.Around = 7
	}
	if o.Finish == "" {
		o.Finish = "stop"
	}
	if o.Reply == nil {
		o.Reply = servertest.Story
	}
	return o, s.faults
}

// tokens are those of a prompt as generation reads it.
func (o Options) tokens(prompt string, chat bool) []string {
	pieces := o.Cut(prompt)
	front := 0
	if o.BOS {
		front = 1
	}
	if chat {
		front = o.Around
	}
	return append(make([]string, front), pieces...)
}

// number is the id of a token: the same for the same piece of the same model.
func (o Options) number(piece string) int {
	return servertest.Number(o.Models[0], piece, 100_000)
}
