package openaitest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
)

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
	o, f := s.state()
	c := call{w, r, body, o, f}
	switch {
	case f.Refuse != 0:
		w.Header().Set("Retry-After", "7")
		w.WriteHeader(f.Refuse)
		w.Write([]byte(f.Body))
	case o.APIKey != "" && r.Header.Get("Authorization") != "Bearer "+o.APIKey:
		c.refuse(http.StatusUnauthorized, "Incorrect API key provided: "+strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")+".", "invalid_request_error", "invalid_api_key")
	default:
		s.route(c)
	}
}

func (s *Server) route(c call) {
	counts := c.options.Program != OpenAI
	switch path := c.r.Method + " " + c.r.URL.Path; {
	case path == "GET /v1/models":
		c.models()
	case path == "POST /tokenize" && counts:
		c.tokenize()
	case path == "POST /v1/chat/completions/input_tokens" && c.options.Program == LlamaCpp:
		c.inputTokens()
	case path == "POST /v1/completions":
		s.complete(c, false)
	case path == "POST /v1/chat/completions":
		s.complete(c, true)
	default:
		c.refuse(http.StatusNotFound, "Not Found", "not_found_error", nil)
	}
}

func (c call) answer(status int, v any) {
	data, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("openaitest: an answer cannot be written: %v", err)) // a fault of this package
	}
	c.w.Header().Set("Content-Type", "application/json")
	c.w.WriteHeader(status)
	c.w.Write(data)
}

// refuse answers with an error. OpenAI's code is a word, that of the others the status.
func (c call) refuse(status int, message, kind string, code any) {
	c.answer(status, object{"error": c.failure(status, message, kind, code)})
}

func (c call) failure(status int, message, kind string, code any) object {
	if c.options.Program != OpenAI {
		code = status
	}
	return object{"message": message, "type": kind, "param": nil, "code": code}
}

func (c call) models() {
	list := []object{}
	for _, id := range c.options.Models {
		m := object{"id": id, "object": "model", "created": 1795851213, "owned_by": string(c.options.Program)}
		switch c.options.Program {
		case VLLM:
			m["root"], m["parent"], m["max_model_len"] = id, nil, c.options.Window
		case LlamaCpp:
			m["aliases"] = []string{id}
			m["meta"] = object{"n_vocab": 262144, "n_ctx": c.options.Window, "n_ctx_train": 32768}
		}
		list = append(list, m)
	}
	c.answer(http.StatusOK, object{"object": "list", "data": list})
}

type message struct {
	Role    string `json:"role"`
	Content string `json:"content"`
	CallID  string `json:"tool_call_id"`
	Calls   []struct {
		ID       string `json:"id"`
		Type     string `json:"type"`
		Function struct {
			Name      string `json:"name"`
			Arguments string `json:"arguments"`
		} `json:"function"`
	} `json:"tool_calls"`
}

// tokenize is that of vLLM (a prompt or messages) or of llama.cpp (content).
func (c call) tokenize() {
	var ask struct {
		Model    string    `json:"model"`
		Prompt   *string   `json:"prompt"`
		Special  *bool     `json:"add_special_tokens"`
		Messages []message `json:"messages"`
		Content  string    `json:"content"`
		Around   bool      `json:"add_special"`
	}
	if !c.read(&ask) {
		return
	}
	var pieces []string
	o := c.options
	switch {
	case o.Program == LlamaCpp:
		o.BOS = o.BOS && ask.Around
		pieces = o.tokens(ask.Content, false)
	case !slices.Contains(o.Models, ask.Model):
		c.refuse(http.StatusNotFound, "The model `"+ask.Model+"` does not exist.", "NotFoundError", nil)
		return
	case ask.Prompt != nil:
		o.BOS = o.BOS && (ask.Special == nil || *ask.Special)
		pieces = o.tokens(*ask.Prompt, false)
	case len(ask.Messages) == 1:
		pieces = o.tokens(ask.Messages[0].Content, true)
	}
	ids := []int{}
	for _, p := range pieces {
		ids = append(ids, o.number(p))
	}
	count := len(ids)
	if c.faults.Count != nil {
		count, ids = *c.faults.Count, []int{}
	}
	if o.Program == LlamaCpp {
		c.answer(http.StatusOK, object{"tokens": ids})
		return
	}
	c.answer(http.StatusOK, object{"count": count, "max_model_len": o.Window, "tokens": ids, "token_strs": nil})
}

func (c call) inputTokens() {
	var ask struct {
		Messages []message `json:"messages"`
	}
	if c.read(&ask) && len(ask.Messages) == 1 {
		c.answer(http.StatusOK, object{"input_tokens": len(c.options.tokens(ask.Messages[0].Content, true)), "object": "response.input_tokens"})
	}
}

func (c call) read(into any) bool {
	err := json.Unmarshal(c.body, into)
	if err != nil {
		c.refuse(http.StatusBadRequest, "the body is no JSON: "+err.Error(), "invalid_request_error", nil)
	}
	return err == nil
}
