package write

import (
	"context"
	"errors"
	"io"
	"math"
	"strings"

	"github.com/google/uuid"
	"google.golang.org/protobuf/proto"

	agentv1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/agent/v1"
	commonv1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/common/v1"
	flowstorev1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/flowstore/v1"
	promptbuilderv1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/promptbuilder/v1"
)

// plan makes a round of the place where the writer is. It has a request id for as long as it lasts.
func (s *session) plan(want shape) *round { return &round{shape: want, request: s.request(want)} }

// round asks for what is missing of a round and shows it as it comes. Where waiting helps, the same request goes out
// again: the agent knows by its id what is stored, and makes only the rest. The error ends the session.
func (s *session) round(ctx context.Context, r *round) error {
	r.stopping = false
	stopped := s.patiently(ctx, func() error {
		if r.err = s.attempt(ctx, r); broken(r.err) || r.missing() {
			return r.err
		}
		return nil
	})
	switch _, later := retryAfter(r.err); {
	case errors.Is(stopped, errStopped):
		r.err = stopped
		if !s.Yes {
			s.say("%v", stopped)
		}
	case r.err == nil || errors.Is(r.err, errStopped) || (r.told(r.err) && !later):
	case len(r.answers) == 0 && (s.Yes || (!later && !broken(r.err))):
		return r.err // nothing was opened, and nothing is to be had by asking again
	case !s.Yes:
		s.say("%v", s.plain(r.err))
	}
	return nil
}

// attempt sends the request of a round once and shows what comes.
func (s *session) attempt(ctx context.Context, r *round) error {
	r.resume()
	ctx, leave := context.WithCancel(ctx)
	defer leave()
	stream, err := s.agents.GenerateNode(ctx, r.request)
	if err != nil {
		return err
	}
	type received struct {
		event *agentv1.GenerateNodeEvent
		err   error
	}
	events := make(chan received)
	go func() {
		for {
			e, err := stream.Recv()
			select {
			case events <- received{e, err}:
			case <-ctx.Done():
				return
			}
			if err != nil {
				return
			}
		}
	}()
	screen := &screen{session: s}
	for {
		select {
		case <-s.Interrupts:
			if !s.interrupt(ctx, r) {
				screen.finish(r)
				s.say("%v", errStopped)
				return errStopped
			}
		case got := <-events:
			if got.err != nil {
				r.end(got.err)
				screen.finish(r)
				if errors.Is(got.err, io.EOF) {
					return nil
				}
				return got.err
			}
			n := screen.take(r, got.event)
			if got.event.GetOpened() != nil && r.stopping {
				s.cancel(ctx, r.answers[n])
			}
		}
	}
}

// errStopped is for what the writer did not wait for.
var errStopped = errors.New("止めました stopped, without waiting any longer")

// interrupt is Ctrl-C: it ends the answers that are being made, and those that are opened later; what has come of them is
// kept. False where there is nothing to wait for: none was opened yet, or it is the second time.
func (s *session) interrupt(ctx context.Context, r *round) bool {
	if r.stopping || len(r.answers) == 0 {
		r.stopping = true
		return false
	}
	r.stopping = true
	for _, a := range r.answers {
		if a.opened != nil && !a.ended {
			s.cancel(ctx, a)
		}
	}
	return true
}

func (s *session) cancel(ctx context.Context, a *answer) {
	if _, err := s.agents.CancelGeneration(ctx, &agentv1.CancelGenerationRequest{Name: a.opened.Generation}); err != nil {
		s.say("%v", s.plain(err))
	}
}

// request asks for answers behind the place where the writer is.
func (s *session) request(want shape) *agentv1.GenerateNodeRequest {
	q := &agentv1.GenerateNodeRequest{
		Flow: s.flow, Parent: s.at, RequestId: uuid.NewString(), Backend: s.Backend,
		Variants: whole(want.variants), EveryOption: want.every, Repeat: whole(want.repeat), PickSeed: s.pickSeed,
		Build: &promptbuilderv1.BuildStoryRequest{SlackPercent: proto.Int32(whole(s.Slack)), State: s.state, Preset: s.Preset, Neutralize: s.Neutralize},
	}
	if s.Tokens != 0 {
		q.Sampling = &flowstorev1.Sampling{MaxTokens: whole(s.Tokens)}
	}
	if s.Note != "" {
		q.Story = &commonv1.Story{Note: proto.String(s.Note)}
	}
	return q
}

// whole is a number as requests have it; what is beyond their range is beyond every limit of the services too.
func whole(n int) int32 { return int32(min(max(n, math.MinInt32), math.MaxInt32)) }

// lastLine is the end of a text to go on from: at most 80 characters of its last line that is not empty, and the line
// feeds behind it, of which more than two look like two.
func lastLine(text string) string {
	const most = 80
	rest := strings.TrimRight(text, "\r\n")
	line := []rune(rest[strings.LastIndexByte(rest, '\n')+1:])
	return string(line[max(0, len(line)-most):]) + strings.Repeat("\n", min(2, strings.Count(text[len(rest):], "\n")))
}
