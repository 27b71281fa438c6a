package turn

import (
	"errors"
	"strings"
	"testing"

	"github.com/tsumugi-dev/tsumugi/services/agent/internal/audit"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/ledger"
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
