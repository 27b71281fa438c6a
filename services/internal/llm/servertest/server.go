// Package servertest is what the fakes of model servers have in common: they note what they are asked, send an answer event
// by event when a test says so, know whose client left, and go wrong in the same ways. What goes over the wire is the
// business of each fake.
package servertest

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
	"time"
)

// Server is a fake server. Safe for concurrent use.
type Server struct {
	// URL is its base address.
	URL string

	steps  chan struct{}
	left   chan string
	closed chan struct{}

	mu       sync.Mutex
	requests map[string][]json.RawMessage
	last     []string // the tokens of the last prompt
	running  int
}

// New starts a server that stops at the end of the test.
func New(tb testing.TB, handle func(w http.ResponseWriter, r *http.Request, body []byte)) *Server {
	tb.Helper()
	s := &Server{
		steps: make(chan struct{}), left: make(chan string, 1024), closed: make(chan struct{}),
		requests: map[string][]json.RawMessage{},
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return // the client left
		}
		s.mu.Lock()
		s.requests[r.URL.Path] = append(s.requests[r.URL.Path], body)
		s.mu.Unlock()
		handle(w, r, body)
	}))
	s.URL = server.URL
	tb.Cleanup(func() {
		close(s.closed)
		server.CloseClientConnections()
		server.Close()
	})
	return s
}

// patience is how long a test waits for what must come.
const patience = 30 * time.Second

// Step lets one event of one stepped answer go: each piece, and the end, wait for a step. The test fails when no answer
// waits for it.
func (s *Server) Step(tb testing.TB) {
	tb.Helper()
	select {
	case s.steps <- struct{}{}:
	case <-time.After(patience):
		tb.Errorf("no answer asked for its next piece within %v", patience) // Step may run beside the test: not Fatal
	}
}

// Turn is ready when the next event of an answer may go: at once, or after a Step.
func (s *Server) Turn(stepped bool) <-chan struct{} {
	if stepped {
		return s.steps
	}
	return free
}

// free is a turn that always comes.
var free = func() chan struct{} { c := make(chan struct{}); close(c); return c }()

// Closed is closed at the end of the test.
func (s *Server) Closed() <-chan struct{} { return s.closed }

// Aborted gives for each answer whose client went away before its end what Leave was told, in that order.
func (s *Server) Aborted() <-chan string { return s.left }

// Leave notes that the work on an answer was stopped.
func (s *Server) Leave(what string) {
	select {
	case s.left <- what:
	default: // nobody looks at a thousand of them
	}
}

// Wait returns when the client or the test has gone.
func (s *Server) Wait(r *http.Request) {
	select {
	case <-r.Context().Done():
	case <-s.closed:
	}
}

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
	return s.running
}

// Run adds to the answers that are being made.
func (s *Server) Run(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.running += n
}

// Reuse remembers the tokens of a prompt and says how many of them come from the cache: those that it has in common with
// the last one. At least one token is always read.
func (s *Server) Reuse(prompt []string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	for n < len(prompt)-1 && n < len(s.last) && prompt[n] == s.last[n] {
		n++
	}
	s.last = prompt
	return n
}

// Forget empties the cache, as a server that was started again.
func (s *Server) Forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last = nil
}
