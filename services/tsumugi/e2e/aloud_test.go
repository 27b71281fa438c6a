package e2e

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
)

// aloud stands before a real model server and has it say what the test thought of. A small model thinks of no plan; but the server says any answer that
// a schema leaves it: the one of the request is narrowed to that answer, and the model writes it under the grammar, token by token. All else goes by as it
// is.
type aloud struct {
	// URL is its address.
	URL string

	mu sync.Mutex
	// freely lets the model answer as it likes when the test has thought of nothing more: then the request stays as it is.
	freely bool
	// all are the answers that came whole.
	all []uttered
}

// uttered is an answer of the real server.
type uttered struct {
	// thought is what the test thought of; empty where the model was free.
	thought string
	// schema is that of the request, as the agent sent it.
	schema []byte
	text   string
	end    utteredEnd
	// chat says that it was asked for as an answer to messages, in which a call and its result are.
	chat bool
}

// utteredEnd is how an answer ended.
type utteredEnd struct {
	// reason is `stop` or `length`; empty where the stream was left before its end.
	reason string
	// prompt and answer are the tokens of both, as the server counts them.
	prompt, answer int32
}

// aloud has a real model server say what a mind thinks of. When the test ends, the mind itself has said nothing, and each answer that came whole ended by
// itself and was what the mind thought of.
func (m *mind) aloud(t *testing.T, model string) *aloud {
	t.Helper()
	to, err := url.Parse(model)
	if err != nil {
		t.Fatal(err)
	}
	a := &aloud{}
	proxy := httputil.NewSingleHostReverseProxy(to)
	proxy.ErrorHandler = func(w http.ResponseWriter, _ *http.Request, _ error) { w.WriteHeader(http.StatusBadGateway) } // the services were killed
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		u := uttered{chat: r.URL.Path == "/v1/chat/completions"}
		if !u.chat && r.URL.Path != "/completion" {
			proxy.ServeHTTP(w, r)
			return
		}
		if err := a.narrow(m, model, r, &u); err != nil {
			t.Errorf("the agent asks for %q: %v", u.thought, err)
		}
		heard := &overheard{ResponseWriter: w}
		defer func() { a.keep(u, heard.stream.Bytes()) }() // the proxy panics when the agent is killed
		proxy.ServeHTTP(heard, r)
	}))
	a.URL = server.URL
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
		a.check(t)
		if n := m.Calls("/completion") + m.Calls("/v1/chat/completions"); n > 0 {
			t.Errorf("%d answers are those of the fake", n)
		}
	})
	return a
}

// request is what the agent sends, in either of two forms.
type request struct {
	Prompt   string          `json:"prompt"`
	Schema   json.RawMessage `json:"json_schema"`
	Messages json.RawMessage `json:"messages"`
	Format   struct {
		Type string `json:"type"`
		Held struct {
			Schema json.RawMessage `json:"schema"`
		} `json:"json_schema"`
	} `json:"response_format"`
}

// narrow leaves the server one answer, which is one that the request allows.
func (a *aloud) narrow(m *mind, model string, r *http.Request, u *uttered) error {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil //nolint:nilerr // the agent was killed
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	var q request
	if err := json.Unmarshal(body, &q); err != nil {
		return err
	}
	field, form := "json_schema", "%s"
	if u.schema = q.Schema; u.chat {
		u.schema, field, form = q.Format.Held.Schema, "response_format", `{"type":"json_schema","json_schema":{"name":"answer","strict":true,"schema":%s}}`
		if q.Prompt, err = templated(r.Context(), model, q.Messages); err != nil {
			return err
		}
	}
	var all map[string]json.RawMessage
	if err := json.Unmarshal(body, &all); err != nil {
		return err
	}
	all["temperature"] = json.RawMessage("0") // the same test twice; and to draw from one costs seconds
	a.mu.Lock()
	freely := a.freely && len(m.left()) == 0
	a.mu.Unlock()
	if !freely {
		u.thought = m.reply(q.Prompt)[0]
		if err := admits(u.schema, u.thought); err != nil {
			return err
		}
		narrowed, err := only(u.schema, u.thought)
		if err != nil {
			return err
		}
		all[field] = fmt.Appendf(nil, form, narrowed)
	}
	if body, err = json.Marshal(all); err != nil {
		return err
	}
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	return nil
}

// templated is the prompt that the server makes of messages.
func templated(ctx context.Context, model string, messages json.RawMessage) (string, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, model+"/apply-template", bytes.NewReader(fmt.Appendf(nil, `{"messages":%s}`, messages)))
	if err != nil {
		return "", err
	}
	r.Header.Set("Content-Type", "application/json")
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	answer, err := client.Do(r)
	if err != nil {
		return "", err
	}
	defer answer.Body.Close()
	var made struct{ Prompt string }
	if err := json.NewDecoder(answer.Body).Decode(&made); err != nil || made.Prompt == "" {
		return "", fmt.Errorf("no prompt of %s: %w", messages, err)
	}
	return made.Prompt, nil
}

// only is a schema of one answer, with its keys in the order of the schema that allows it. Without `x-guidance` a llama.cpp server with llguidance takes any
// number of blanks between two words of JSON, and a small model writes them until its answer is cut; others ignore it.
func only(schema []byte, answer string) ([]byte, error) {
	var all struct{ Properties map[string]json.RawMessage }
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(schema, &all); err != nil {
		return nil, err
	}
	if err := json.Unmarshal([]byte(answer), &fields); err != nil {
		return nil, err
	}
	var properties, keys []string
	for key, value := range fields {
		properties = append(properties, fmt.Sprintf(`%q:{"const":%s}`, key, value))
		keys = append(keys, strconv.Quote(key))
	}
	slices.SortFunc(properties, func(x, y string) int {
		return bytes.Index(schema, []byte(x[:strings.Index(x, ":")+1])) - bytes.Index(schema, []byte(y[:strings.Index(y, ":")+1]))
	})
	return fmt.Appendf(nil, `{"type":"object","properties":{%s},"required":[%s],"additionalProperties":false,"x-guidance":{"whitespace_flexible":false}}`,
		strings.Join(properties, ","), strings.Join(keys, ",")), nil
}

// admits says whether a schema is that of an envelope, and allows this one.
func admits(schema []byte, answer string) error {
	var s jsonschema.Schema
	if err := json.Unmarshal(schema, &s); err != nil {
		return fmt.Errorf("the schema %q: %w", schema, err)
	}
	if want := []string{"rationale", "goal_consistency", "constraint_check", "next_step", "step"}; !slices.Equal(s.Required, want) || s.Properties["actions"] == nil {
		return fmt.Errorf("the schema is not that of an envelope with calls: %s", schema)
	}
	resolved, err := s.Resolve(nil)
	if err != nil {
		return err
	}
	var value any
	if err := json.Unmarshal([]byte(answer), &value); err != nil {
		return err
	}
	return resolved.Validate(value)
}

// overheard keeps what is answered.
type overheard struct {
	http.ResponseWriter
	stream bytes.Buffer
}

func (o *overheard) Write(p []byte) (int, error) {
	o.stream.Write(p)
	return o.ResponseWriter.Write(p)
}

// Unwrap gives what can be flushed.
func (o *overheard) Unwrap() http.ResponseWriter { return o.ResponseWriter }

// utteredEvent is one of a stream, in either form.
type utteredEvent struct {
	Content string
	Timings struct {
		Cached int32 `json:"cache_n"`
		Read   int32 `json:"prompt_n"`
		Said   int32 `json:"predicted_n"`
	}
	StopType string `json:"stop_type"`
	Choices  []struct {
		Delta  struct{ Content string }
		Reason string `json:"finish_reason"`
	}
}

// keep reads a stream of answers.
func (a *aloud) keep(u uttered, stream []byte) {
	for line := range strings.Lines(string(stream)) {
		var e utteredEvent
		if data, ok := strings.CutPrefix(line, "data: "); !ok || json.Unmarshal([]byte(data), &e) != nil {
			continue
		}
		u.text += e.Content
		u.end.reason = cmp.Or(u.end.reason, map[string]string{"eos": "stop", "limit": "length"}[e.StopType])
		for _, c := range e.Choices {
			u.text += c.Delta.Content
			u.end.reason = cmp.Or(u.end.reason, c.Reason)
		}
		if e.Timings.Said > 0 {
			u.end.prompt, u.end.answer = e.Timings.Cached+e.Timings.Read, e.Timings.Said
		}
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if u.end.reason != "" {
		a.all = append(a.all, u)
	}
}

// uttered are the answers so far.
func (a *aloud) uttered() []uttered {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.all)
}

// check holds the answers to what the test thought of.
func (a *aloud) check(t *testing.T) {
	t.Helper()
	all := a.uttered()
	for _, u := range all {
		var said, thought any
		if u.thought != "" && (u.end.reason != "stop" || json.Unmarshal([]byte(u.text), &said) != nil || json.Unmarshal([]byte(u.thought), &thought) != nil || !reflect.DeepEqual(said, thought)) {
			t.Errorf("the model server said %q (%s) and was to say %q", u.text, u.end.reason, u.thought)
		}
	}
	if len(all) == 0 {
		t.Error("the model server was asked nothing")
	}
}
