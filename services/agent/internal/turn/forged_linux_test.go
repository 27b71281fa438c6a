package turn

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/tsumugi-dev/tsumugi/services/agent/internal/audit"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/ledger"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/policy"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/session"
)

// TestAForgedConsent: whoever can write to the store and has no key has nothing done: not by a session that says that a call is approved, nor by an approval
// that says so, nor by both (field/review-agent.md 2b, fatal).
func TestAForgedConsent(t *testing.T) {
	t.Parallel()
	approves := func(table, member string) string {
		from, to := `"`+member+`":"PENDING"`, `"`+member+`":"APPROVED"`
		return "UPDATE " + table + " SET body = CAST(replace(CAST(body AS TEXT), '" + from + "', '" + to + "') AS BLOB)"
	}
	works := strings.NewReplacer("FROM", `"status":"REQUIRES_USER_INPUT"`, "TO", `"status":"IN_PROGRESS"`).
		Replace("UPDATE sessions SET wake = 1, waits = 0, body = CAST(replace(replace(CAST(body AS TEXT), 'FROM', 'TO'), '\"running\":\"wait\"', '\"running\":\"run\"') AS BLOB)")
	ofSession, ofApproval := approves("sessions", "progress")+";"+works, approves("approvals", "state")
	for name, sql := range map[string]string{
		"the session":  ofSession,
		"the approval": ofApproval,
		"both":         ofSession + ";" + ofApproval,
	} {
		for where, again := range map[string]bool{"running": false, "restarted": true} {
			t.Run(name+", "+where, func(t *testing.T) {
				t.Parallel()
				r := newRig(t)
				r.send("書いて", say("EXECUTION", "continue", "actions", []any{call("create", "path", "a.md", "content", "x")}))
				a := r.pending()[0]
				if again {
					r.ok(r.store.Close())
				}
				r.alter(sql)
				if again {
					r.start()
				}
				calls := len(r.model.asked)
				_, err := r.Drive(t.Context(), ns, id)
				var broken *ledger.BrokenError
				if name != "the approval" && !errors.As(err, &broken) {
					t.Errorf("it is carried on: %v", err)
				}
				if err := r.decide(a, session.Approve, ""); !errors.As(err, &broken) {
					t.Errorf("it is decided: %v", err)
				}
				if got := r.file("a.md"); got != "" || len(r.model.asked) != calls {
					t.Errorf("the file has %q, and the model was asked %d times", got, len(r.model.asked)-calls)
				}
				if n := r.kinds()[audit.Intent]; n != 0 {
					t.Errorf("%d calls have begun", n)
				}
				_, verified := r.Ledger.Verify(t.Context(), ns, id)
				if err := errors.Join(verified, r.Ledger.Contents(t.Context(), ns, id)); err == nil || name != "the approval" && verified == nil {
					t.Errorf("it verifies: %v", err)
				}
			})
		}
	}
}

// TestForgedArguments: a call that a policy allows does not begin with arguments that something else wrote while it waited.
func TestForgedArguments(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	was := r.clock.now
	r.rules = []policy.Rule{{ID: "all", Effect: policy.EffectAllow, Tool: "create"}}
	r.Models = &meanwhile{r.model, func() { r.clock.now = was.Add(-2 * time.Minute) }} // so that nothing begins
	r.model.lines = []string{say("EXECUTION", "continue", "actions", creates(1))}
	r.send0("書いて")
	var behind *ledger.ClockBehindError
	if _, err := r.Drive(t.Context(), ns, id); !errors.As(err, &behind) {
		t.Fatal(err)
	}
	r.ok(r.store.Close())
	r.alter("UPDATE texts SET body = CAST(replace(CAST(body AS TEXT), 'f00', 'f99') AS BLOB) WHERE id LIKE '%/args'")
	r.start()
	r.clock.now = was
	r.model.lines = []string{say("EXECUTION", "done", "reply", "だめでした。")}
	r.drive()
	if r.file("f00.md")+r.file("f99.md") != "" || r.kinds()[audit.Intent] != 0 || r.kinds()[audit.Void] != 1 {
		t.Errorf("%q, rows %v", r.file("f99.md"), r.kinds())
	}
}
