package openaiwire

import (
	"encoding/json"
	"io"

	"github.com/openai/openai-go/v3"

	"github.com/tsumugi-dev/tsumugi/services/internal/llm"
	"github.com/tsumugi-dev/tsumugi/services/internal/llm/wire"
)

// done is the data of the last event.
const done = "[DONE]"

// Answer reads the events of a completion.
type Answer struct {
	server *wire.Server
	chat   bool
	text   wire.Assembler
	stops  wire.Stops // those that the server was not told
	calls  wire.Calls
	result llm.Result
	reason string // the finish reason, empty before
}

// NewAnswer reads those of /v1/chat/completions (chat) or of /v1/completions. stops are stop strings that the server was not told.
func NewAnswer(server *wire.Server, chat bool, stops []string) *Answer {
	return &Answer{server: server, chat: chat, stops: wire.NewStops(stops)}
}

// Take implements wire.Answer.
func (a *Answer) Take(e wire.Event) (string, error) {
	if string(e.Data) == done {
		if end := a.End(); end != nil {
			return a.stops.Rest(), end
		}
		return a.stops.Rest(), a.server.Fault(llm.FaultProtocol, nil, "the answer is said to be done without a finish_reason")
	}
	w, is := failed(e.Data)
	if e.Failed { // the data is the error itself
		var told wireError
		_ = json.Unmarshal(e.Data, &told) // what cannot be read stays untold
		w, is = told.words(), true
	}
	if is {
		return a.stops.Rest(), a.server.Told(w, llm.FaultCut)
	}
	c, ok := a.read(e.Data)
	if !ok {
		return a.stops.Rest(), a.server.Fault(llm.FaultProtocol, nil, "an event of the stream is not the JSON of an OpenAI-compatible server")
	}
	return a.piece(c)
}

// piece moves the answer on by one event.
func (a *Answer) piece(c chunk) (string, error) {
	a.note(c)
	text := ""
	if c.text != "" && c.text != "null" {
		piece, damage := a.text.Add(json.RawMessage(c.text))
		text = a.stops.Add(piece)
		if damage != nil {
			return text + a.stops.Rest(), a.server.Fault(llm.FaultProtocol, damage, "the text of the answer is damaged: %v", damage)
		}
	}
	for _, p := range c.calls {
		if err := a.calls.Add(p); err != nil {
			return text + a.stops.Rest(), a.server.Fault(llm.FaultProtocol, err, "%v", err)
		}
	}
	if stop := a.stops.Found(); stop != "" {
		a.result.Finish, a.result.StopString = llm.FinishStop, stop
		return text, io.EOF
	}
	if c.refusal != "" {
		return text + a.stops.Rest(), a.server.Fault(llm.FaultCut, nil, "the model refused to answer: %s", wire.Clip(c.refusal))
	}
	if c.finish == "" {
		return text, nil
	}
	a.reason = c.finish
	return text + a.stops.Rest(), a.finish(c.stop)
}

// finish reads the finish reason. The end of the stream is still to come, and the usage may be, too.
func (a *Answer) finish(stop string) error {
	if a.text.Half() {
		return a.server.Fault(llm.FaultProtocol, nil, "the text of the answer is damaged: it ends inside a character")
	}
	switch a.reason {
	case "stop", "tool_calls":
		if a.reason == "tool_calls" && !a.calls.Any() {
			return a.server.Fault(llm.FaultProtocol, nil, "the answer is said to call tools, and calls none")
		}
		calls, err := a.calls.Whole()
		if err != nil {
			return a.server.Fault(llm.FaultProtocol, err, "%v", err)
		}
		a.result.Finish, a.result.StopString, a.result.Calls = llm.FinishStop, stop, calls
	case "length":
		a.result.Finish = llm.FinishLength
	case "content_filter":
		return a.server.Fault(llm.FaultCut, nil, "the server's content filter ended the answer")
	default:
		return a.server.Fault(llm.FaultProtocol, nil, "the answer ended for the unknown reason %q", wire.Clip(a.reason))
	}
	return nil
}

// End implements wire.Answer: an answer with a finish reason is whole, also where a server leaves out the [DONE].
func (a *Answer) End() error {
	if a.reason != "" {
		return io.EOF
	}
	return nil
}

// Result implements wire.Answer.
func (a *Answer) Result() llm.Result { return a.result }

// chunk is one event, of either API.
type chunk struct {
	text    string // a JSON string, null or nothing
	refusal string
	calls   []wire.Part
	finish  string
	stop    string // the stop string, from vLLM
	usage   openai.CompletionUsage
	counted bool   // there is usage
	timings string // llama.cpp's, as JSON
}

// read reads an event. Choices other than the first were not asked for.
func (a *Answer) read(data []byte) (chunk, bool) {
	if a.chat {
		var c openai.ChatCompletionChunk
		if json.Unmarshal(data, &c) != nil || !c.JSON.Choices.Valid() {
			return chunk{}, false
		}
		got := chunk{usage: c.Usage, counted: c.JSON.Usage.Valid(), timings: c.JSON.ExtraFields["timings"].Raw()}
		if len(c.Choices) > 0 {
			first := c.Choices[0]
			got.text, got.refusal, got.finish = first.Delta.JSON.Content.Raw(), first.Delta.Refusal, first.FinishReason
			got.calls = parts(first.Delta.ToolCalls)
			got.stop = word(first.JSON.ExtraFields["stop_reason"].Raw())
		}
		return got, true
	}
	var c openai.Completion
	if json.Unmarshal(data, &c) != nil || !c.JSON.Choices.Valid() {
		return chunk{}, false
	}
	got := chunk{usage: c.Usage, counted: c.JSON.Usage.Valid(), timings: c.JSON.ExtraFields["timings"].Raw()}
	if len(c.Choices) > 0 {
		first := c.Choices[0]
		got.text, got.finish = first.JSON.Text.Raw(), string(first.FinishReason)
		got.stop = word(first.JSON.ExtraFields["stop_reason"].Raw())
	}
	return got, true
}

// parts are the fragments of tool calls in an event.
func parts(deltas []openai.ChatCompletionChunkChoiceDeltaToolCall) []wire.Part {
	all := make([]wire.Part, len(deltas))
	for i, d := range deltas {
		all[i] = wire.Part{Index: int(d.Index), ID: d.ID, Name: d.Function.Name, Arguments: json.RawMessage(d.Function.JSON.Arguments.Raw())}
		if !d.JSON.Index.Valid() {
			all[i].Index = wire.NoIndex
		}
	}
	return all
}

// word gives the text of a JSON string; a number, as vLLM names tokens, is none.
func word(raw string) string {
	var s string
	if json.Unmarshal([]byte(raw), &s) != nil {
		return ""
	}
	return s
}

// note keeps what an event tells of the numbers.
func (a *Answer) note(c chunk) {
	var t struct {
		CacheN      *int    `json:"cache_n"`
		PromptN     int     `json:"prompt_n"`
		PredictedN  int     `json:"predicted_n"`
		PromptMS    float64 `json:"prompt_ms"`
		PredictedMS float64 `json:"predicted_ms"`
	}
	if c.timings != "" && json.Unmarshal([]byte(c.timings), &t) == nil {
		a.result.PromptTime, a.result.AnswerTime = wire.Milliseconds(t.PromptMS), wire.Milliseconds(t.PredictedMS)
		if t.CacheN != nil {
			a.result.PromptTokens, a.result.AnswerTokens = *t.CacheN+t.PromptN, t.PredictedN
			a.result.CachedTokens, a.result.CacheTold = *t.CacheN, true
		}
	}
	if c.counted {
		a.result.PromptTokens, a.result.AnswerTokens = int(c.usage.PromptTokens), int(c.usage.CompletionTokens)
		cache := c.usage.PromptTokensDetails
		a.result.CachedTokens, a.result.CacheTold = int(cache.CachedTokens), cache.JSON.CachedTokens.Valid()
	}
}
