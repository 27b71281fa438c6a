package ollama

import (
	"encoding/json"
	"io"
	"time"

	"github.com/tsumugi-dev/tsumugi/services/internal/llm"
	"github.com/tsumugi-dev/tsumugi/services/internal/llm/wire"
)

// answer reads the lines of an answer, of /api/generate or of /api/chat.
type answer struct {
	server *wire.Server
	text   wire.Assembler
	calls  wire.Calls
	result llm.Result
}

// chunk is one line. The last one has done true and the figures (docs.ollama.com/api/usage); durations are nanoseconds.
type chunk struct {
	Response json.RawMessage `json:"response"`
	Thinking string          `json:"thinking"`
	// Message has the text of a conversation.
	Message struct {
		Content  json.RawMessage `json:"content"`
		Thinking string          `json:"thinking"`
		Calls    []call          `json:"tool_calls"`
	} `json:"message"`
	Done   *bool  `json:"done"`
	Reason string `json:"done_reason"`
	Error  string `json:"error"`

	PromptTokens int   `json:"prompt_eval_count"`
	CachedTokens int   `json:"prompt_eval_cached_count"`
	PromptTime   int64 `json:"prompt_eval_duration"`
	AnswerTokens int   `json:"eval_count"`
	AnswerTime   int64 `json:"eval_duration"`
}

// Take implements wire.Answer.
func (a *answer) Take(e wire.Event) (string, error) {
	var c chunk
	if err := json.Unmarshal(e.Data, &c); err != nil {
		return "", a.server.Fault(llm.FaultProtocol, err, "a line of the stream is not the JSON of an Ollama server")
	}
	switch {
	case c.Error != "":
		return "", a.server.Told(told(c.Error), llm.FaultCut)
	case c.Done == nil:
		return "", a.server.Fault(llm.FaultProtocol, nil, "a line of the stream has no done field")
	case c.Thinking != "" || c.Message.Thinking != "":
		return "", a.server.Fault(llm.FaultProtocol, nil, "the server takes a part of the answer for thinking, which it was told not to do")
	}
	if c.Response == nil {
		c.Response = c.Message.Content
	}
	text, err := a.add(c.Response)
	if err != nil {
		return text, err
	}
	for _, one := range c.Message.Calls {
		if err := a.calls.AddWhole(llm.ToolCall{ID: one.ID, Name: one.Function.Name, Arguments: string(one.Function.Arguments)}); err != nil {
			return text, a.server.Fault(llm.FaultProtocol, err, "%v", err)
		}
	}
	if !*c.Done {
		return text, nil
	}
	return text, a.last(c)
}

// add takes the text of a line; the last line may have none.
func (a *answer) add(response json.RawMessage) (string, error) {
	if response == nil {
		return "", nil
	}
	text, err := a.text.Add(response)
	if err != nil {
		return text, a.server.Fault(llm.FaultProtocol, err, "the text of the answer is damaged: %v", err)
	}
	return text, nil
}

// last reads the last line. io.EOF is the good end.
func (a *answer) last(c chunk) error {
	if a.text.Half() {
		return a.server.Fault(llm.FaultProtocol, nil, "the text of the answer is damaged: it ends inside a character")
	}
	a.result = llm.Result{
		PromptTokens: c.PromptTokens, CachedTokens: c.CachedTokens, CacheTold: c.CachedTokens > 0, AnswerTokens: c.AnswerTokens,
		PromptTime: max(time.Duration(c.PromptTime), 0), AnswerTime: max(time.Duration(c.AnswerTime), 0),
	}
	switch c.Reason {
	case "stop": // at the model's end or at a stop string: which, is not told
		calls, err := a.calls.Whole()
		if err != nil {
			return a.server.Fault(llm.FaultProtocol, err, "%v", err)
		}
		a.result.Finish, a.result.Calls = llm.FinishStop, calls
	case "length":
		a.result.Finish = llm.FinishLength
	default:
		return a.server.Fault(llm.FaultProtocol, nil, "the answer ended for the unknown reason %q", wire.Clip(c.Reason))
	}
	return io.EOF
}

// End implements wire.Answer: a stream without its last line is not whole.
func (a *answer) End() error { return nil }

// Result implements wire.Answer.
func (a *answer) Result() llm.Result { return a.result }
