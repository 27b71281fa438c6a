package openaiwire

import (
	"encoding/json"
	"regexp"
	"strconv"
	"strings"

	"github.com/tsumugi-dev/tsumugi/services/internal/llm"
	"github.com/tsumugi-dev/tsumugi/services/internal/llm/wire"
)

// wireError is an error as one of the servers says it. Code is a number of HTTP, or a word, or null.
type wireError struct {
	Message      string          `json:"message"`
	Type         string          `json:"type"`
	Code         json.RawMessage `json:"code"`
	Param        string          `json:"param"`
	PromptTokens int             `json:"n_prompt_tokens"`
	Window       int             `json:"n_ctx"`
}

// failure is a body or an event that may be an error: OpenAI, vLLM and llama.cpp put it into `error`, older vLLM says
// `"object": "error"` and has the fields outside, FastAPI says `detail`.
type failure struct {
	Error  json.RawMessage `json:"error"`
	Object string          `json:"object"`
	Detail json.RawMessage `json:"detail"`
	wireError
}

// Words reads the body of a refusal.
func Words(body []byte) wire.Words {
	w, _ := failed(body)
	return w
}

// failed reads an error, if data is one.
func failed(data []byte) (w wire.Words, ok bool) {
	var f failure
	if json.Unmarshal(data, &f) != nil {
		return wire.Words{}, false
	}
	e := f.wireError
	switch {
	case len(f.Error) > 0 && string(f.Error) != "null":
		e = wireError{}
		if json.Unmarshal(f.Error, &e) != nil { // a proxy that says no more than a sentence
			_ = json.Unmarshal(f.Error, &e.Message) // else the message stays empty
		}
	case f.Object == "error":
	case len(f.Detail) > 0:
		e = wireError{Message: string(f.Detail)}
	default:
		return wire.Words{}, false
	}
	return e.words(), true
}

// What the servers say of a prompt that is too long, and where in it the window and the prompt's tokens stand.
var (
	tooLong = regexp.MustCompile(`maximum context length|maximum model length|context length is only|exceeds the available context size`)
	windows = regexp.MustCompile(`(?:context length is(?: only)?|maximum model length of) (\d+)`)
	lengths = regexp.MustCompile(`(\d+) in (?:your prompt|the messages|the prompt)|(?:passed|has|contains)(?: at least)? (\d+) input tokens|` +
		`prompt \(length (\d+)\)|resulted in (\d+) tokens`)
)

func (e wireError) words() wire.Words {
	w := wire.Words{Message: quiet(e.Message), Tokens: e.PromptTokens, Window: e.Window}
	if e.Param != "" && !strings.Contains(w.Message, e.Param) {
		w.Message += " (" + e.Param + ")" // the field that it is about
	}
	code := ""
	if json.Unmarshal(e.Code, &w.Status) != nil {
		_ = json.Unmarshal(e.Code, &code) // neither a number nor a word says nothing
	}
	switch {
	case code == "context_length_exceeded", e.Type == "exceed_context_size_error", tooLong.MatchString(e.Message):
		w.Fault = llm.FaultTooLong
		if w.Window == 0 {
			w.Window, w.Tokens = number(windows, e.Message), number(lengths, e.Message)
		}
	case code == "model_not_found", e.Type == "NotFoundError", code == "insufficient_quota", e.Type == "insufficient_quota":
		w.Fault = llm.FaultRefused
	case strings.Contains(strings.ToLower(e.Message), "loading model"):
		w.Fault = llm.FaultLoading
	}
	return w
}

// number is the first number that a pattern finds, 0 without one.
func number(p *regexp.Regexp, text string) int {
	for i, found := range p.FindStringSubmatch(text) {
		if n, err := strconv.Atoi(found); i > 0 && err == nil {
			return n
		}
	}
	return 0
}

// quiet cuts off where a message begins to repeat the request, as those of validation do: the prompt is in it.
func quiet(message string) string {
	for _, mark := range []string{"'input':", `"input":`, "input_value="} {
		message, _, _ = strings.Cut(message, mark)
	}
	return message
}
