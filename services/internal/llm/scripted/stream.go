package scripted

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/tsumugi-dev/tsumugi/services/internal/llm"
)

// stream is one answer.
type stream struct {
	backend *Backend
	ctx     context.Context
	reply   Reply
	plan    plan
	prompt  int // tokens
	sent    int // pieces
	end     error
}

// Recv implements llm.Stream.
func (s *stream) Recv() (string, error) {
	if s.end == nil {
		s.end = s.wait()
	}
	if s.end != nil {
		return "", s.end
	}
	switch f := s.reply.Fail; {
	case f != nil && s.sent == f.After:
		s.end = s.backend.scripted(f)
	case s.sent == len(s.plan.pieces):
		s.end = io.EOF
	default:
		s.sent++
		return s.plan.pieces[s.sent-1], nil
	}
	return "", s.end
}

// wait lets the time before the next piece pass.
func (s *stream) wait() error {
	delay := s.reply.Delay
	if s.sent == 0 {
		delay += s.reply.Wait
	}
	if s.sent < len(s.plan.pieces) && delay > 0 {
		timer := time.NewTimer(delay)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-s.ctx.Done():
		}
	}
	return s.backend.ended(s.ctx)
}

// Result implements llm.Stream. The times are those of the script.
func (s *stream) Result() llm.Result {
	r := llm.Result{
		PromptTokens: s.prompt, AnswerTokens: s.sent,
		PromptTime: s.reply.Wait, AnswerTime: time.Duration(s.sent) * s.reply.Delay,
	}
	if errors.Is(s.end, io.EOF) {
		r.Finish, r.StopString, r.AnswerTokens, r.Calls = s.plan.finish, s.plan.stop, s.plan.tokens, s.plan.calls
	}
	return r
}

// Close implements llm.Stream.
func (s *stream) Close() error {
	if s.end == nil {
		s.end = s.backend.fault(llm.FaultCancelled, context.Canceled, "the answer was closed")
	}
	return nil
}
