package turn

import (
	"testing"

	"github.com/tsumugi-dev/tsumugi/services/agent/internal/audit"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/gate"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/ledger"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/policy"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/session"
)

// TestAllowedCallsAreClosed: calls that policy has allowed and that have not begun are void when the work is stopped, each with its row, and nothing of
// them runs (field/review-agent.md C38).
func TestAllowedCallsAreClosed(t *testing.T) {
	t.Parallel()
	for reason, stop := range map[session.Reason]func(*rig, ledger.Session) error{
		session.VoidCanceled: func(r *rig, s ledger.Session) error {
			_, err := r.Cancel(t.Context(), ns, id, s.State.Turn.ID, ann)
			return err
		},
		session.VoidInterrupted: func(r *rig, s ledger.Session) error {
			m := r.message(approver("ann"), "やめて")
			m.Mode, m.TurnID = session.Interrupt, s.State.Turn.ID
			_, err := r.Send(t.Context(), ns, id, m)
			return err
		},
		session.VoidCrashLoop: func(r *rig, s ledger.Session) error {
			_, err := r.Ledger.Change(t.Context(), ns, id, system, func(w *ledger.Work) error {
				w.Session.State.PickUps = r.Machine.Limits.PickUps
				return r.carry(w, session.CrashLooped{}, gate.Change{})
			})
			return err
		},
	} {
		r := newRig(t)
		r.rules = []policy.Rule{{ID: "r", Effect: policy.EffectAllow, Tool: "create"}}
		r.model.lines = []string{say("EXECUTION", "continue", "actions", creates(2)), say("EXECUTION", "done")}
		_, err := r.Send(t.Context(), ns, id, r.message(approver("ann"), "書いて"))
		r.ok(err)
		s := r.next(2)
		if len(s.State.Calls) != 2 || s.State.Calls[0].Progress != session.Permitted {
			t.Fatalf("%+v", s.State)
		}
		r.ok(stop(r, s))
		r.drive()
		void := 0
		for row, err := range r.Ledger.Rows(t.Context(), ns, id, 1) {
			r.ok(err)
			if row.Kind == audit.Void && row.Verdict == string(reason) {
				void++
			}
		}
		if void != 2 || r.file("f00.md") != "" {
			t.Errorf("%s: %d rows", reason, void)
		}
		r.sound()
	}
}

// next does the next n things, and gives the session then.
func (r *rig) next(n int) ledger.Session {
	r.Helper()
	s, err := r.Ledger.Get(r.Context(), ns, id)
	for range n {
		r.ok(err)
		r.ok(r.do(r.Context(), ns, s, r.Machine.Next(s.State, r.clock.Now())))
		s, err = r.Ledger.Get(r.Context(), ns, id)
	}
	r.ok(err)
	return s
}

// TestAllowedBesideAsked: a message that takes the place of what is asked closes the allowed call beside it, too (field/review-agent.md C29).
func TestAllowedBesideAsked(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.ok(writeFile(r, "a.txt", "x"))
	r.rules = []policy.Rule{{ID: "r", Effect: policy.EffectAllow, Tool: "create"}}
	r.send("片付けて", say("EXECUTION", "continue", "actions", append(creates(1), call("delete", "path", "a.txt"))))
	m := r.message(approver("ann"), "やめて")
	m.Mode, m.Approvals = session.Supersede, []string{r.pending()[0].ID}
	r.model.lines = []string{say("PLANNING", "done")}
	_, err := r.Send(t.Context(), ns, id, m)
	r.ok(err)
	if s := r.drive(); s.State.Reason != session.ReasonDone || r.file("f00.md") != "" || r.file("a.txt") != "x" {
		t.Errorf("%+v", s.State)
	}
	r.sound()
}
