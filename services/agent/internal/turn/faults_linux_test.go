package turn

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/tsumugi-dev/tsumugi/services/agent/internal/audit"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/gate"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/policy"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/session"
)

// TestAProcessThatDiesAtEachWrite: the process ends at each write of a whole task in turn, before it is on the disk or just after. Another
// one goes on, and the task ends as it would have: the file is made once, and the record verifies and makes the session. So it is where
// the message waits in a queue, where it is stored with its first answer, and where it is stored before that.
func TestAProcessThatDiesAtEachWrite(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		direct   bool
		together time.Duration
		// writes are all there are behind a message that was stored before, or with it; the first ones are tried.
		writes, first int
	}{{false, 0, 12, 12}, {true, time.Minute, 11, 3}, {true, time.Nanosecond, 12, 3}} {
		for _, after := range []bool{false, true} {
			for at := 1; at <= c.first; at++ {
				if died, _ := dying(t, at, after, c.direct, c.together); !died {
					t.Errorf("%+v: write %d never comes", c, at)
				}
			}
		}
		if died, writes := dying(t, 1000, false, c.direct, c.together); died || writes != c.writes {
			t.Errorf("%+v: %d writes", c, writes)
		}
	}
}

// dying does a task whose n-th write behind the message, or with it, fails, and says whether it came so far, and how many there were.
func dying(t *testing.T, at int, after, direct bool, together time.Duration) (died bool, writes int) {
	name := fmt.Sprintf("write %d, after %v, direct %v, together %s", at, after, direct, together)
	r := newRig(t)
	r.together = together
	r.model.script = []string{
		say("EXECUTION", "continue", "actions", []any{call("create", "path", "a.md", "content", "零"), call("create", "path", "b.md", "content", "二")}),
		say("REVIEW", "continue"), say("REVIEW", "done", "reply", "書きました。"),
	}
	if !direct {
		r.send0("書いて")
	}
	r.faulty = &faulty{at: at, after: after}
	r.restart()
	if direct {
		died = r.insist("書いて")
	}
	for {
		_, err := r.Drive(t.Context(), ns, id)
		if errors.Is(err, errFault) {
			died = true
			r.restart()
			continue
		}
		r.ok(err)
		wait := r.pending()
		if len(wait) == 0 {
			break
		}
		if err := r.decideOrChange(wait[0]); errors.Is(err, errFault) {
			died = true
			r.restart()
		} else if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
	}
	s, err := r.Ledger.Get(t.Context(), ns, id)
	r.ok(err)
	if s.State.Lifecycle != session.Completed || r.file("a.md") != "一" || r.file("b.md") != "二" {
		t.Errorf("%s: %+v, %q, %q", name, s.State, r.file("a.md"), r.file("b.md"))
	}
	if left := r.outbox(); s.Nodes != 1 || len(left) != 1 || left[0].User != "書いて" || left[0].Reply != "書きました。" {
		t.Errorf("%s: %d nodes, to be stored %+v", name, s.Nodes, left)
	}
	count := map[audit.Kind]int{}
	for row, err := range r.Ledger.Rows(t.Context(), ns, id, 1) {
		r.ok(err)
		count[row.Kind]++
	}
	if count[audit.Ask] != 3 || count[audit.Edit] != 1 || count[audit.Approve] != 2 || count[audit.Execute] != 2 || count[audit.Intent] > 3 {
		t.Errorf("%s: %v", name, count)
	}
	for _, a := range r.pending() {
		if a.State == gate.Approved {
			t.Errorf("%s: %+v is left", name, a)
		}
	}
	r.sound()
	r.ok(r.store.Close())
	return died, r.faulty.n
}

// insist sends a message until it is stored, as a caller does who names its request, and says whether the process died by that.
func (r *rig) insist(text string) (died bool) {
	m := r.message(gate.Who{Name: "ann", Namespace: ns, Roles: []string{policy.RoleUser}}, text)
	m.ID = "m1"
	for {
		told := 0
		var refused error
		stored := make(chan struct{})
		if r.together < time.Second { // The message is stored before its answer, however quick that is.
			r.model.until = stored
		}
		_, err := r.Converse(r.Context(), r.Context(), ns, id, m, func(_ Receipt, err error) {
			told, refused = told+1, err
			close(stored)
		})
		if told != 1 {
			r.Fatalf("told %d times", told)
		}
		if err == nil && refused == nil {
			return died
		}
		if err = errors.Join(err, refused); !errors.Is(err, errFault) {
			r.Fatal(err)
		}
		died = true
		r.restart()
	}
}

// decideOrChange changes the first file, once, and approves what else is asked.
func (r *rig) decideOrChange(a gate.Approval) error {
	if a.Subject.Targets[0].Path == "a.md" && len(a.Editors) == 0 {
		_, err := r.change(a, "bob", "path", "a.md", "content", "一")
		return err
	}
	return r.decide(a, session.Approve, "")
}

func (r *rig) restart() {
	r.ok(r.store.Close())
	r.start()
}

// send0 sends a message and does nothing about it.
func (r *rig) send0(text string) {
	_, err := r.Send(r.Context(), ns, id, r.message(approver("ann"), text))
	r.ok(err)
}
