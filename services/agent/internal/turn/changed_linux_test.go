package turn

import (
	"testing"

	"github.com/tsumugi-dev/tsumugi/services/agent/internal/audit"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/gate"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/session"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/tool"
)

// TestToolsChanged: what waits for a person and is about a tool that its server has changed is closed at once, and nobody can decide about it any
// more; what another server tells, or this one of other tools, closes nothing (S18).
func TestToolsChanged(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.send("書いて", say("EXECUTION", "continue", "actions", creates(2)))
	asked := r.pending()
	rt, err := r.Router(t.Context(), ns, r.now())
	r.ok(err)
	here, ok := rt.Tools.Find("create")
	if len(asked) != 2 || !ok {
		t.Fatalf("%+v", asked)
	}
	r.ok(r.ToolsChanged(t.Context(), ns, "", []*tool.Tool{here}))
	r.ok(r.ToolsChanged(t.Context(), ns, "another", nil))
	r.ok(r.ToolsChanged(t.Context(), "other", "", nil))
	if len(r.pending()) != 2 {
		t.Fatalf("closed although nothing has changed: %+v", r.pending())
	}
	r.ok(r.ToolsChanged(t.Context(), ns, "", nil))
	for _, a := range asked {
		got, err := r.Approval(t.Context(), ns, a.ID, approver("bob"))
		r.ok(err)
		if got.Approval.State != gate.Canceled {
			t.Errorf("%+v", got.Approval)
		}
		if _, err := r.Decide(t.Context(), ns, a.ID, gate.Request{Who: approver("bob"), Decision: session.Approve, Digest: a.Digest}); err == nil {
			t.Error("it was decided")
		}
	}
	s := r.now()
	if s.State.Step != session.Planning || s.State.Status != session.RequiresInput || s.State.Reason != session.VoidToolChanged || s.State.Turn.Running != session.NoTurn {
		t.Errorf("%+v", s.State)
	}
	r.send("続けて", say("PLANNING", "done"))
	if n := r.kinds(); n[audit.Intent] != 0 {
		t.Errorf("rows: %v", n)
	}
	r.sound()
}
