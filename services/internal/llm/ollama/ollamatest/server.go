// Package ollamatest is an Ollama server for tests: no model, but the endpoints, status codes, bodies and lines that its
// documentation shows (docs.ollama.com/api), and what public reports tell of it. Its texts come from the test, its tokens
// from a rule that the test gives.
package ollamatest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"sync"
	"testing"
	"unicode/utf8"

	"github.com/tsumugi-dev/tsumugi/services/internal/llm/servertest"
)

// Options are what the server is. The zero value has the model `story:latest`, trained for 32768 tokens and not loaded,
// one token a character, that answers every prompt with a line of a story.
type Options struct {
	// Model is the name of its only model. Empty: `story:latest`.
	Model string
	// Digest is the model's. Empty: `d1`.
	Digest string
	// Trained is the window that the model was trained for. 0: 32768. Negative: it is not told.
	Trained int
	// Loaded is the window that the model is loaded with. 0: it is not loaded.
	Loaded int
	// Remote is where the model runs. Empty: here.
	Remote string
	// Count gives the tokens of a prompt. nil: its characters.
	Count func(prompt string) int
	// Reply gives the pieces of the answer to a prompt, one token each. nil: a line of a story.
	Reply func(prompt string) []string
	// Thinks has everything up to a piece `</think>` for thinking, where the request does not forbid it.
	Thinks bool
	// Tools: the model takes tools.
	Tools bool
	// Old knows neither `truncate` nor `shift`.
	Old bool
	// APIKey is what a proxy in front of it wants as bearer token. Empty: nothing.
	APIKey string
	// Stepped holds each line of a stream back until Step is called.
	Stepped bool
}

// Faults are what goes wrong. The zero value is nothing.
type Faults struct {
	// Break is how a stream goes wrong after BreakAfter pieces.
	Break      servertest.Break
	BreakAfter int
}

// Server is a fake Ollama server. Safe for concurrent use.
type Server struct {
	*servertest.Server

	mu      sync.Mutex
	options Options
	faults  Faults
	loads   int
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

// Loads says how often the model was loaded, for the first time or anew.
func (s *Server) Loads() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.loads
}

// load has the model loaded with a window, and gives the one that it has then.
func (s *Server) load(window int) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	if trained := s.options.filled().Trained; trained > 0 {
		window = min(window, trained) // without a word
	}
	if s.options.Loaded != window {
		s.options.Loaded = window
		s.loads++
	}
	return window
}

// state is what a request finds.
func (s *Server) state() (Options, Faults) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.options.filled(), s.faults
}

func (o Options) filled() Options {
	if o.Model == "" {
		o.Model = "story:latest"
	}
	if o.Digest == "" {
		o.Digest = "d1"
	}
	if o.Trained == 0 {
		o.Trained = 32768
	}
	if o.Count == nil {
		o.Count = utf8.RuneCountInString
	}
	if o.Reply == nil {
		o.Reply = servertest.Story
	}
	return o
}

func (s *Server) handle(w http.ResponseWriter, r *http.Request, body []byte) {
	o, f := s.state()
	if o.APIKey != "" && r.Header.Get("Authorization") != "Bearer "+o.APIKey {
		http.Error(w, "who are you?", http.StatusUnauthorized) // in a proxy's words
		return
	}
	var ask request
	if r.Method == http.MethodPost {
		if err := json.Unmarshal(body, &ask); err != nil {
			refuse(w, http.StatusBadRequest, "the body is no JSON: "+err.Error())
			return
		}
		if ask.Model != o.Model && ask.Model+":latest" != o.Model {
			refuse(w, http.StatusNotFound, fmt.Sprintf("model '%s' not found", ask.Model))
			return
		}
	}
	switch r.Method + " " + r.URL.Path {
	case "GET /api/tags":
		answer(w, http.StatusOK, object{"models": []object{o.listed()}})
	case "GET /api/ps":
		answer(w, http.StatusOK, object{"models": o.running()})
	case "POST /api/show":
		answer(w, http.StatusOK, o.shown())
	case "POST /api/generate":
		s.generate(w, r, o, f, ask)
	case "POST /api/chat":
		s.chat(w, r, o, f, ask)
	default:
		http.Error(w, "404 page not found", http.StatusNotFound)
	}
}

// object is a JSON object.
type object = map[string]any

var details = object{
	"format": "gguf", "family": "story", "families": []string{"story"}, "parameter_size": "268M", "quantization_level": "Q8_0",
}

// listed is the model in /api/tags.
func (o Options) listed() object {
	m := object{
		"name": o.Model, "model": o.Model, "modified_at": "2026-10-01T00:00:00Z", "size": 291567792, "digest": o.Digest, "details": details,
	}
	if o.Remote != "" {
		m["remote_model"], m["remote_host"] = o.Model, o.Remote
	}
	return m
}

// running is what /api/ps lists.
func (o Options) running() []object {
	if o.Loaded == 0 {
		return []object{}
	}
	return []object{{
		"name": o.Model, "model": o.Model, "size": 591567792, "digest": o.Digest, "details": details,
		"expires_at": "2026-10-01T00:05:00Z", "size_vram": 0, "context_length": o.Loaded,
	}}
}

// shown is the model in /api/show.
func (o Options) shown() object {
	info := object{"general.architecture": "story", "story.embedding_length": 640}
	if o.Trained > 0 {
		info["story.context_length"] = o.Trained
	}
	can := []string{"completion"}
	if o.Tools {
		can = append(can, "tools")
	}
	return object{
		"parameters": "temperature 0.7", "license": "none", "template": "{{ .Prompt }}", "details": details, "model_info": info,
		"capabilities": can, "modified_at": "2026-10-01T00:00:00Z",
	}
}

func answer(w http.ResponseWriter, status int, v object) {
	data, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("ollamatest: an answer cannot be written: %v", err)) // a fault of this package
	}
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.WriteHeader(status)
	w.Write(data)
}

func refuse(w http.ResponseWriter, status int, sentence string) {
	answer(w, status, object{"error": sentence})
}
