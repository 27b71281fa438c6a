package wire

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/tsumugi-dev/tsumugi/services/internal/llm"
)

// A server that was told to stop ends its stream in good form: for a caller that left, that is no whole answer.
func TestTheEndAfterLeaving(t *testing.T) {
	t.Parallel()
	s := NewServer(Config{Endpoint: Endpoint{Name: "b", Address: "http://h", Timeouts: llm.DefaultTimeouts()}})
	if err := s.take(t.Context(), s.answering); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	stream := &stream{
		server: s, answer: &plain{}, ctx: ctx, cancel: cancel, most: 100, left: s.Timeouts.Idle,
		body: io.NopCloser(nil), events: NewEvents(strings.NewReader("data: end\n\n"), 100),
	}
	cancel(nil)
	text, err := stream.Recv()
	var e *llm.Error
	if text != "" || !errors.As(err, &e) || e.Fault != llm.FaultCancelled || !errors.Is(err, context.Canceled) {
		t.Errorf("the answer is %q, %v", text, err)
	}
	if s.answering.busy != 0 {
		t.Error("it still has its place")
	}
}
