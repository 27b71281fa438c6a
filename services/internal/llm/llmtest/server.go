// Package llmtest is a llama.cpp server for tests: no model, but the endpoints, status codes, bodies and event streams of
// the real one, so that a client meets the real one's traps. Its texts come from the test, its tokens from a simple rule.
package llmtest

import (
	"sync"
	"testing"

	"github.com/tsumugi-dev/tsumugi/services/internal/llm/servertest"
	"github.com/tsumugi-dev/tsumugi/services/internal/llm/tokenizer"
)

// Options are what the server is. The zero value is a server with a window of 4096 tokens, one token a character, that
// answers every prompt with a line of a story.
type Options struct {
	// Window is the tokens of a slot, prompt and answer together. 0: 4096.
	Window int
	// Model is its name. Empty: `fake.gguf`. Another name is another tokenizer: the numbers of its tokens differ.
	Model string
	// Cut says what the tokens of a text are. nil: servertest.Runes.
	Cut servertest.Rule
	// BOS puts a token in front of every text, as many models want. It is named `<bos>` and stands for no byte.
	BOS bool
	// Vocabulary cuts and numbers what is read as a real model does, instead of Cut, BOS and Model. nil: none.
	Vocabulary *tokenizer.Tokenizer
	// APIKey refuses requests without this bearer token. Empty: no key.
	APIKey string
	// Reply gives the pieces of the answer to a prompt, one token each; the model ends the text after the last. A piece
	// may hold a part of a character: the real server never sends one, proxies have. nil: a line of a story.
	Reply func(prompt string) []string
	// Tools: the model's template has a place for tools.
	Tools bool
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
	Break      servertest.Break
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

// Server is a fake llama.cpp server. Safe for concurrent use.
type Server struct {
	*servertest.Server

	mu      sync.Mutex
	options Options
	faults  Faults
	marker  int
}

// New starts a server that stops at the end of the test.
func New(tb testing.TB, o Options) *Server {
	tb.Helper()
	s := &Server{options: o}
	s.Server = servertest.New(tb, s.handler())
	return s
}

// Restart puts other options in place, as when the server was started again.
func (s *Server) Restart(o Options) {
	s.Forget()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.options, s.marker = o, s.marker+1
}

// Break makes things go wrong from now on; the zero Faults mend it.
func (s *Server) Break(f Faults) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults = f
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
		o.Cut = servertest.Runes
	}
	if o.Reply == nil {
		o.Reply = servertest.Story
	}
	return o, s.faults
}

// enter says whether a call is turned away with 503, and in which words.
func (s *Server) enter() (words string, away bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
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
