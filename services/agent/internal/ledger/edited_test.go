package ledger

import (
	"strings"
	"testing"
	"time"

	"github.com/tsumugi-dev/tsumugi/services/agent/internal/policy"
)

// TestAnUpdateNamesWhatChanged: the row names the fields, the ids of rules and the numbers of budgets, and no words of anybody; a field that is sent as it was
// is not among them.
func TestAnUpdateNamesWhatChanged(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.create(t, "s")
	for _, tt := range []struct {
		change          func(*Session)
		reason, details string
	}{
		{func(s *Session) { s.Items.Goal = "秘密" }, "asked for: goal", `"fields":["goal"]`},
		{func(s *Session) { s.Thread.Refs = []string{"file:a.go"} }, "asked for: context_refs", `"fields":["context_refs"]`},
		{
			func(s *Session) {
				s.Added = []policy.Rule{{ID: "no-run", Effect: policy.EffectDeny, Tool: "run"}, {ID: "ask", Effect: policy.EffectAsk}}
				s.Budgets = Budgets{MessageTime: time.Minute, SessionToolCalls: 4}
			},
			"asked for: added_rules, budgets",
			`{"added_rules":["no-run","ask"],"budgets":{"message_seconds":60,"session_tool_calls":4},`,
		},
		{func(*Session) {}, "asked for: nothing differs", ""},
	} {
		if _, err := r.Update(t.Context(), ns, "s", "", ann, func(s *Session) error { tt.change(s); return nil }); err != nil {
			t.Fatal(err)
		}
		var reason, details string
		for row, err := range r.Rows(t.Context(), ns, "s", 1) {
			if err != nil {
				t.Fatal(err)
			}
			reason, details = row.Reason, row.Details
		}
		if reason != tt.reason || !strings.Contains(details, tt.details) || strings.Contains(details, "秘密") {
			t.Errorf("%q, %s; want %q, %s", reason, details, tt.reason, tt.details)
		}
	}
	r.sound(t, "s")
}
