// Package koboldcpptest is a KoboldCpp server for tests: no model, but the endpoints, status codes, bodies, streams and
// traps of the real one (version 1.76). Its texts come from the test, its tokens from a simple rule.
package koboldcpptest

import (
	"encoding/json"
	"hash/fnv"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/tsumugi-dev/tsumugi/services/internal/llm/llmtest"
)

// Options are what the server is. The zero value is a server with a window of 2048 tokens, one token a character, that
// answers every prompt with a line of a story.
type Options struct {
	// Window is the tokens of prompt and answer together. 0: 2048.
	Window int
	// Model is its name. Empty: `koboldcpp/fake`. Another name is another tokenizer: the numbers of its tokens differ.
	Model string
	// Cut says what the tokens of a text are. nil: llmtest.Runes.
	Cut llmtest.Rule
	// NoBOS leaves out the token that the server puts in front of every text.
	NoBOS bool
	// Password refuses requests without this bearer token. Empty: none.
	Password string
	// Reply gives the pieces of the answer to a prompt, one token each; the model ends the text after the last. nil: a
	// line of a story.
	Reply func(prompt string) []string
	// Burst is how many pieces the first event holds, as when the client is slow to ask. 0: one.
	Burst int
	// Stepped holds each event of a stream back until Step is called.
	Stepped bool
	// Deaf goes on to work for a client that closed its connection, as behind a proxy: only an abort stops it.
	Deaf bool
	// Queue is how many generations run or wait at once; more are turned away. 0: 7.
	Queue int
}

// Faults are what goes wrong. The zero value is nothing.
type Faults struct {
	// Busy is how many of the next generations are turned away.
	Busy int
	// Count is what tokencount says instead of the truth.
	Count *int
	// Break is how a stream goes wrong after BreakAfter pieces.
	Break      BreakFault
	BreakAfter int
	// OthersPerf: /api/extra/perf tells of another client's generation.
	OthersPerf bool
	// AlwaysLength says `length` also where the model ended its text.
	AlwaysLength bool
}

// BreakFault is a stream that goes wrong.
type BreakFault string

// Streams that go wrong. An error inside a stream is none that this server knows.
const (
	BreakCut     BreakFault = "cut"
	BreakGarbage BreakFault = "garbage"
	BreakSilent  BreakFault = "silent"
)

// Server is a fake KoboldCpp server. Safe for concurrent use.
type Server struct {
	// URL is its base address.
	URL string

	steps   chan struct{}
	stopped chan string
	closed  chan struct{}

	mu       sync.Mutex
	options  Options
	faults   Faults
	requests map[string][]json.RawMessage
	counting int // counts at this moment
	together int // the most at once
	waiting  int // generations at this moment
	key      string
	abort    chan struct{} // closed when the running generation is aborted
	last     perf
}

// New starts a server that stops at the end of the test.
func New(tb testing.TB, o Options) *Server {
	tb.Helper()
	s := &Server{
		steps: make(chan struct{}), stopped: make(chan string, 1024), closed: make(chan struct{}),
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

// Stopped gives how each generation that did not come to its end was stopped: `abort` or `disconnect`.
func (s *Server) Stopped() <-chan string { return s.stopped }

// Together says how many counts were under way at once at the most.
func (s *Server) Together() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.together
}

// Requests gives the bodies that an endpoint, such as `/api/extra/tokencount`, was sent, in order.
func (s *Server) Requests(path string) []json.RawMessage {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.requests[path])
}

// state is what a request finds.
func (s *Server) state() (Options, Faults) {
	s.mu.Lock()
	defer s.mu.Unlock()
	o := s.options
	if o.Window == 0 {
		o.Window = 2048
	}
	if o.Model == "" {
		o.Model = "koboldcpp/fake"
	}
	if o.Cut == nil {
		o.Cut = llmtest.Runes
	}
	if o.Queue == 0 {
		o.Queue = 7
	}
	if o.Reply == nil {
		o.Reply = func(string) []string { return llmtest.Runes("糸は夜の港へ続いていた。") }
	}
	return o, s.faults
}

// tokens are the numbers of the tokens of a text, as generation reads it.
func (o Options) tokens(text string) []int {
	ids := []int{}
	if !o.NoBOS {
		ids = append(ids, 1)
	}
	for _, piece := range o.Cut(text) {
		h := fnv.New32a()
		_, _ = h.Write([]byte(o.Model + "\x00" + piece)) // a hash takes everything
		ids = append(ids, 10+int(h.Sum32()%49_000))
	}
	return ids
}
