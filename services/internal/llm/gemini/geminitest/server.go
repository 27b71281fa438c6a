// Package geminitest is the Gemini API for tests: no model, but the paths, status codes, bodies and events that its
// documentation shows (ai.google.dev/api, v1beta). Like the real one it refuses a field that it does not know. Its texts come
// from the test, its tokens are characters.
package geminitest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"unicode/utf8"

	"github.com/tsumugi-dev/tsumugi/services/internal/llm/servertest"
)

// Options are what the service is. The zero value has the model `gemini-story`, which takes prompts of 4096 tokens and
// answers each with a line of a story.
type Options struct {
	// Model is the name of its only model. Empty: `gemini-story`. Version is the model's; empty: `001`.
	Model, Version string
	// Limit is the most tokens of a prompt. 0: 4096. Negative: it is not told, and everything fits.
	Limit int
	// Methods are what the model can be asked for. nil: generateContent and countTokens.
	Methods []string
	// Extra is how many tokens more than it counts a prompt has when it is read.
	Extra int
	// Count is what it counts in every text. 0: the truth.
	Count int
	// Reply gives the pieces of the answer to a prompt, one token each. nil: a line of a story.
	Reply func(prompt string) []string
	// Thoughts is how many tokens the model thinks, unless the request allows fewer.
	Thoughts int
	// Finish is the finish reason instead of the true one.
	Finish string
	// Block is why prompts are refused. Empty: they are not.
	Block string
	// APIKey is the key. Empty: `secret`.
	APIKey string
	// List writes each refusal as a list of one.
	List bool
	// Untold leaves out how long a prompt is that is too long.
	Untold bool
	// NoTools: the model takes no functions.
	NoTools bool
	// Stepped holds each event of a stream back until Step is called.
	Stepped bool
}

// Faults are what goes wrong. The zero value is nothing.
type Faults struct {
	// Exhausted refuses every call with 429, and RetryDelay in its details, such as `37s`; empty: without.
	Exhausted  bool
	RetryDelay string
	// Break is how a stream goes wrong after BreakAfter pieces.
	Break      servertest.Break
	BreakAfter int
}

// Server is a fake of the service. Safe for concurrent use.
type Server struct {
	*servertest.Server
	options Options

	mu     sync.Mutex
	faults Faults
}

// New starts a server that stops at the end of the test.
func New(tb testing.TB, o Options) *Server {
	tb.Helper()
	if o.Model == "" {
		o.Model = "gemini-story"
	}
	if o.Version == "" {
		o.Version = "001"
	}
	if o.Limit == 0 {
		o.Limit = 4096
	}
	if o.Methods == nil {
		o.Methods = []string{"generateContent", "countTokens"}
	}
	if o.Reply == nil {
		o.Reply = servertest.Story
	}
	if o.APIKey == "" {
		o.APIKey = "secret"
	}
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

func (s *Server) state() Faults {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.faults
}

// object is a JSON object.
type object = map[string]any

// call is a request and what it finds.
type call struct {
	w       http.ResponseWriter
	r       *http.Request
	body    []byte
	options Options
	faults  Faults
}

func (s *Server) handle(w http.ResponseWriter, r *http.Request, body []byte) {
	c := call{w, r, body, s.options, s.state()}
	if r.Header.Get("x-goog-api-key") != c.options.APIKey {
		c.refuse(http.StatusBadRequest, "INVALID_ARGUMENT", "API key not valid. Please pass a valid API key.", object{
			"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": "API_KEY_INVALID", "domain": "googleapis.com",
		})
		return
	}
	name, isModel := strings.CutPrefix(r.URL.Path, "/v1beta/models/")
	name, method, _ := strings.Cut(name, ":")
	switch {
	case c.faults.Exhausted:
		c.exhausted()
	case !isModel:
		http.Error(w, "<!DOCTYPE html><title>Error 404 (Not Found)!!1</title>", http.StatusNotFound)
	case name != c.options.Model:
		c.refuse(http.StatusNotFound, "NOT_FOUND", "models/"+name+" is not found for API version v1beta, or is not supported for generateContent.")
	case r.Method == http.MethodGet && method == "":
		c.model()
	case r.Method == http.MethodPost && method == "countTokens":
		c.count()
	case r.Method == http.MethodPost && method == "streamGenerateContent" && r.URL.Query().Get("alt") == "sse":
		s.generate(c)
	default:
		http.Error(w, "", http.StatusNotFound)
	}
}

func (c call) exhausted() {
	details := []object{{"@type": "type.googleapis.com/google.rpc.Help"}}
	if c.faults.RetryDelay != "" {
		details = append(details, object{"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": c.faults.RetryDelay})
	}
	c.refuse(http.StatusTooManyRequests, "RESOURCE_EXHAUSTED", "You exceeded your current quota, please check your plan and billing details.", details...)
}

func (c call) model() {
	m := object{
		"name": "models/" + c.options.Model, "version": c.options.Version, "displayName": "Story", "description": "A fake.",
		"outputTokenLimit": 65536, "supportedGenerationMethods": c.options.Methods, "temperature": 1, "topP": 0.95, "topK": 64,
		"maxTemperature": 2, "thinking": c.options.Thoughts > 0,
	}
	if c.options.Limit > 0 {
		m["inputTokenLimit"] = c.options.Limit
	}
	c.answer(http.StatusOK, m)
}

func (c call) count() {
	var ask struct {
		Contents []content `json:"contents"`
	}
	prompt, ok := c.read(&ask, &ask.Contents)
	if !ok {
		return
	}
	n := utf8.RuneCountInString(prompt)
	if c.options.Count != 0 {
		n = c.options.Count
	}
	c.answer(http.StatusOK, object{"totalTokens": n, "promptTokensDetails": []object{{"modality": "TEXT", "tokenCount": n}}})
}

// read reads a request, and gives all that its turns say.
func (c call) read(into any, contents *[]content) (string, bool) {
	decoder := json.NewDecoder(bytes.NewReader(c.body))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(into); err != nil {
		c.refuse(http.StatusBadRequest, "INVALID_ARGUMENT", "Invalid JSON payload received. "+err.Error())
		return "", false
	}
	var all strings.Builder
	for _, turn := range *contents {
		said := turn.text()
		if len(turn.Parts) == 0 || said == "" && turn.Parts[0].Call == nil && turn.Parts[0].Response == nil || turn.Role != "user" && turn.Role != "model" {
			c.refuse(http.StatusBadRequest, "INVALID_ARGUMENT", "* GenerateContentRequest.contents: a turn has no text, or an unknown role\n")
			return "", false
		}
		all.WriteString(said)
	}
	return all.String(), true
}

func (c call) answer(status int, v any) {
	data, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		panic(fmt.Sprintf("geminitest: an answer cannot be written: %v", err)) // a fault of this package
	}
	c.w.Header().Set("Content-Type", "application/json; charset=UTF-8")
	c.w.WriteHeader(status)
	c.w.Write(data)
}

func (c call) refuse(code int, status, message string, details ...object) {
	e := object{"code": code, "message": message, "status": status}
	if len(details) > 0 {
		e["details"] = details
	}
	if c.options.List {
		c.answer(code, []object{{"error": e}})
		return
	}
	c.answer(code, object{"error": e})
}
