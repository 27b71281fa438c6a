package turn

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/tsumugi-dev/tsumugi/services/agent/internal/audit"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/gate"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/ledger"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/policy"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/router"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/session"
)

// TestRequester: what a turn asks for is asked for by whoever wrote its message, though another person made the session; also by a message that
// waited, and an event is nobody's, for which the owner of the session answers (S7, S10). It does not open again what was denied (S28).
func TestRequester(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.Terms.RequesterMayApprove = false
	ask := func(calls int) {
		r.model.lines = append(r.model.lines, say("EXECUTION", "continue", "actions", creates(2)[:calls]))
		r.drive()
	}
	next := func(denied gate.Approval, calls int) {
		r.ok(r.deniedBy(denied, "cho"))
		r.model.lines = append(r.model.lines, say("PLANNING", "done"))
		ask(calls)
	}
	for _, m := range []Message{r.message(approver("bob"), "書いて"), r.message(approver("ann"), "また"), r.message(approver("eve"), "雨")} {
		m.Event = m.Text == "雨"
		_, err := r.Send(t.Context(), ns, id, m)
		r.ok(err)
	}
	ask(1)
	for i, want := range []string{"bob", "ann", "ann"} {
		all := r.pending()
		if len(all) != 1 || all[0].Requester != want || all[0].Owner != "ann" {
			t.Fatalf("message %d: %+v", i, all)
		}
		_, err := r.Decide(t.Context(), ns, all[0].ID, gate.Request{Who: approver(want), Decision: session.Approve, Digest: all[0].Digest})
		if refusal(err) != gate.OwnRequest {
			t.Errorf("%s approves what they asked for: %v", want, err)
		}
		if i < 2 {
			next(all[0], 1+i) // the event brings the denied call again, too
		}
	}
	if s, err := r.Ledger.Get(t.Context(), ns, id); err != nil || len(s.Talk.Denied) != 1 || len(s.Talk.Senders) != 0 {
		t.Errorf("%+v, %v", s.Talk.Senders, err)
	}
	r.sound()
}

// TestALateDenial denies the call as one in time does: it is not asked for again before the next message of a person (S28, C35).
func TestALateDenial(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.send("書いて", say("EXECUTION", "continue", "actions", creates(1)))
	late := r.pending()[0]
	r.clock.now = late.Expires
	r.drive()
	r.ok(r.deniedBy(late, "cho"))
	if s, err := r.Ledger.Get(t.Context(), ns, id); err != nil || !slices.Equal(s.Thread.Decisions, []string{"DENY: create f00.md"}) {
		t.Errorf("the log says %q, %v", s.Thread.Decisions, err)
	}
	m := r.message(approver("eve"), "雨")
	m.Event = true
	_, err := r.Send(t.Context(), ns, id, m)
	r.ok(err)
	r.model.lines = []string{say("EXECUTION", "continue", "actions", creates(1)), say("PLANNING", "done")}
	if r.drive(); len(r.pending()) > 0 || !strings.Contains(r.told(1)[0], "a person has denied this very call") {
		t.Errorf("%+v, the model is told %q", r.pending(), r.told(1))
	}
	if s := r.send("やはり書いて", say("EXECUTION", "continue", "actions", creates(1))); s.State.Step != session.Awaiting {
		t.Errorf("%+v", s.State)
	}
	r.sound()
}

// deniedBy denies in somebody's name.
func (r *rig) deniedBy(a gate.Approval, name string) error {
	_, err := r.Decide(r.Context(), ns, a.ID, gate.Request{Who: approver(name), Decision: session.Deny, Digest: a.Digest})
	return err
}

// stricter denies every call from the second router on that is asked for.
type stricter struct {
	*rig
	asked int
}

func (l *stricter) Router(ctx context.Context, ns string, s ledger.Session) (router.Router, error) {
	if l.asked++; l.asked > 1 {
		l.rules = []policy.Rule{{ID: "no", Effect: policy.EffectDeny, Tool: "create"}}
	}
	return l.rig.Router(ctx, ns, s)
}

// TestDeniedMeanwhile: a rule that denies what was approved holds from when it is stored, also while the call waits for its folder (C48).
func TestDeniedMeanwhile(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.send("書いて", say("EXECUTION", "continue", "actions", creates(1)))
	r.ok(r.decide(r.pending()[0], session.Approve, ""))
	r.Tools = &stricter{rig: r}
	r.model.lines = []string{say("PLANNING", "done")}
	if r.drive(); r.file("f00.md") != "" {
		t.Error("what is denied was written")
	}
	r.sound()

	r = newRig(t)
	shown, err := r.call(approver("bob"), true, "", "create", makeA)
	r.ok(err)
	r.Tools = &stricter{rig: r}
	if got, err := r.call(approver("bob"), false, string(shown.Digest), "create", makeA); err != nil || got.State != router.Voided || r.file("a.md") != "" {
		t.Errorf("%+v, %v", got.State, err)
	}
	r.sound()
	r = newRig(t) // what a rule allowed
	r.rules = []policy.Rule{{ID: "all", Effect: policy.EffectAllow, Tool: "create"}}
	r.Tools = &stricter{rig: r}
	r.send("書いて", say("EXECUTION", "continue", "actions", creates(1)), say("PLANNING", "done"))
	voids := 0
	for row, err := range r.Ledger.Rows(t.Context(), ns, id, 1) {
		r.ok(err)
		if row.Kind == audit.Void {
			if voids++; row.Verdict != string(session.VoidPolicy) {
				t.Errorf("%+v", row)
			}
		}
	}
	if voids != 1 || r.file("f00.md") != "" {
		t.Errorf("%d calls were voided", voids)
	}
	r.sound()
}
