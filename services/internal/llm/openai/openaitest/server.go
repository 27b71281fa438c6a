// Package openaitest is an OpenAI-compatible server for tests: no model, but the endpoints, status codes, bodies and event
// streams of OpenAI, vLLM or llama.cpp's /v1. Its texts come from the test, its tokens from a simple rule.
package openaitest

import (
	"encoding/json"
	"hash/fnv"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/tsumugi-dev/tsumugi/services/internal/llm/llmtest"
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
	// Cut says what the tokens of a text are. nil: llmtest.Runes.
	Cut llmtest.Rule
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
	// NoDone leaves out the last event.
	NoDone bool
}

// Faults are what goes wrong. The zero value is nothing.
type Faults struct {
	// Refuse is a status for the next answers, with Body and a Retry-After of 7 seconds. 0: none.
	Refuse int
	Body   string
	// Break is how a stream goes wrong after BreakAfter pieces.
	Break      BreakFault
	BreakAfter int
	// Count is what /tokenize says instead of the truth, without naming tokens.
	Count *int
}

// BreakFault is a stream that goes wrong.
type BreakFault string

// Streams that go wrong.
const (
	BreakCut     BreakFault = "cut"
	BreakGarbage BreakFault = "garbage"
	BreakSilent  BreakFault = "silent"
	BreakError   BreakFault = "error"
)

// Server is a fake server. Safe for concurrent use.
type Server struct {
	// URL is its base address, without /v1.
	URL string

	steps   chan struct{}
	aborted chan string
	closed  chan struct{}

	mu       sync.Mutex
	options  Options
	faults   Faults
	requests map[string][]json.RawMessage
	cached   []string
}

// New starts a server that stops at the end of the test.
func New(tb testing.TB, o Options) *Server {
	tb.Helper()
	s := &Server{
		steps: make(chan struct{}), aborted: make(chan string, 1024), closed: make(chan struct{}),
		options: o, requests: map[string][]json.RawMessage{},
	}
	server := httptest.NewServer(s.handler())
	s.URL = server.URL
	tb.Cleanup(func() {
		close(s.closed)
		server.CloseClientConnections()
		server.Close()
	})
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
	s.mu.Lock()
	defer s.mu.Unlock()
	s.options, s.cached = o, nil
}

// patience is how long a test waits for what must come.
const patience = 30 * time.Second

// Step lets one event of one stepped answer go. The test fails when no answer waits for it.
func (s *Server) Step(tb testing.TB) {
	tb.Helper()
	select {
	case s.steps <- struct{}{}:
	case <-time.After(patience):
		tb.Errorf("no answer asked for its next piece within %v", patience) // Step may run beside the test: not Fatal
	}
}

// Aborted gives the prompt of each answer whose client went away before its end, in that order.
func (s *Server) Aborted() <-chan string { return s.aborted }

// Requests gives the bodies that an endpoint, such as `/v1/completions`, was sent, in order.
func (s *Server) Requests(path string) []json.RawMessage {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.requests[path])
}

// enter notes a call and gives what it finds.
func (s *Server) enter(r *http.Request, body []byte) (Options, Faults) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests[r.URL.Path] = append(s.requests[r.URL.Path], body)
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
		o.Cut = llmtest.Runes
	}
	if o.Around == 0 {
		o.Around = 7
	}
	if o.Finish == "" {
		o.Finish = "stop"
	}
	if o.Reply == nil {
		o.Reply = func(string) []string { return llmtest.Runes("糸は夜の港へ続いていた。") }
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
	h := fnv.New32a()
	_, _ = h.Write([]byte(o.Models[0] + "\x00" + piece)) // a hash takes everything
	return 10 + int(h.Sum32()%100_000)
}

// reuse remembers a prompt and says how much of it is that of the last one. At least one token is always read.
func (s *Server) reuse(prompt []string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	for n < len(prompt)-1 && n < len(s.cached) && prompt[n] == s.cached[n] {
		n++
	}
	s.cached = prompt
	return n
}
