package write

import (
	"context"
	"errors"
	"io"
	"strings"

	"github.com/google/uuid"
	"google.golang.org/protobuf/proto"

	agentv1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/agent/v1"
	commonv1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/common/v1"
	flowstorev1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/flowstore/v1"
	promptbuilderv1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/promptbuilder/v1"
	"github.com/tsumugi-dev/tsumugi/services/internal/apierr"
)

// round is what came of one request.
type round struct {
	shape   shape
	answers []*answer
	// err is why not all of it is whole.
	err error
}

// answer is one answer as far as it has come.
type answer struct {
	generation, branch string
	text               string
	// node holds the text; empty where nothing was stored. whole: the answer has its end.
	node         string
	whole, ended bool
}

// usual is the answer that is kept without a question: the last one of a chain, else the first that is whole. nil where
// there is none.
func (r *round) usual() (kept *answer) {
	for _, a := range r.answers {
		if a.whole && (kept == nil || r.shape.repeat > 0) {
			kept = a
		}
	}
	return kept
}

// round asks for answers and shows them as they come.
func (s *session) round(ctx context.Context, want shape) (*round, error) {
	ctx, leave := context.WithCancel(ctx)
	defer leave()
	stream, err := s.agents.GenerateNode(ctx, s.request(want))
	if err != nil {
		return nil, err
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
	r, screen := &round{shape: want}, &screen{session: s}
	for {
		select {
		case <-s.Interrupts:
			if !s.interrupt(ctx, r) {
				leave() // nothing is opened that could be named
				s.say("%v", errStopped)
				return &round{shape: want, err: errStopped}, nil
			}
		case got := <-events:
			if got.err != nil {
				return r, s.end(r, screen, got.err)
			}
			screen.take(r, got.event)
		}
	}
}

// errStopped is for an answer that the writer did not wait for.
var errStopped = errors.New("止めました stopped, before the model said anything")

// end takes the end of a stream. An error before anything was opened ends the session; later, the writer decides.
func (s *session) end(r *round, screen *screen, err error) error {
	screen.finish(r)
	if errors.Is(err, io.EOF) {
		return nil
	}
	if len(r.answers) == 0 && (s.Yes || !again(err)) {
		return err
	}
	r.err = err
	if e, ok := apierr.FromStatus(err); ok && len(r.answers) == 1 && r.answers[0].node == "" {
		r.answers[0].node = e.Metadata["node"]
	}
	if !s.Yes {
		s.say("%v", s.plain(err))
	}
	return nil
}

// again says that the same request may go better in a moment.
func again(err error) bool {
	e, ok := apierr.FromStatus(err)
	return ok && e.RetryAfter > 0
}

// interrupt ends the answers that are being made; what has come of them is kept. False where none is opened.
func (s *session) interrupt(ctx context.Context, r *round) bool {
	for _, a := range r.answers {
		if a.ended {
			continue
		}
		if _, err := s.agents.CancelGeneration(ctx, &agentv1.CancelGenerationRequest{Name: a.generation}); err != nil {
			s.say("%v", s.plain(err))
		}
	}
	return len(r.answers) > 0
}

// request asks for answers behind the place where the writer is.
func (s *session) request(want shape) *agentv1.GenerateNodeRequest {
	q := &agentv1.GenerateNodeRequest{
		Flow: s.flow, Parent: s.at, RequestId: uuid.NewString(), Backend: s.Backend,
		Variants: int32(want.variants), EveryOption: want.every, Repeat: int32(want.repeat),
		Build: &promptbuilderv1.BuildStoryRequest{SlackPercent: proto.Int32(int32(s.Slack)), State: s.state, Preset: s.Preset},
	}
	if s.Tokens > 0 {
		q.Sampling = &flowstorev1.Sampling{MaxTokens: int32(s.Tokens)}
	}
	if s.Note != "" {
		q.Story = &commonv1.Story{Note: proto.String(s.Note)}
	}
	return q
}

// lastLine is the end of a text to go on from: at most 80 characters of its last line that is not empty.
func lastLine(text string) string {
	const most = 80
	text = strings.TrimRight(text, "\n")
	line := []rune(text[strings.LastIndexByte(text, '\n')+1:])
	return string(line[max(0, len(line)-most):])
}
