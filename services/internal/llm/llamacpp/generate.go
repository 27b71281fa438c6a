package llamacpp

import (
	"cmp"
	"context"
	"mime"
	"time"

	"github.com/tsumugi-dev/tsumugi/services/internal/llm"
)

// A line of a stream is at most base + each × the bytes of the request: the last event repeats the prompt and the stop
// strings, each byte of them escaped in the worst case, and a list of every setting.
const (
	lineBase = 4 << 20
	lineEach = 6
)

// Generate asks /completion for a stream and waits for its first line, which comes when the prompt has been read.
func (c *Client) Generate(ctx context.Context, req llm.Request) (llm.Stream, error) {
	if err := cmp.Or(req.Check(), req.Sampling.Unknown(Kind, c.Knobs())); err != nil {
		return nil, c.fault(llm.FaultRefused, err, "%v", err)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	s := &stream{client: c, ctx: ctx, cancel: cancel}
	s.within(limit{"first_byte", c.config.Timeouts.FirstByte})
	if err := s.open(newCompletion(req)); err != nil {
		cancel(nil)
		return nil, err
	}
	return s, nil
}

// open sends the request and waits for the status.
func (s *stream) open(body completion) error {
	begin, stop := time.Now(), s.watch()
	response, err := s.client.send(s.ctx, "/completion", body)
	stop()
	s.left -= time.Since(begin)
	if err != nil {
		return err
	}
	if kind, _, _ := mime.ParseMediaType(response.Header.Get("Content-Type")); kind != "text/event-stream" {
		_ = response.Body.Close()
		return s.client.fault(llm.FaultProtocol, nil, "the answer to /completion is no event stream but %q", kind)
	}
	most := lineBase + lineEach*len(body.Prompt)
	for _, stop := range body.Stop {
		most += lineEach * len(stop)
	}
	s.body, s.events = response.Body, newEvents(response.Body, most)
	return nil
}
