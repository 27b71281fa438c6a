package turn

import (
	"errors"
	"fmt"
	"testing"

	"github.com/tsumugi-dev/tsumugi/services/agent/internal/audit"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/gate"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/session"
)

// TestAProcessThatDiesAtEachWrite: the process ends at each write of a whole task in turn, before it is on the disk or just after. Another
// one goes on, and the task ends as it would have: the file is made once, and the record verifies and makes the session.
func TestAProcessThatDiesAtEachWrite(t *testing.T) {
	t.Parallel()
	for _, after := range []bool{false, true} {
		died := true
		for at := 1; died; at++ {
			died = dying(t, at, after)
			if at > 60 {
				t.Fatal("the task never ends")
			}
			if !died && at < 12 { // a turn, a change, two decisions, two calls, three answers
				t.Errorf("only %d writes", at-1)
			}
		}
	}
}

// dying does a task whose n-th write behind the message fails, and says whether it came so far.
func dying(t *testing.T, at int, after bool) (died bool) {
	name := fmt.Sprintf("write %d, after %v", at, after)
	r := newRig(t)
	r.model.script = []string{
		say("EXECUTION", "continue", "actions", []any{call("create", "path", "a.md", "content", "零"), call("create", "path", "b.md", "content", "二")}),
		say("REVIEW", "continue"), say("REVIEW", "done", "reply", "書きました。"),
	}
	r.send0("書いて")
	r.faulty = &faulty{at: at, after: after}
	r.restart()
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
	return died
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
