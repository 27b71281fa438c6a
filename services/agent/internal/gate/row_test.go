package gate

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/tsumugi-dev/tsumugi/services/agent/internal/audit"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/canon"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/session"
)

// A refused attempt is told with the name that was verified and both digests; one from another namespace is not told here (cases/agent.md c2,
// c4, c8).
func TestAgent08RefusedAttemptsAreTold(t *testing.T) {
	t.Parallel()
	m := one(t, write(t, "a1", "docs/a.md", "new\n"))
	keys, err := audit.NewKeys("k", map[string][]byte{"k": make([]byte, audit.MinKey)})
	must(t, err)
	bound, other := bob, bob
	bound.Session, other.Namespace = "s1", "other"
	wrong := yes(m.Approval, bob)
	wrong.Digest = canon.Hash(strings.Repeat("ん", 500) + "\xff")
	for name, tt := range map[string]struct {
		r     Request
		actor audit.Actor
		code  Code
	}{
		"no approver":    {yes(m.Approval, mallory), audit.Actor{Name: "mallory", Kind: audit.Person}, NotApprover},
		"the session":    {yes(m.Approval, bound), audit.Actor{Name: "sessions/s1", Kind: audit.Tool}, NotPerson},
		"nobody":         {yes(m.Approval, Who{Namespace: "default"}), audit.Actor{Name: gateName, Kind: audit.System}, NotPerson},
		"another digest": {wrong, audit.Actor{Name: "bob", Kind: audit.Person}, WrongDigest},
	} {
		row, ok := Decide(m.Approval, m.Content, tt.r, DefaultTerms()).Refused.Row(m.Approval, tt.r.Who, noon)
		if !ok || row.Actor != tt.actor || row.Verdict != string(tt.code) || row.Kind != audit.Refusal || row.CallHash != string(m.Approval.Subject.CallHash) {
			t.Errorf("%s: %+v", name, row)
		}
		if _, _, err := keys.Append(keys.Begin("default", "s1"), row); err != nil {
			t.Errorf("%s: %s", name, err)
		}
		var d details
		must(t, json.Unmarshal([]byte(row.Details), &d))
		if tt.code == WrongDigest && (d.Want != m.Approval.Digest || !strings.HasPrefix(d.Got, "んん") || len(d.Got) > 200) {
			t.Errorf("%s: %s", name, row.Details)
		}
	}
	r := yes(m.Approval, other)
	if row, ok := Decide(m.Approval, m.Content, r, DefaultTerms()).Refused.Row(m.Approval, r.Who, noon); ok {
		t.Errorf("another namespace: %+v", row)
	}
}

// The rows of a decision say who, what and why, whole, and hold no content (S22).
func TestRowsOfADecision(t *testing.T) {
	t.Parallel()
	m := one(t, write(t, "a1", "docs/a.md", "secret words\n"))
	asked := Rows([]Approval{m.Approval}, Change{At: noon, Seq: m.Approval.Seq, Actor: audit.Actor{Name: "model", Kind: audit.Model}})
	if len(asked) != 1 || asked[0].Kind != audit.Ask || asked[0].Actor.Name != "model" || asked[0].After == "" || asked[0].Before != string(canon.Sum([]byte("old\n"))) {
		t.Errorf("asked: %+v", asked)
	}
	expired := m.Approval
	expired.State, expired.StateSeq = Expired, 30
	if rows := Rows([]Approval{expired}, Change{At: noon, Seq: 30, Actor: audit.Actor{Name: "alice", Kind: audit.Person}}); len(rows) != 1 || rows[0].Actor.Name != gateName {
		t.Errorf("an expiry that somebody did: %+v", rows)
	}
	r := with(yes(m.Approval, bob), session.Deny)
	r.Reason = strings.Repeat("理", MaxReason)
	ruling := Decide(m.Approval, m.Content, r, DefaultTerms())
	_, all := apply(t, m.Approval, ruling)
	rows := Rows(all, ruling.Change)
	if len(rows) != 1 || rows[0].Kind != audit.Deny || rows[0].Actor != (audit.Actor{Name: "bob", Kind: audit.Person}) || rows[0].Time != r.Now {
		t.Fatalf("denied: %+v", rows)
	}
	var d details
	must(t, json.Unmarshal([]byte(rows[0].Details), &d))
	if d.Reason != r.Reason || !strings.HasPrefix(r.Reason, rows[0].Reason) || len(rows[0].Reason) > audit.MaxText || d.Token != "t2" || d.Approval != "a1" {
		t.Errorf("the reason: %d bytes, %+v", len(rows[0].Reason), d.Approval)
	}
	if data, err := json.Marshal(append(asked, rows...)); err != nil || strings.Contains(string(data), "secret words") {
		t.Errorf("the record has content: %s", data)
	}
}
