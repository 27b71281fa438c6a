package openaitest

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/tsumugi-dev/tsumugi/services/internal/llm"
	"github.com/tsumugi-dev/tsumugi/services/internal/llm/servertest"
)

// Each token takes this long by the timings of llama.cpp. No time passes.
const (
	promptMS  = 2.5
	predictMS = 8.0
)

// ask is the part of a request that decides the answer.
type ask struct {
	Model     string    `json:"model"`
	Prompt    string    `json:"prompt"`
	Messages  []message `json:"messages"`
	Tools     []tool    `json:"tools"`
	Most      *int      `json:"max_tokens"`
	MostChat  *int      `json:"max_completion_tokens"`
	Stop      []string  `json:"stop"`
	Stream    bool      `json:"stream"`
	Grammar   string    `json:"grammar"`
	IgnoreEOS bool      `json:"ignore_eos"`
	Timings   bool      `json:"timings_per_token"`
	Format    struct {
		Type   string `json:"type"`
		Schema struct {
			Name   string          `json:"name"`
			Schema json.RawMessage `json:"schema"`
		} `json:"json_schema"`
	} `json:"response_format"`
	Options struct {
		Usage bool `json:"include_usage"`
	} `json:"stream_options"`
}

// work is one answer in the making.
type work struct {
	call
	servertest.Stream
	chat    bool
	usage   bool
	pieces  []string
	calls   []object // the fragments of tool calls, one token each
	finish  string
	stop    string // the stop string, empty for none
	counted object // the usage
	timings object
	timed   bool // each event has timings
}

// known are the settings that OpenAI takes; it refuses others by name.
var known = []string{
	"model", "prompt", "messages", "max_tokens", "max_completion_tokens", "stop", "stream", "stream_options", "temperature",
	"top_p", "presence_penalty", "frequency_penalty", "logit_bias", "seed", "tools", "response_format",
}

func (s *Server) complete(c call, chat bool) {
	var a ask
	if !c.read(&a) {
		return
	}
	if chat {
		a.Prompt = a.said()
	}
	if c.refused(a) || c.toolsRefused(a) {
		return
	}
	most := 16 // where a request names none
	for _, m := range []*int{a.Most, a.MostChat} {
		if m != nil {
			most = *m
		}
	}
	prompt := c.options.tokens(a.Prompt, chat)
	if c.tooLong(len(prompt), most) {
		return
	}
	j := &work{call: c, chat: chat, usage: a.Options.Usage, timed: a.Timings, finish: c.options.Finish, Stream: s.stream(c, a.Prompt)}
	pieces := c.options.Reply(a.Prompt)
	if held := servertest.Held(a.Format.Schema.Schema); held != "" && a.Format.Type == "json_schema" && a.Format.Schema.Name != "" {
		pieces = servertest.Runes(held)
	}
	if j.calls = a.calls(); j.calls != nil {
		pieces, j.finish = nil, "tool_calls"
	}
	if len(pieces)+len(j.calls) > most {
		pieces, j.calls, j.finish = pieces[:min(most, len(pieces))], j.calls[:min(most, len(j.calls))], "length"
	}
	n := len(pieces) + len(j.calls)
	if j.pieces, j.stop = llm.CutAtStop(pieces, a.Stop); j.stop != "" {
		j.finish, n = "stop", min(len(j.pieces)+1, n)
	}
	cached := s.Reuse(prompt)
	j.counted = object{"prompt_tokens": len(prompt), "completion_tokens": n, "total_tokens": len(prompt) + n,
		"prompt_tokens_details": object{"cached_tokens": cached}}
	j.timings = object{"cache_n": cached, "prompt_n": len(prompt) - cached, "prompt_ms": float64(len(prompt)-cached) * promptMS,
		"predicted_n": n, "predicted_ms": float64(n) * predictMS}
	j.run()
}

// stream is an answer to a prompt, and how it goes wrong.
func (s *Server) stream(c call, prompt string) servertest.Stream {
	e := c.failure(http.StatusInternalServerError, "EngineCore encountered an issue.", "InternalServerError", nil)
	data, _ := json.Marshal(object{"error": e}) // plain values: cannot fail
	return servertest.Stream{
		Server: s.Server, W: c.w, R: c.r, Prompt: prompt, Stepped: c.options.Stepped, Break: c.faults.Break, After: c.faults.BreakAfter,
		Wrong: map[servertest.Break]string{
			servertest.BreakGarbage: "data: {\"choices\":[{\n\n",
			servertest.BreakError:   "data: " + string(data) + "\n\ndata: [DONE]\n\n",
		},
	}
}

// refused turns away what the program does not take.
func (c call) refused(a ask) bool {
	if c.options.Program == LlamaCpp {
		if servertest.Malformed(a.Grammar) {
			c.refuse(http.StatusBadRequest, "Failed to initialize samplers: failed to parse grammar", "invalid_request_error", nil)
			return true
		}
		return false
	}
	if !slices.Contains(c.options.Models, a.Model) {
		c.refuse(http.StatusNotFound, "The model `"+a.Model+"` does not exist.", "NotFoundError", "model_not_found")
		return true
	}
	if c.options.Program == VLLM {
		return false
	}
	var fields object
	_ = json.Unmarshal(c.body, &fields) // which was read already
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		if !slices.Contains(known, name) {
			c.refuse(http.StatusBadRequest, "Unrecognized request argument supplied: "+name, "invalid_request_error", nil)
			return true
		}
	}
	switch {
	case len(a.Stop) > 4:
		c.refuse(http.StatusBadRequest, "Invalid 'stop': array too long. Expected an array with maximum length 4.", "invalid_request_error", "array_above_max_length")
	case a.Messages != nil && a.Most != nil:
		c.refuse(http.StatusBadRequest, "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.", "invalid_request_error", "unsupported_parameter")
	default:
		return false
	}
	return true
}

// tooLong turns away what does not fit, in the words of each.
func (c call) tooLong(prompt, most int) bool {
	window := c.options.Window
	switch {
	case c.options.Program == LlamaCpp && prompt >= window:
		c.answer(http.StatusBadRequest, object{"error": object{
			"code": http.StatusBadRequest, "type": "exceed_context_size_error", "n_prompt_tokens": prompt, "n_ctx": window,
			"message": fmt.Sprintf("request (%d tokens) exceeds the available context size (%d tokens), try increasing it", prompt, window),
		}})
	case c.options.Program == VLLM && prompt+most > window:
		c.refuse(http.StatusBadRequest, fmt.Sprintf("This model's maximum context length is %d tokens. However, you requested %d output tokens and your prompt contains at least %d input tokens, for a total of at least %d tokens.",
			window, most, prompt, prompt+most), "BadRequestError", nil)
	case c.options.Program == OpenAI && prompt+most > window:
		c.refuse(http.StatusBadRequest, fmt.Sprintf("This model's maximum context length is %d tokens, however you requested %d tokens (%d in your prompt; %d for the completion). Please reduce your prompt; or completion length.",
			window, prompt+most, prompt, most), "invalid_request_error", "context_length_exceeded")
	default:
		return false
	}
	return true
}

// run sends the answer as a stream. vLLM sends its last piece with the finish reason, the others one without text.
func (j *work) run() {
	j.w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
	if j.chat {
		j.choice("null", nil, nil)
	}
	last := "\"\""
	for i, p := range j.pieces {
		if !j.Next(i) {
			return
		}
		if i == len(j.pieces)-1 && j.options.Program == VLLM {
			last = servertest.Quoted(p)
			break
		}
		j.choice(servertest.Quoted(p), nil, j.sofar(i+1))
	}
	for i, part := range j.calls {
		if !j.Next(len(j.pieces)) {
			return
		}
		j.delta(object{"tool_calls": []object{part}}, j.sofar(i+1))
	}
	if !j.Next(len(j.pieces)) {
		return
	}
	own := object{}
	if j.options.Program == LlamaCpp && !j.chat {
		own["usage"], own["timings"] = j.counted, j.timings
	}
	j.choice(last, j.finish, own)
	if j.usage && len(own) == 0 {
		own["choices"], own["usage"] = []object{}, j.counted
		if j.options.Program == LlamaCpp {
			own["timings"] = j.timings
		}
		j.event(own)
	}
	if !j.options.NoDone {
		j.Send("data: [DONE]\n\n")
	}
}

// sofar are the timings of an event, where each has some.
func (j *work) sofar(predicted int) object {
	if !j.timed {
		return nil
	}
	now := maps.Clone(j.timings)
	now["predicted_n"], now["predicted_ms"] = predicted, float64(predicted)*predictMS
	return object{"timings": now}
}

// choice sends an event with text, a JSON string.
func (j *work) choice(text string, finish any, more object) {
	c := object{"index": 0, "finish_reason": finish}
	if j.chat {
		c["delta"] = object{"content": json.RawMessage(text)}
	} else {
		c["text"], c["logprobs"] = json.RawMessage(text), nil
	}
	if j.options.Program == VLLM {
		c["stop_reason"] = nil
		if finish != nil && j.stop != "" {
			c["stop_reason"] = j.stop
		}
	}
	e := object{"choices": []object{c}}
	if j.options.Program == OpenAI && j.usage {
		e["usage"] = nil
	}
	maps.Copy(e, more)
	j.event(e)
}

// event sends an object with what all events have. What is not UTF-8 in a text stays as it is.
func (j *work) event(e object) {
	e["id"], e["created"], e["model"] = "cmpl-1", 1795851213, j.options.Models[0]
	e["object"] = "text_completion"
	if j.chat {
		e["object"] = "chat.completion.chunk"
	}
	var b strings.Builder
	write(&b, e)
	j.Send("data: " + b.String() + "\n\n")
}

// write is JSON without the repair of encoding/json.
func write(b *strings.Builder, v any) {
	switch v := v.(type) {
	case object:
		for i, k := range slices.Sorted(maps.Keys(v)) {
			b.WriteString([]string{"{", ","}[min(i, 1)])
			fmt.Fprintf(b, "%q:", k)
			write(b, v[k])
		}
		b.WriteString("}")
	case []object:
		b.WriteString("[")
		for _, o := range v {
			write(b, o)
		}
		b.WriteString("]")
	case json.RawMessage:
		b.Write(v)
	default:
		data, _ := json.Marshal(v) // plain values: cannot fail
		b.Write(data)
	}
}
