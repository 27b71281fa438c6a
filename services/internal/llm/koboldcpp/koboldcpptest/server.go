// Package koboldcpptest is a KoboldCpp server for tests: no model, but the endpoints, status codes, bodies, streams and
// traps of the real one (version 1.76). Its texts come from the test, its tokens from a simple rule.
package koboldcpptest

import (
	"sync"
	"testing"

	"github.com/tsumugi-dev/tsumugi/services/internal/llm/servertest"
)

// Options are what the server is. The zero value is a server with a window of 2048 tokens, one token a character, that
// answers every prompt with a line of a story.
type Options struct {
	// Window is the tokens of prompt and answer together. 0: 2048.
	Window int
	// Model is its name. Empty: `koboldcpp/fake`. Another name is another tokenizer: the numbers of its tokens differ.
	Model string
	// Cut says what the tokens of a text are. nil: servertest.Runes.
	Cut servertest.Rule
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
	Break      servertest.Break
	BreakAfter int
	// OthersPerf: /api/extra/perf tells of another client's generation.
	OthersPerf bool
	// AlwaysLength says `length` also where the model ended its text.
	AlwaysLength bool
}

// Server is a fake KoboldCpp server. Safe for concurrent use. Aborted tells how each generation that did not come to its end
// was stopped: `abort` or `disconnect`.
type Server struct {
	*servertest.Server

	mu       sync.Mutex
	options  Options
	faults   Faults
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

// Together says how many counts were under way at once at the most.
func (s *Server) Together() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.together
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
		o.Cut = servertest.Runes
	}
	if o.Queue == 0 {
		o.Queue = 7
	}
	if o.Reply == nil {
		o.Reply = servertest.Story
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
		ids = append(ids, servertest.Number(o.Model, piece, 49_000))
	}
	return ids
}
