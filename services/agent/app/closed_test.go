package app_test

import (
	"testing"

	agentv1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/agent/v1"
)

// TestTextsOfClosedMessages: what a cancel closes comes back whole to whoever watches (C44).
func TestTextsOfClosedMessages(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	name := d.create(&agentv1.Session{Goal: "港", Root: "work"}).Name
	d.send(name, "直して")
	s := d.until(name, func(s *agentv1.Session) bool { return s.PendingGate })
	texts := []string{"それから\n空も。", "<b>海</b>も。"}
	for _, text := range texts {
		stream, err := d.agent.SendMessage(d.ann(), &agentv1.SendMessageRequest{Session: name, Text: text})
		d.ok(err)
		first, err := stream.Recv()
		d.ok(err)
		if first.GetAccepted().GetPosition() == 0 {
			t.Fatalf("%v does not wait", first)
		}
	}
	_, err := d.agent.CancelTurn(d.ann(), &agentv1.CancelTurnRequest{Session: name, Turn: s.Turn.GetId()})
	d.ok(err)
	d.until(name, func(s *agentv1.Session) bool { return s.Lifecycle == agentv1.Lifecycle_LIFECYCLE_CANCELED })
	closed := func(events []*agentv1.SessionEvent) (all []string) {
		for _, e := range events {
			if c := e.GetTurnChange(); c.GetReason() == "CLOSED" {
				all = append(all, c.Text)
			} else if c.GetText() != "" {
				t.Errorf("what is not closed has a text: %v", c)
			}
		}
		return all
	}
	if got := closed(d.all(d.agent.WatchSession(d.ann(), &agentv1.WatchSessionRequest{Name: name, FromSeq: &s.Seq}))); len(got) != 2 || got[0] != texts[0] || got[1] != texts[1] {
		t.Errorf("%q", got)
	}
}
