package e2e

import (
	"slices"
	"testing"

	agentv1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/agent/v1"
)

// smallModel: a real llama.cpp server holds a small model to the agent's own schema, in a conversation with a call and its result. Whatever it makes of that, each answer
// that it ended by itself is an envelope and is taken as one, only those that were cut are asked for again, the turn ends with a reason, and what it asks
// for can be decided.
func smallModel(t *testing.T, m mode) {
	m.model = "smollm2" // told English, it ends most of its answers
	o := newOffice(t, m, "", "")
	o.loud.freely = true
	o.settings.answerTokens, o.settings.modelCalls = 640, 4
	o.start(t)
	s := o.approvers(t)[1]
	made, err := s.CreateSession(o.ctx, &agentv1.CreateSessionRequest{Session: &agentv1.Session{Root: "work", Goal: "Write a line", Locale: "en"}})
	if err != nil {
		t.Fatal(err)
	}
	name := made.GetName()
	o.think(say("EXECUTION", "continue", "actions", acts("write", args{"path": "a.md", "content": "fog"})))
	o.send(t, s, &agentv1.SendMessageRequest{Session: name, Text: "Write a.md."})
	o.decide(t, s, o.waiting(t, s, name)[0], agentv1.Decision_DECISION_APPROVE, "")
	for range 4 {
		now := o.until(t, s, name, "the turn ends or waits", func(now *agentv1.Session) bool { return rests(now) || waits(now) })
		if rests(now) {
			break
		}
		for _, a := range o.waiting(t, s, name) {
			o.decide(t, s, a, agentv1.Decision_DECISION_DENY, "not now")
		}
	}
	end := o.until(t, s, name, "the turn ends", rests)
	if end.GetStopReason() == "" || end.GetStopReason() == "MODEL_UNREACHABLE" || end.GetStatus() == agentv1.SessionStatus_SESSION_STATUS_ERROR || o.file(t, "a.md") != "fog" {
		t.Errorf("%v", end)
	}
	o.taken(t, s, name)
	o.sound(t, s, name)
}

// taken: what a free model ended by itself is an envelope, and no such answer was refused as none.
func (o *office) taken(t *testing.T, s surface, name string) {
	t.Helper()
	free := slices.DeleteFunc(o.loud.uttered(), func(u uttered) bool { return u.thought != "" })
	cut := 0
	for _, u := range free {
		if u.end.reason == "length" {
			cut++
		} else if err := admits(u.schema, u.text); err != nil {
			t.Errorf("the model was held to %s and said %q: %v", u.schema, u.text, err)
		}
	}
	rows, err := s.ListAuditRecords(o.ctx, &agentv1.ListAuditRecordsRequest{Session: name, PageSize: 1000})
	if err != nil {
		t.Fatal(err)
	}
	refused := 0
	for _, r := range rows.GetRecords() {
		if r.GetKind() == "refusal" && r.GetReason() == "INVALID_ANSWER" {
			refused++
		}
	}
	if t.Logf("of %d free answers %d were cut", len(free), cut); cut == len(free) || refused != cut {
		t.Errorf("of %d free answers %d were cut, and %d were refused", len(free), cut, refused)
	}
}
