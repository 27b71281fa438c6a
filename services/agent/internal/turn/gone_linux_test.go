package turn

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/tsumugi-dev/tsumugi/services/agent/internal/audit"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/canon"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/gate"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/session"
)

var errGone = errors.New("there is no such thing in the configuration")

// approvedWithout is a call that was approved after its policy has left the configuration.
func approvedWithout(t *testing.T) (*rig, gate.Approval) {
	t.Helper()
	r := newRig(t)
	r.send("書いて", say("EXECUTION", "continue", "actions", []any{call("create", "path", "a.md", "content", "一")}))
	asked := r.pending()[0]
	r.missing = errGone
	r.restart()
	r.ok(r.decide(asked, session.Approve, ""))
	return r, asked
}

// TestWhatIsGoneParks: a call that was approved, whose work folder or policy has left the configuration, waits, and says for what; its approval stays, and
// it runs when the configuration has that again.
func TestWhatIsGoneParks(t *testing.T) {
	t.Parallel()
	r, asked := approvedWithout(t)
	for range 5 {
		s := r.drive()
		if got := r.approval(asked.ID); got.State != gate.Approved {
			t.Errorf("the approval is %s", got.State)
		}
		if s.State.Turn.Running != session.Parked || s.State.Status != session.RequiresInput || !strings.Contains(s.State.LastError, errGone.Error()) {
			t.Fatalf("%+v", s.State)
		}
		r.clock.now = s.Parked.Until
	}
	r.missing = nil
	r.restart()
	r.model.lines = []string{say("EXECUTION", "done", "reply", "書きました。")}
	if s := r.drive(); s.State.Status != session.Success || r.file("a.md") != "一" {
		t.Errorf("%+v, %q", s.State, r.file("a.md"))
	}
	r.sound()
}

// TestWhatIsGoneForLong: an approved call waits for what is gone no longer than it has time to start (C37), and the model is told so.
func TestWhatIsGoneForLong(t *testing.T) {
	t.Parallel()
	r, asked := approvedWithout(t)
	r.clock.now = r.drive().State.Calls[0].Until
	r.model.lines = []string{say("EXECUTION", "done", "reply", "だめでした。")}
	r.drive()
	if a := r.approval(asked.ID); a.State != gate.Voided || a.Void != session.VoidLapsed || r.file("a.md") != "" {
		t.Errorf("%+v, %q", a, r.file("a.md"))
	}
	r.sound()
}

// TestCancelEndsWithoutWhatIsGone: a call had begun when the process was killed, and its work folder or policy has left the configuration: a cancel ends
// it, as UNKNOWN where the folder is gone, and as what the staged file proves where that is still there. A turn that goes on asks a person.
func TestCancelEndsWithoutWhatIsGone(t *testing.T) {
	t.Parallel()
	for _, homeless := range []bool{false, true} {
		for _, canceled := range []bool{false, true} {
			t.Run(fmt.Sprintf("no folder %v, canceled %v", homeless, canceled), func(t *testing.T) {
				t.Parallel()
				r := newRig(t)
				r.send("書いて", say("EXECUTION", "continue", "actions", []any{call("create", "path", "a.md", "content", "一")}))
				r.ok(r.decide(r.pending()[0], session.Approve, ""))
				r.faulty = &faulty{at: 2} // INTENT, outcome
				r.restart()
				if _, err := r.Drive(t.Context(), ns, id); !errors.Is(err, errFault) {
					t.Fatalf("the process was not killed: %v", err)
				}
				r.faulty, r.homeless, r.missing = nil, homeless, errGone
				r.restart()
				s, err := r.Ledger.Get(t.Context(), ns, id)
				r.ok(err)
				if canceled {
					_, err := r.Cancel(t.Context(), ns, id, s.State.Turn.ID, ann)
					r.ok(err)
				}
				s = r.drive()
				if rows := r.kinds(); (rows[audit.UnknownOutcome] == 1) != homeless || (rows[audit.Execute] == 1) == homeless {
					t.Errorf("rows %v", rows)
				}
				for row, err := range r.Ledger.Rows(t.Context(), ns, id, 1) {
					if r.ok(err); row.Kind == audit.UnknownOutcome && !strings.Contains(row.Reason, errGone.Error()) {
						t.Errorf("the row does not say why: %q", row.Reason)
					}
				}
				switch waiting := r.pending(); {
				case canceled && (s.State.Lifecycle != session.Canceled || len(waiting) > 0):
					t.Errorf("%+v", s.State)
				case !canceled && homeless && (len(waiting) != 1 || waiting[0].Kind != canon.KindOutcome):
					t.Errorf("%+v, %v wait", s.State, waiting)
				case !canceled && !homeless && (s.State.Turn.Running != session.NoTurn || !strings.Contains(s.State.LastError, errGone.Error())):
					t.Errorf("%+v", s.State)
				}
				r.sound()
			})
		}
	}
}
