package llmtest

import (
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/tsumugi-dev/tsumugi/services/internal/llm/openai/openaitest"
)

// slots is how many requests the server works on at once, as far as it tells.
const slots = 2

func (s *Server) handler() func(http.ResponseWriter, *http.Request, []byte) {
	endpoints := map[string]func(http.ResponseWriter, *http.Request, call){
		"GET /health": func(w http.ResponseWriter, _ *http.Request, _ call) {
			answer(w, http.StatusOK, map[string]string{"status": "ok"})
		},
		"GET /props":       s.props,
		"GET /slots":       s.showSlots,
		"GET /v1/models":   showModels,
		"POST /tokenize":   tokenize,
		"POST /completion": s.completion,

		"POST /apply-template":      applyTemplate,
		"POST /v1/chat/completions": s.chat,
	}
	return func(w http.ResponseWriter, r *http.Request, body []byte) {
		w.Header().Set("Server", "llama.cpp")
		w.Header().Set("Access-Control-Allow-Origin", "")
		words, away := s.enter()
		o, f := s.state()
		handle, known := endpoints[r.Method+" "+r.URL.Path]
		switch {
		case f.Hang:
			s.Wait(r)
		case away:
			refuse(w, failure{Code: http.StatusServiceUnavailable, Message: words, Type: "unavailable_error"})
		case o.APIKey != "" && r.Header.Get("Authorization") != "Bearer "+o.APIKey:
			refuse(w, failure{Code: http.StatusUnauthorized, Message: "Invalid API Key", Type: "authentication_error"})
		case !known:
			refuse(w, failure{Code: http.StatusNotFound, Message: "File Not Found", Type: "not_found_error"})
		default:
			handle(w, r, call{body, o, f})
		}
	}
}

// call is a request and what it finds.
type call struct {
	body    []byte
	options Options
	faults  Faults
}

func answer(w http.ResponseWriter, status int, v any) {
	data, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("llmtest: an answer cannot be written: %v", err)) // a fault of this package
	}
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.WriteHeader(status)
	w.Write(data)
}

func refuse(w http.ResponseWriter, f failure) { answer(w, f.Code, failed{f}) }

func (s *Server) props(w http.ResponseWriter, _ *http.Request, c call) {
	p := props{
		Slots: slots, Alias: c.options.Model, Type: "Q4_1", Path: c.options.Model, Modalities: modalities,
		Marker: s.mark(), SlotsOn: true, PropsOn: true, MetricsOn: true, UISettings: json.RawMessage("{}"),
		Template: "{{ messages }}", Caps: capsOf(c.options.Tools), EOS: "<eos>", Build: "b0-unknown",
	}
	if c.options.BOS {
		p.BOS = bosPiece
	}
	p.Defaults.Params, p.Defaults.Window = defaults, c.options.Window
	answer(w, http.StatusOK, p)
}

// mark is what differs after each start.
func (s *Server) mark() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return fmt.Sprintf("<__media_%032d__>", s.marker)
}

func (s *Server) showSlots(w http.ResponseWriter, _ *http.Request, c call) {
	list := make([]slot, slots)
	for i := range list {
		list[i] = slot{ID: i, Window: c.options.Window, Processing: i < s.Running()}
	}
	answer(w, http.StatusOK, list)
}

func showModels(w http.ResponseWriter, _ *http.Request, c call) {
	answer(w, http.StatusOK, struct {
		Models [1]json.RawMessage `json:"models"`
		Object string             `json:"object"`
		Data   []model            `json:"data"`
	}{[1]json.RawMessage{ollamaModel}, "list", []model{{
		ID: c.options.Model, Aliases: []string{c.options.Model}, Tags: []string{}, Object: "model",
		Architecture: architecture, Created: 1795818143, Owner: "llamacpp",
		Meta: meta{VocabularyType: 1, Vocabulary: words, Window: c.options.Window, Trained: 32768,
			Width: 640, Parameters: 268098176, Size: 246587904, Type: "Q4_1"},
	}}})
}

func tokenize(w http.ResponseWriter, _ *http.Request, c call) {
	var ask struct {
		Content *string `json:"content"`
		Special bool    `json:"add_special"`
		Pieces  bool    `json:"with_pieces"`
	}
	if !read(w, c.body, &ask) {
		return
	}
	list := []any{}
	if ask.Content != nil {
		pieces, ids := c.options.tokens(*ask.Content, ask.Special)
		for i, p := range pieces {
			id := ids[i]
			if c.faults.Count == CountNegative {
				id = -1
			}
			if ask.Pieces {
				list = append(list, token{id, piece(p)})
			} else {
				list = append(list, id)
			}
		}
	}
	switch c.faults.Count {
	case CountZero:
		list = []any{}
	case CountGarbage:
		w.Write([]byte("<html>It works!</html>"))
		return
	case CountFailed:
		refuse(w, failure{Code: http.StatusInternalServerError, Message: "tokenize failed", Type: "server_error"})
		return
	}
	answer(w, http.StatusOK, map[string]any{"tokens": list})
}

// chat is that of llama.cpp's /v1.
func (s *Server) chat(w http.ResponseWriter, r *http.Request, c call) {
	o := c.options
	openaitest.LlamaChat(s.Server, w, r, c.body,
		openaitest.Options{Window: o.Window, Models: []string{o.Model}, Cut: o.Cut, Reply: o.Reply, Stepped: o.Stepped},
		openaitest.Faults{Break: c.faults.Break, BreakAfter: c.faults.BreakAfter})
}

// applyTemplate gives the prompt of a conversation, in a form of its own: a letter for the role before each message.
func applyTemplate(w http.ResponseWriter, _ *http.Request, c call) {
	var ask struct {
		Messages []struct {
			Role    string `json:"role"`
			Content string `json:"content"`
		} `json:"messages"`
	}
	if !read(w, c.body, &ask) {
		return
	}
	prompt := ""
	for _, m := range ask.Messages {
		prompt += m.Role[:min(len(m.Role), 1)] + ":" + m.Content + "\n"
	}
	answer(w, http.StatusOK, map[string]string{"prompt": prompt + "a:"})
}

// read reads a request; the real server names the place of what is no JSON in the words of its JSON library.
func read(w http.ResponseWriter, body []byte, into any) bool {
	err := json.Unmarshal(body, into)
	if err != nil {
		refuse(w, failure{Code: http.StatusBadRequest, Type: "invalid_request_error",
			Message: "[json.exception.parse_error.101] parse error: " + err.Error()})
	}
	return err == nil
}
