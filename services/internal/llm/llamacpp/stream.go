package llamacpp

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"time"

	"github.com/tsumugi-dev/tsumugi/services/internal/llm"
)

// stream is one answer of /completion.
type stream struct {
	client *Client
	// ctx ends with the caller's context, with Close, and with a time limit of ours as its cause. The connection goes with it.
	ctx    context.Context
	cancel context.CancelCauseFunc
	body   io.Closer
	events *events
	next   limit         // the time limit of the next piece
	left   time.Duration // how much of it is left
	text   assembler
	result llm.Result
	end    error // what Recv gives from now on
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
	CacheN      int     `json:"cache_n"`
	PromptMS    float64 `json:"prompt_ms"`
	PredictedMS float64 `json:"predicted_ms"`
}

// Recv implements llm.Stream. The server holds back what may be the beginning of a stop string and of a character; a piece
// that ends inside a character all the same is held back here until the rest comes.
func (s *stream) Recv() (string, error) {
	for s.end == nil {
		text, err := s.piece()
		if err != nil {
			s.finish(err)
		}
		if text != "" {
			return text, nil
		}
	}
	return "", s.end
}

// piece reads one event. It may give text and an error: the text came before what the error tells.
func (s *stream) piece() (string, error) {
	defer s.watch()()
	e, err := s.events.next()
	switch {
	case errors.Is(err, errTooLarge):
		return "", s.client.fault(llm.FaultProtocol, err, "an event of the stream is longer than %d bytes", s.events.most)
	case errors.Is(err, io.EOF):
		return "", s.client.broken(s.ctx, io.ErrUnexpectedEOF, llm.FaultCut)
	case err != nil:
		return "", s.client.broken(s.ctx, err, llm.FaultCut)
	}
	s.within(limit{"idle", s.client.config.Timeouts.Idle})
	var c chunk
	if e.failed {
		c.Error = &wireError{}
		err = json.Unmarshal(e.data, c.Error)
	} else {
		err = json.Unmarshal(e.data, &c)
	}
	if err != nil {
		return "", s.client.fault(llm.FaultProtocol, err, "an event of the stream is not the JSON of a llama.cpp server")
	}
	return s.take(c)
}

// take moves the answer on by one event.
func (s *stream) take(c chunk) (string, error) {
	switch {
	case c.Error != nil:
		return "", s.client.told(*c.Error, llm.FaultCut)
	case c.Stop == nil:
		return "", s.client.fault(llm.FaultProtocol, nil, "an event of the stream has no stop field")
	}
	s.note(c)
	text, err := s.text.add(c.Content)
	if err != nil {
		return text, s.client.fault(llm.FaultProtocol, err, "the text of the answer is damaged: %v", err)
	}
	if !*c.Stop {
		return text, nil
	}
	return text, s.last(c)
}

// note keeps what an event tells of the numbers.
func (s *stream) note(c chunk) {
	s.result.PromptTokens, s.result.AnswerTokens = c.Evaluated, c.Predicted
	if c.Timings != nil {
		s.result.CachedTokens = c.Timings.CacheN
		s.result.PromptTime = milliseconds(c.Timings.PromptMS)
		s.result.AnswerTime = milliseconds(c.Timings.PredictedMS)
	}
}

// last reads the last event. io.EOF is the good end.
func (s *stream) last(c chunk) error {
	if s.text.half() {
		return s.client.fault(llm.FaultProtocol, nil, "the text of the answer is damaged: it ends inside a character")
	}
	switch c.StopType {
	case "eos":
		s.result.Finish = llm.FinishStop
	case "word":
		s.result.Finish, s.result.StopString = llm.FinishStop, c.StoppingWord
	case "limit":
		s.result.Finish = llm.FinishLength
	default:
		return s.client.fault(llm.FaultProtocol, nil, "the answer ended for the unknown reason %q", clip(c.StopType))
	}
	return io.EOF
}

// Result implements llm.Stream.
func (s *stream) Result() llm.Result { return s.result }

// Close implements llm.Stream. Closing the connection is what aborts the answer at the server.
func (s *stream) Close() error {
	if s.end == nil {
		s.finish(s.client.fault(llm.FaultCancelled, context.Canceled, "the answer was closed"))
	}
	return nil
}

// finish ends the stream. The connection is not used again.
func (s *stream) finish(end error) {
	s.end = end
	s.cancel(nil)
	_ = s.body.Close()
}

// within sets the time limit of the next piece.
func (s *stream) within(l limit) { s.next, s.left = l, l.after }

// watch lets the time limit of the next piece run until what it returns is called; the time between two calls of Recv
// does not count.
func (s *stream) watch() (stop func()) {
	next := s.next
	timer := time.AfterFunc(s.left, func() { s.cancel(next) })
	return func() { timer.Stop() }
}

// milliseconds turns a timing into a duration; what is no time is 0.
func milliseconds(ms float64) time.Duration {
	if !(ms > 0 && ms < 1e12) {
		return 0
	}
	return time.Duration(ms * float64(time.Millisecond))
}
