package llamacpp

import (
	"encoding/json"
	"io"

	"github.com/tsumugi-dev/tsumugi/services/internal/llm"
	"github.com/tsumugi-dev/tsumugi/services/internal/llm/wire"
)

// answer is one answer of /completion. The server holds back what may be the beginning of a stop string and of a
// character; a piece that ends inside a character all the same is held back here until the rest comes.
type answer struct {
	server *wire.Server
	text   wire.Assembler
	result llm.Result
}

// chunk is one event. The last one has stop true and all of the fields.
type chunk struct {
	Content      json.RawMessage `json:"content"`
	Stop         *bool           `json:"stop"`
	StopType     string          `json:"stop_type"`
	StoppingWord string          `json:"stopping_word"`
	Predicted    int             `json:"tokens_predicted"`
	Evaluated    int             `json:"tokens_evaluated"`
	Timings      *timings        `json:"timings"`
	Error        *wireError      `json:"error"`
}

// timings are the server's own, in milliseconds. prompt_n is what was read, without what came from the cache.
type timings struct {
	CacheN      *int    `json:"cache_n"`
	PromptMS    float64 `json:"prompt_ms"`
	PredictedMS float64 `json:"predicted_ms"`
}

// Take implements wire.Answer.
func (a *answer) Take(e wire.Event) (string, error) {
	var c chunk
	var err error
	if e.Failed {
		c.Error = &wireError{}
		err = json.Unmarshal(e.Data, c.Error)
	} else {
		err = json.Unmarshal(e.Data, &c)
	}
	if err != nil {
		return "", a.server.Fault(llm.FaultProtocol, err, "an event of the stream is not the JSON of a llama.cpp server")
	}
	return a.take(c)
}

// End implements wire.Answer: a stream without its last event is not whole.
func (a *answer) End() error { return nil }

// take moves the answer on by one event.
func (a *answer) take(c chunk) (string, error) {
	switch {
	case c.Error != nil:
		return "", a.server.Told(c.Error.words(), llm.FaultCut)
	case c.Stop == nil:
		return "", a.server.Fault(llm.FaultProtocol, nil, "an event of the stream has no stop field")
	}
	a.note(c)
	text, err := a.text.Add(c.Content)
	if err != nil {
		return text, a.server.Fault(llm.FaultProtocol, err, "the text of the answer is damaged: %v", err)
	}
	if !*c.Stop {
		return text, nil
	}
	return text, a.last(c)
}

// note keeps what an event tells of the numbers.
func (a *answer) note(c chunk) {
	a.result.PromptTokens, a.result.AnswerTokens = c.Evaluated, c.Predicted
	if c.Timings != nil {
		if n := c.Timings.CacheN; n != nil {
			a.result.CachedTokens, a.result.CacheTold = *n, true
		}
		a.result.PromptTime = wire.Milliseconds(c.Timings.PromptMS)
		a.result.AnswerTime = wire.Milliseconds(c.Timings.PredictedMS)
	}
}

// last reads the last event. io.EOF is the good end.
func (a *answer) last(c chunk) error {
	if a.text.Half() {
		return a.server.Fault(llm.FaultProtocol, nil, "the text of the answer is damaged: it ends inside a character")
	}
	switch c.StopType {
	case "eos":
		a.result.Finish = llm.FinishStop
	case "word":
		a.result.Finish, a.result.StopString = llm.FinishStop, c.StoppingWord
	case "limit":
		a.result.Finish = llm.FinishLength
	default:
		return a.server.Fault(llm.FaultProtocol, nil, "the answer ended for the unknown reason %q", wire.Clip(c.StopType))
	}
	return io.EOF
}

// Result implements wire.Answer.
func (a *answer) Result() llm.Result { return a.result }
