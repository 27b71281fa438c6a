package app_test

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"

	"google.golang.org/grpc/metadata"

	agentv1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/agent/v1"
)

// TestTheTraceOfAMessage goes through the work of its turn, also where whoever sent it has gone, and into that of no other session.
func TestTheTraceOfAMessage(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	for _, trace := range []string{"0af7651916cd43dd8448eb211c80319c", "4bf92f3577b34da6a3ce929d0e0e4736"} {
		name := d.create(&agentv1.Session{Goal: "港", Root: "work"}).Name
		d.prompts.mu.Lock()
		d.prompts.traces = nil
		d.prompts.mu.Unlock()
		ctx, leave := context.WithCancel(metadata.AppendToOutgoingContext(d.ann(), "traceparent", "00-"+trace+"-b7ad6b7169203331-01"))
		stream, err := d.agent.SendMessage(ctx, &agentv1.SendMessageRequest{Session: name, Text: "直して"})
		d.ok(err)
		_, err = stream.Recv()
		d.ok(err)
		leave()
		for err == nil {
			_, err = stream.Recv()
		}
		if errors.Is(err, io.EOF) {
			t.Log("the turn was over before its sender left")
		}
		d.until(name, func(s *agentv1.Session) bool { return s.PendingGate })
		d.prompts.mu.Lock()
		if len(d.prompts.traces) == 0 {
			t.Error("no prompt was asked for")
		}
		for _, got := range d.prompts.traces {
			if !strings.HasPrefix(got, "00-"+trace+"-") {
				t.Errorf("a prompt was asked for in the trace %q, the message sent in %s", got, trace)
			}
		}
		d.prompts.mu.Unlock()
	}
}
