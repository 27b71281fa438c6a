package app_test

import (
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"

	agentv1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/agent/v1"
)

// TestBudgets: a session is made with budgets, none wider than the limits of the process; at one its turn stops and the event says which; what is spent is
// shown, and who raises a budget lets the session go on.
func TestBudgets(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	for field, b := range map[string]*agentv1.Budgets{
		"message_model_calls": {MessageModelCalls: 21}, "message_tool_calls": {MessageToolCalls: 65}, "message_seconds": {MessageSeconds: 86_401},
		"session_model_calls": {SessionModelCalls: -1}, "session_tool_calls": {SessionToolCalls: 1_000_001}, "session_bytes_written": {SessionBytesWritten: -1},
	} {
		_, err := d.agent.CreateSession(d.ann(), &agentv1.CreateSessionRequest{Session: &agentv1.Session{Budgets: b}})
		d.wrong(err, "session.budgets."+field, "must be from 0 to ")
	}
	want := &agentv1.Budgets{MessageModelCalls: 5, MessageToolCalls: 6, MessageSeconds: 600, SessionModelCalls: 1, SessionToolCalls: 8, SessionBytesWritten: 9 << 20}
	s := d.create(&agentv1.Session{Root: "work", Budgets: want})
	if !proto.Equal(s.Budgets, want) {
		t.Errorf("%v", s.Budgets)
	}
	d.send(s.Name, "直して") // one call of the model, which asks for a write
	a := d.waits()
	_, err := d.agent.DecideApproval(d.bob(), &agentv1.DecideApprovalRequest{Name: a.Name, Decision: agentv1.Decision_DECISION_APPROVE, Digest: a.Digest})
	d.ok(err)
	s = d.until(s.Name, func(s *agentv1.Session) bool { return s.StopReason != "" })
	const says = "session_model_calls: the budget of model calls is spent, 1 of 1"
	if s.StopReason != "BUDGET" || s.LastError != says || s.Spent.SessionModelCalls != 1 || s.Spent.MessageToolCalls != 1 || s.Spent.SessionToolCalls != 1 || s.Spent.SessionBytesWritten != 10 {
		t.Errorf("%v", s)
	}
	stream, err := d.agent.WatchSession(d.ann(), &agentv1.WatchSessionRequest{Name: s.Name, FromSeq: proto.Int64(0)})
	d.ok(err)
	for told := false; !told; {
		e, err := stream.Recv()
		d.ok(err)
		if told = e.GetTurnChange().GetReason() == "BUDGET"; told && e.GetTurnChange().Detail != says {
			t.Errorf("%v", e)
		}
	}
	_, err = first2(d.agent.SendMessage(d.ann(), &agentv1.SendMessageRequest{Session: s.Name, Text: "あとは", Mode: agentv1.MessageMode_MESSAGE_MODE_SIDE}))
	d.refused(err, codes.ResourceExhausted, "LIMIT_EXCEEDED")
	_, err = d.agent.UpdateSession(d.ann(), &agentv1.UpdateSessionRequest{Session: &agentv1.Session{Name: s.Name, Budgets: &agentv1.Budgets{MessageToolCalls: 65}}})
	d.wrong(err, "session.budgets.message_tool_calls", "must be from 0 to 64 (agent.sessions.tool_calls), is 65")
	_, err = d.agent.UpdateSession(d.ann(), &agentv1.UpdateSessionRequest{Session: &agentv1.Session{Name: s.Name, Budgets: &agentv1.Budgets{SessionModelCalls: 3}}})
	d.ok(err)
	d.send(s.Name, "続けて")
	if s = d.until(s.Name, func(*agentv1.Session) bool { return true }); s.Spent.SessionModelCalls != 2 || !s.PendingGate {
		t.Errorf("%v", s)
	}
	v, err := d.agent.VerifyAudit(d.ann(), &agentv1.VerifyAuditRequest{Session: s.Name, Replay: true})
	d.ok(err)
	if !v.Intact || !v.Replayed {
		t.Errorf("%v", v)
	}
}
