package turn

import (
	"testing"
	"time"

	"github.com/tsumugi-dev/tsumugi/services/agent/internal/gate"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/session"
)

// TestWhatAnApprovalShowedGoes after its time, whatever was decided; the record of it, the conversation and the session stay (S22).
func TestWhatAnApprovalShowedGoes(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.send("書いて", say("EXECUTION", "continue", "actions", creates(2)))
	wait := r.pending()
	r.ok(r.decide(wait[0], session.Approve, ""))
	r.ok(r.decide(wait[1], session.Deny, ""))
	r.model.lines = []string{say("EXECUTION", "done", "reply", "書きました。")}
	r.drive()
	start := wait[0].Since
	for _, c := range []struct {
		after time.Duration
		gone  bool
	}{{DefaultKeep, false}, {gate.MaxLife + DefaultKeep - time.Second, false}, {gate.MaxLife + DefaultKeep, true}} {
		r.clock.now = start.Add(c.after)
		pruned, err := r.Ledger.Prune(t.Context(), 0)
		r.ok(err)
		got, err := r.Approval(t.Context(), ns, wait[0].ID, approver("bob"))
		r.ok(err)
		if got.Gone != c.gone || (len(got.Pages) == 0) != c.gone || (pruned.Texts == 2) != c.gone || got.Approval.State != gate.Consumed {
			t.Errorf("after %s: %+v, %+v", c.after, got, pruned)
		}
	}
	r.send("続けて", say("EXECUTION", "done", "reply", "はい。"))
	if past := r.prompts.built[len(r.prompts.built)-1].Past; len(past) != 1 || past[0].Reply != "書きました。" {
		t.Errorf("%+v", past)
	}
	r.sound()
}
