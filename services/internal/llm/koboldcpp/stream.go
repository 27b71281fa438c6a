package koboldcpp

import (
	"context"
	"encoding/json"
	"errors"
	"io"

	"github.com/tsumugi-dev/tsumugi/services/internal/llm"
	"github.com/tsumugi-dev/tsumugi/services/internal/llm/wire"
)

// stream is one generation. Whoever leaves it tells the server to stop it: a server behind a proxy, or one that has not
// begun to write, does not see that the connection was closed.
type stream struct {
	llm.Stream
	client *Client
	answer *answer
	caller context.Context // the caller's; ctx ends with it, and when the stream does
	ctx    context.Context
	cancel context.CancelFunc
	// keep lets the server's work be, as its end has come; false where it was told to stop already.
	keep func() bool
	told chan struct{} // closed when the server was told
	over bool
}

func newStream(ctx context.Context, c *Client, key string, a *answer) *stream {
	s := &stream{client: c, answer: a, caller: ctx, told: make(chan struct{})}
	s.ctx, s.cancel = context.WithCancel(ctx)
	s.keep = context.AfterFunc(s.ctx, func() {
		defer close(s.told)
		c.abort(context.WithoutCancel(ctx), key)
	})
	return s
}

// declined are the faults with which the server says itself that it has not begun. After any other one, such as a proxy's 502
// or a connection that broke, it may be at work.
var declined = map[llm.Fault]bool{llm.FaultBusy: true, llm.FaultLoading: true, llm.FaultRefused: true, llm.FaultTooLong: true}

// open sends the request.
func (s *stream) open(g generation) error {
	inner, err := s.client.server.Stream(s.ctx, "/api/extra/generate/stream", g, wire.MaxLine, s.answer)
	if err == nil {
		s.Stream = inner
		return nil
	}
	var e *llm.Error
	if errors.As(err, &e) && declined[e.Fault] {
		s.keep()
	}
	s.cancel()
	return err
}

// Recv implements llm.Stream. Of an answer that breaks off, what was held back is given before the error.
func (s *stream) Recv() (string, error) {
	text, err := s.Stream.Recv()
	if err == nil || s.over {
		return text, err
	}
	s.leave()
	if errors.Is(err, io.EOF) {
		s.client.figures(s.caller, s.answer)
	} else if rest := s.answer.stops.Rest(); rest != "" {
		return rest, nil
	}
	return "", err
}

// leave ends the work of the server, unless it has ended it itself.
func (s *stream) leave() {
	s.over = true
	if s.answer.last {
		s.keep()
	}
	s.cancel()
}

// Close implements llm.Stream. It returns when the server was told to stop, if it had to be.
func (s *stream) Close() error {
	err := s.Stream.Close()
	s.leave()
	if !s.answer.last {
		<-s.told
	}
	return err
}

// abort tells the server to stop a generation. It answers `"success": "false"` for one that is not running, which is as good.
func (c *Client) abort(ctx context.Context, key string) {
	ask := struct {
		GenKey string `json:"genkey"`
	}{key}
	var ignored json.RawMessage
	_ = c.server.Ask(ctx, c.server.WindowLimit(), "/api/extra/abort", ask, &ignored, wire.MaxDescription)
}

// answer reads the events of a generation.
type answer struct {
	server *wire.Server
	text   wire.Assembler
	stops  wire.Stops
	seed   int32
	most   int
	all    []byte // what was generated, for figures
	last   bool   // the server has said that it is done
	reason string // its finish_reason
	result llm.Result
}

// Take implements wire.Answer.
func (a *answer) Take(e wire.Event) (string, error) {
	var c struct {
		Token  json.RawMessage `json:"token"`
		Finish *string         `json:"finish_reason"`
	}
	if err := json.Unmarshal(e.Data, &c); err != nil {
		return "", a.server.Fault(llm.FaultProtocol, err, "an event of the stream is not the JSON of a KoboldCpp server")
	}
	if c.Token == nil {
		return "", a.server.Fault(llm.FaultProtocol, nil, "an event of the stream has no token field")
	}
	piece, damage := a.text.Add(c.Token)
	a.all = append(a.all, piece...)
	text := a.stops.Add(piece)
	if damage != nil {
		return text, a.server.Fault(llm.FaultProtocol, damage, "the text of the answer is damaged: %v", damage)
	}
	if c.Finish != nil && *c.Finish != "null" {
		a.last, a.reason = true, *c.Finish
	}
	switch {
	case a.stops.Found() != "":
		a.result.Finish, a.result.StopString = llm.FinishStop, a.stops.Found()
		return text, io.EOF
	case !a.last:
		return text, nil
	}
	text += a.stops.Rest()
	if a.text.Half() {
		return text, a.server.Fault(llm.FaultProtocol, nil, "the text of the answer is damaged: it ends inside a character")
	}
	return text, a.finish()
}

// finish reads the server's own word for the end.
func (a *answer) finish() error {
	switch a.reason {
	case "stop":
		a.result.Finish = llm.FinishStop
	case "length":
		a.result.Finish = llm.FinishLength
	default:
		return a.server.Fault(llm.FaultProtocol, nil, "the answer ended for the unknown reason %q", wire.Clip(a.reason))
	}
	return io.EOF
}

// End implements wire.Answer: a stream without a last event is not whole.
func (a *answer) End() error { return nil }

// Result implements wire.Answer.
func (a *answer) Result() llm.Result { return a.result }
