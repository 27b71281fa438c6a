package turn

import (
	"testing"
	"time"

	"github.com/tsumugi-dev/tsumugi/services/agent/internal/audit"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/gate"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/policy"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/session"
)

func (r *rig) extend(a gate.Approval, who gate.Who, until time.Time) error {
	_, err := r.Extend(r.Context(), ns, a.ID, gate.Extension{Who: who, Until: until})
	return err
}

// warnings are how often watchers were told that an approval will expire.
func (r *rig) warnings() (n int) {
	for row, err := range r.Ledger.Rows(r.Context(), ns, id, 1) {
		r.ok(err)
		if row.Kind == audit.Expiry && row.Verdict == "EXPIRES_SOON" {
			n++
		}
	}
	return n
}

// TestExtend: an approver gives more time, up to a day in all; what is over is closed and gets none (C74).
func TestExtend(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	start := r.clock.now
	r.send("書いて", say("EXECUTION", "continue", "actions", creates(1)))
	a := r.pending()[0]
	for who, code := range map[*gate.Who]gate.Code{
		{Name: "ann", Namespace: ns, Roles: []string{policy.RoleUser}}: gate.NotApprover, {Name: "x", Namespace: "other", Roles: []string{policy.RoleApprover}}: gate.NotFound,
		{Session: id, Namespace: ns, Roles: []string{policy.RoleApprover}}: gate.NotPerson,
	} {
		if got := refusal(r.extend(a, *who, start.Add(time.Hour))); got != code {
			t.Errorf("%+v: %q", who, got)
		}
	}
	for _, until := range []time.Time{a.Expires, start.Add(gate.MaxLife + time.Second)} {
		if got := refusal(r.extend(a, approver("bob"), until)); got != gate.TooLong {
			t.Errorf("until %s: %q", until, got)
		}
	}
	r.ok(r.extend(a, approver("bob"), start.Add(time.Hour)))
	r.clock.now = a.Expires.Add(time.Minute)
	if r.drive(); r.approval(a.ID).State != gate.Pending || !r.approval(a.ID).Expires.Equal(start.Add(time.Hour)) {
		t.Errorf("%+v", r.approval(a.ID))
	}
	r.clock.now = start.Add(time.Hour)
	if got := refusal(r.extend(a, approver("bob"), start.Add(2*time.Hour))); got != gate.Over || r.approval(a.ID).State != gate.Expired {
		t.Errorf("%q, %+v", got, r.approval(a.ID))
	}
	if s := r.drive(); s.State.Reason != session.ReasonExpired || r.kinds()[audit.Extend] != 1 {
		t.Errorf("%+v, %v", s.State, r.kinds())
	}
	r.sound()
}

// TestExpiryIsAnnounced once for each time that an approval is given, of a plan as of calls, and the session is looked at then.
func TestExpiryIsAnnounced(t *testing.T) {
	t.Parallel()
	plan := map[string]any{"name": "案", "aim": "書く", "steps": []string{"書く"}, "risk": "低", "criterion": "一頁"}
	for name, answer := range map[string]string{"calls": say("EXECUTION", "continue", "actions", creates(2)), "a plan": say("AWAITING_APPROVAL", "pending_user", "plan", plan)} {
		r := newRig(t)
		r.send("書いて", answer)
		wait := r.pending()
		look := func() time.Time {
			until, err := r.Drive(t.Context(), ns, id)
			r.ok(err)
			due, next, err := r.store.Due(t.Context(), "x", r.clock.now, 1)
			r.ok(err)
			if len(due) != 0 || !next.Equal(until) {
				t.Errorf("%s: it waits until %s, and is looked at %s, %v", name, until, next, due)
			}
			return until
		}
		if until := look(); !until.Equal(wait[0].Warn()) || r.warnings() != 0 {
			t.Errorf("%s: until %s", name, until)
		}
		r.clock.now = wait[0].Warn()
		if until := look(); !until.Equal(wait[0].Expires) || r.warnings() != len(wait) {
			t.Errorf("%s: until %s, %d warnings", name, until, r.warnings())
		}
		later := wait[0].Expires.Add(time.Hour)
		r.ok(r.extend(wait[0], approver("bob"), later))
		for _, a := range wait[1:] {
			r.ok(r.decide(a, session.Deny, ""))
		}
		extended := r.approval(wait[0].ID)
		if until := look(); !until.Equal(extended.Warn()) {
			t.Errorf("%s: until %s, not %s", name, until, extended.Warn())
		}
		r.clock.now = extended.Warn()
		if until := look(); !until.Equal(later) || r.warnings() != len(wait)+1 {
			t.Errorf("%s: until %s, %d warnings", name, until, r.warnings())
		}
		r.sound()
	}
}
