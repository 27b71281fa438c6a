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

// Traces of three callers.
const (
	sent      = "0af7651916cd43dd8448eb211c80319c"
	decided   = "4bf92f3577b34da6a3ce929d0e0e4736"
	submitted = "5bd9a2b0c1d24e7f8a6b3c4d5e6f7a8b"
)

// in is the context of a call that is a part of a trace.
func in(ctx context.Context, trace string) context.Context {
	return metadata.AppendToOutgoingContext(ctx, "traceparent", "00-"+trace+"-b7ad6b7169203331-01")
}

// traced: prompts were asked for since it was called last, and in no other trace.
func (d *desk) traced(trace string) {
	d.Helper()
	d.prompts.mu.Lock()
	defer d.prompts.mu.Unlock()
	if len(d.prompts.traces) == 0 {
		d.Errorf("no prompt was asked for in the trace %s", trace)
	}
	for _, got := range d.prompts.traces {
		if !strings.HasPrefix(got, "00-"+trace+"-") {
			d.Errorf("a prompt was asked for in the trace %q, and not in %s", got, trace)
		}
	}
	d.prompts.traces = nil
}

// TestTheTraceOfAMessage goes through the work of its turn, also where whoever sent it has gone, and into that of no other session.
func TestTheTraceOfAMessage(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	for _, trace := range []string{sent, decided} {
		name := d.create(&agentv1.Session{Goal: "港", Root: "work"}).Name
		ctx, leave := context.WithCancel(in(d.ann(), trace))
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
		d.traced(trace)
	}
}

// TestTheTraceOfWhatGoesOn: the work that a decision or a result of a client's tool has go on is in the trace of that call, and what comes after in
// that of the next one.
func TestTheTraceOfWhatGoesOn(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	approve := func() {
		a := d.waits()
		_, err := d.agent.DecideApproval(in(d.bob(), decided), &agentv1.DecideApprovalRequest{Name: a.Name, Digest: a.Digest, Decision: agentv1.Decision_DECISION_APPROVE})
		d.ok(err)
	}
	done := func(s *agentv1.Session) bool { return s.Lifecycle == agentv1.Lifecycle_LIFECYCLE_DONE }
	sky := &agentv1.ClientTool{Name: "sky", Description: "says what the sky is like", InputSchema: `{"type":"object"}`}
	name := d.create(&agentv1.Session{Goal: "港", Root: "work", ClientTools: []*agentv1.ClientTool{sky}}).Name
	d.all(d.agent.SendMessage(in(d.ann(), sent), &agentv1.SendMessageRequest{Session: name, Text: "直して"}))
	d.traced(sent)
	approve()
	d.until(name, done)
	d.traced(decided)

	name = d.create(&agentv1.Session{Goal: "海", Root: "work", ClientTools: []*agentv1.ClientTool{sky}}).Name
	d.all(d.agent.SendMessage(in(d.ann(), sent), &agentv1.SendMessageRequest{Session: name, Text: "空は？"}))
	d.traced(sent)
	approve()
	open := d.until(name, func(s *agentv1.Session) bool { return len(s.OpenToolCalls) == 1 }).OpenToolCalls[0]
	_, err := d.agent.SubmitToolResult(in(d.ann(), submitted), &agentv1.SubmitToolResultRequest{Session: name, Call: open.Call, Output: "晴れ"})
	d.ok(err)
	d.until(name, done)
	d.traced(submitted)
}
