package turn

import (
	"strings"
	"testing"

	"github.com/tsumugi-dev/tsumugi/services/agent/internal/audit"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/policy"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/session"
)

// TestFailedReadsEndNoBatch: three reads that fail are an error when their batch has ended, and not before: what is called beside them is carried
// out, or asked about, and the model is told of each call what became of it (C39, C65, C69).
func TestFailedReadsEndNoBatch(t *testing.T) {
	t.Parallel()
	missing := []any{call("read", "path", "m1"), call("read", "path", "m2"), call("read", "path", "m3")}
	batch := say("EXECUTION", "continue", "actions", append(missing, call("create", "path", "a.md", "content", "x")))
	stop := say("PLANNING", "pending_user", "question", "どうしますか？")
	for name, tt := range map[string]struct {
		allowed  bool
		decision session.Decision
		file     string
		told     []string
	}{
		"allowed":  {true, "", "x", []string{`"status":"EXECUTED"`}},
		"approved": {false, session.Approve, "x", []string{`"status":"EXECUTED"`}},
		"denied":   {false, session.Deny, "", []string{`"status":"DENIED"`, "まだ早い"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			if tt.allowed {
				r.rules = []policy.Rule{{ID: "all", Effect: policy.EffectAllow, Tool: "create"}}
			}
			s := r.send("書いて", batch, stop)
			if wait := r.pending(); !tt.allowed && len(wait) == 1 {
				r.ok(r.decide(wait[0], tt.decision, "まだ早い"))
				s = r.drive()
			}
			told := r.told(1)
			if r.file("a.md") != tt.file || len(told) != 4 || s.State.Recoveries != 1 || s.State.Step != session.Planning {
				t.Fatalf("%q is written, the model was told %q, %+v", r.file("a.md"), told, s.State)
			}
			for i, one := range told[:3] {
				if !strings.Contains(one, `"status":"FAILED"`) {
					t.Errorf("of read %d it was told %s", i, one)
				}
			}
			for _, want := range tt.told {
				if !strings.Contains(told[3], want) {
					t.Errorf("of the other call it was told %s", told[3])
				}
			}
			if rows := r.kinds(); tt.file != "" && (rows[audit.Intent] != 1 || rows[audit.Execute] != 1) {
				t.Errorf("rows: %v", rows)
			}
			r.sound()
		})
	}
}
