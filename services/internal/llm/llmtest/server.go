// Package llmtest is a llama.cpp server for tests: no model, but the endpoints, status codes, bodies and event streams of
// the real one, so that a client meets the real one's traps. Its texts come from the test, its tokens from a simple rule.
package llmtest

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
	"time"
)

// Options are what the server is. The zero value is a server with a window of 4096 tokens, one token a character, that
// answers every prompt with a line of a story.
type Options struct {
	// Window is the tokens of a slot, prompt and answer together. 0: 4096.
	Window int
	// Model is its name. Empty: `fake.gguf`. Another name is another tokenizer: the numbers of its tokens differ.
	Model string
	// Cut says what the tokens of a text are. nil: Runes.
	Cut Rule
	// BOS puts a token in front of every text, as many models want. It is named `<bos>` and stands for no byte.
	BOS bool
	// APIKey refuses requests without this bearer token. Empty: no key.
	APIKey string
	// Reply gives the pieces of the answer to a prompt, one token each; the model ends the text after the last. A piece
	// may hold a part of a character: the real server never sends one, proxies have. nil: a line of a story.
	Reply func(prompt string) []string
	// Stepped holds each event of a stream back until Step is called.
	Stepped bool
}

// Faults are what goes wrong. The zero value is nothing.
type Faults struct {
	// Loading and Busy are how many of the next calls are answered with 503; of both, loading comes first.
	Loading, Busy int
	// Count is what is wrong with every answer of /tokenize.
	Count CountFault
	// Hang takes requests and never answers them.
	Hang bool
	// Break is how a stream goes wrong after BreakAfter pieces.
	Break      BreakFault
	BreakAfter int
}

// CountFault is a wrong answer of /tokenize.
type CountFault string

// Wrong answers of /tokenize.
const (
	// CountZero has no tokens, as the real server answers when the text has another name in the request.
	CountZero CountFault = "zero"
	// CountNegative has tokens with the number -1.
	CountNegative CountFault = "negative"
	// CountGarbage is no JSON.
	CountGarbage CountFault = "garbage"
	// CountFailed is status 500.
	CountFailed CountFault = "failed"
)

// BreakFault is a stream that goes wrong.
type BreakFault string

// Streams that go wrong.
const (
	// BreakCut closes the connection, as a server does that is killed.
	BreakCut BreakFault = "cut"
	// BreakEnd ends the stream in good form but without its last event.
	BreakEnd BreakFault = "end"
	// BreakError sends an error as an event, as builds of 2026 do.
	BreakError BreakFault = "error"
	// BreakErrorField sends an error in a field of its own, as builds of 2025 do.
	BreakErrorField BreakFault = "error field"
	// BreakGarbage sends an event that is no JSON.
	BreakGarbage BreakFault = "garbage"
	// BreakSilent sends nothing any more but keeps the connection open.
	BreakSilent BreakFault = "silent"
)

// Server is a fake llama.cpp server. Safe for concurrent use.
type Server struct {
	// URL is its base address.
	URL string

	steps   chan struct{}
	aborted chan string
	closed  chan struct{}

	mu       sync.Mutex
	options  Options
	faults   Faults
	marker   int
	requests map[string][]json.RawMessage
	cached   []string // the tokens of the last prompt
	slots    int      // how many answers are being made
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

// Restart puts other options in place, as when the server was started again.
func (s *Server) Restart(o Options) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.options, s.cached, s.marker = o, nil, s.marker+1
}

// Break makes things go wrong from now on; the zero Faults mend it.
func (s *Server) Break(f Faults) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults = f
}

// Step lets one event of one stepped answer go: each piece, and the last event, wait for a step. The test fails when no
// answer waits for it.
func (s *Server) Step(tb testing.TB) {
	tb.Helper()
	select {
	case s.steps <- struct{}{}:
	case <-time.After(patience):
		tb.Errorf("no answer asked for its next piece within %v", patience) // Step may run beside the test: not Fatal
	}
}

// patience is how long a test waits for what must come.
const patience = 30 * time.Second

// Aborted gives the prompt of each answer whose client went away before its end, in that order.
func (s *Server) Aborted() <-chan string { return s.aborted }

// Calls says how often an endpoint, such as `/tokenize`, was called. Refused calls count too.
func (s *Server) Calls(path string) int { return len(s.Requests(path)) }

// Requests gives the bodies that an endpoint was sent, in order.
func (s *Server) Requests(path string) []json.RawMessage {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.requests[path])
}

// Running says how many answers are being made.
func (s *Server) Running() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.slots
}

// state is what a request finds.
func (s *Server) state() (Options, Faults) {
	s.mu.Lock()
	defer s.mu.Unlock()
	o := s.options
	if o.Window == 0 {
		o.Window = 4096
	}
	if o.Model == "" {
		o.Model = "fake.gguf"
	}
	if o.Cut == nil {
		o.Cut = Runes
	}
	if o.Reply == nil {
		o.Reply = func(string) []string { return Runes("糸は夜の港へ続いていた。") }
	}
	return o, s.faults
}

// enter notes a call and says whether it is turned away with 503, and in which words.
func (s *Server) enter(r *http.Request, body []byte) (words string, away bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests[r.URL.Path] = append(s.requests[r.URL.Path], body)
	switch {
	case s.faults.Loading > 0:
		s.faults.Loading--
		return "Loading model", true
	case s.faults.Busy > 0:
		s.faults.Busy--
		return "no slot available", true
	}
	return "", false
}
