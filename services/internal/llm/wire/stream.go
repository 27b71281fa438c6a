package wire

import (
	"context"
	"errors"
	"io"
	"mime"
	"time"

	"github.com/tsumugi-dev/tsumugi/services/internal/llm"
)

// Answer makes sense of the events of one stream.
type Answer interface {
	// Take moves the answer on by one event and gives the text that is whole by now. io.EOF is the good end. It may give
	// text and an error: the text came before what the error tells.
	Take(e Event) (string, error)
	// End is asked when the stream ended although Take did not say so: nil where the answer is not whole.
	End() error
	// Result says how the answer ended, as far as it is known.
	Result() llm.Result
}

// stream is one answer that comes in events. The connection is not used again.
type stream struct {
	server *Server
	answer Answer
	// ctx ends with the caller's context, with Close, and with a time limit of ours as its cause. The connection goes with it.
	ctx    context.Context
	cancel context.CancelCauseFunc
	body   io.Closer
	most   int // the longest event, in bytes
	events interface{ Next() (Event, error) }
	next   Limit         // the time limit of the next piece
	left   time.Duration // how much of it is left
	sent   any           // the body of the request
	end    error         // what Recv gives from now on
}

// MaxLine is the longest event of a stream, in bytes, of a server that does not repeat the prompt in one: KoboldCpp's first
// one may hold all that was generated until then.
const MaxLine = 4 << 20

// Stream sends body as JSON, as soon as not too many answers are under way, and waits for the status. An event of the
// stream has at most most bytes.
func (s *Server) Stream(ctx context.Context, path string, body any, most int, answer Answer) (llm.Stream, error) {
	if err := s.take(ctx, s.answering); err != nil {
		return nil, err
	}
	llm.Sent(ctx)
	ctx, cancel := context.WithCancelCause(ctx)
	stream := &stream{server: s, answer: answer, ctx: ctx, cancel: cancel, most: most, sent: body}
	stream.within(Limit{"first_byte", s.Timeouts.FirstByte})
	if err := stream.open(path, body); err != nil {
		cancel(nil)
		s.answering.give()
		return nil, err
	}
	return stream, nil
}

func (s *stream) open(path string, body any) error {
	begin, stop := time.Now(), s.watch()
	response, err := s.server.send(s.ctx, s.server.once, path, body)
	stop()
	s.left -= time.Since(begin)
	if err != nil {
		return err
	}
	want := "text/event-stream"
	if s.server.Lines {
		want = "application/x-ndjson"
	}
	if kind, _, _ := mime.ParseMediaType(response.Header.Get("Content-Type")); kind != want {
		_ = response.Body.Close()
		return s.server.Fault(llm.FaultProtocol, nil, "the answer to %s is no stream of type %s but %q", path, want, Clip(kind))
	}
	s.body = response.Body
	if s.server.Lines {
		s.events = NewNDJSON(response.Body, s.most)
	} else {
		s.events = NewEvents(response.Body, s.most)
	}
	return nil
}

// Recv implements llm.Stream.
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

// piece reads one event.
func (s *stream) piece() (string, error) {
	defer s.watch()()
	e, err := s.events.Next()
	switch {
	case errors.Is(err, ErrTooLarge):
		return "", s.server.Fault(llm.FaultProtocol, err, "an event of the stream is longer than %d bytes", s.most)
	case errors.Is(err, io.EOF):
		if good := s.answer.End(); good != nil {
			return "", good
		}
		return "", s.server.broken(s.ctx, io.ErrUnexpectedEOF, llm.FaultCut)
	case err != nil:
		return "", s.server.broken(s.ctx, err, llm.FaultCut)
	}
	if s.ctx.Err() != nil { // what a server says that was told to stop is not the end of the answer
		return "", s.server.broken(s.ctx, s.ctx.Err(), llm.FaultCut)
	}
	s.within(Limit{"idle", s.server.Timeouts.Idle})
	text, err := s.answer.Take(e)
	var told *llm.Error
	if errors.As(err, &told) {
		err = discreet(told, s.sent)
	}
	return text, err
}

// Result implements llm.Stream.
func (s *stream) Result() llm.Result { return s.answer.Result() }

// Close implements llm.Stream. Closing the connection is what aborts the answer at the server.
func (s *stream) Close() error {
	if s.end == nil {
		s.finish(s.server.Fault(llm.FaultCancelled, context.Canceled, "the answer was closed"))
	}
	return nil
}

func (s *stream) finish(end error) {
	s.end = end
	s.cancel(nil)
	_ = s.body.Close()
	s.server.answering.give()
}

// within sets the time limit of the next piece.
func (s *stream) within(l Limit) { s.next, s.left = l, l.after }

// watch lets the time limit of the next piece run until what it returns is called; the time between two calls of Recv
// does not count.
func (s *stream) watch() (stop func()) {
	next := s.next
	timer := time.AfterFunc(s.left, func() { s.cancel(next) })
	return func() { timer.Stop() }
}

// Milliseconds turns a timing into a duration; what is no time is 0.
func Milliseconds(ms float64) time.Duration {
	if !(ms > 0 && ms < 1e12) {
		return 0
	}
	return time.Duration(ms * float64(time.Millisecond))
}
