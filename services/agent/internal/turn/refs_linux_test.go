package turn

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/tsumugi-dev/tsumugi/services/agent/internal/canon"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/gate"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/ledger"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/policy"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/session"
)

// TestTheAgentRefers: what calls read and wrote, turns that were looked up, and an approved plan become references of the session, and what is gone or
// failed does not; a session that continues it has them, and its prompts tell what the files and the plan are (seed 001, 5.4).
func TestTheAgentRefers(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.rules = []policy.Rule{{ID: "all", Effect: policy.EffectAllow, Tool: "*"}}
	r.ok(writeFile(r, "old.md", "港町\n"))
	plan := map[string]any{"name": "案", "aim": "港を書く", "steps": []string{"書く"}, "risk": "低", "criterion": "一頁"}
	r.asks = [2]bool{true, false}
	r.send("読んで", say("PLANNING", "continue", "actions", []any{call("read", "path", "old.md"), call("read", "path", "none.md")}), say("EXECUTION", "continue", "plan", plan))
	asked := r.pending()[0]
	r.ok(r.decide(asked, session.Approve, ""))
	r.model.lines = []string{
		say("EXECUTION", "continue", "actions", []any{call("write", "path", "./a.md", "content", "甲"), call("create", "path", "b.md"), call("create", "path", "c.md")}),
		say("EXECUTION", "continue", "actions", []any{call("move", "source", "b.md", "destination", "d.md"), call("delete", "path", "c.md"), call("node_detail", "node_id", "1")}),
		say("EXECUTION", "done", "reply", "書きました。"),
	}
	s := r.drive()
	want := []string{"file:old.md", "plan:" + asked.ID, "file:a.md", "file:d.md"}
	if !slices.Equal(s.Thread.All(), want) {
		t.Errorf("%q", s.Thread.All())
	}
	last := r.prompts.built[len(r.prompts.built)-1]
	if n := len(last.Evidence); n != 1 || last.Evidence[0].Source != "plan:"+asked.ID || !strings.Contains(last.Evidence[0].Text, "港を書く") {
		t.Errorf("%+v", last.Evidence)
	}
	r.sound()
	next, err := r.Ledger.Create(t.Context(), ns, ledger.Fresh{ID: "s2", Owner: "ann", Continues: id, Settings: ledger.Settings{Root: "work"}}, ann)
	if err != nil || !slices.Equal(next.Thread.Refs, want) {
		t.Errorf("%v: %q", err, next.Thread.Refs)
	}
	told := r.toldOf(next)
	if len(told) != 4 || !strings.Contains(told[0], "港町") || !strings.Contains(told[1], "港を書く") || !strings.Contains(told[2], "甲") {
		t.Errorf("%q", told)
	}
}

// TestTheDecisionLog: each line says what was decided about what, and why (seed 001, 5.4).
func TestTheDecisionLog(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.send("書いて", say("EXECUTION", "continue", "actions", []any{call("write", "path", "港/a.md", "content", "甲"), call("create", "path", "b.md")}))
	r.ok(r.decide(r.pending()[0], session.Deny, strings.Repeat("短い", 100)))
	r.ok(r.decide(r.pending()[0], session.Approve, ""))
	s, err := r.Ledger.Get(t.Context(), ns, id)
	r.ok(err)
	denied := []rune("DENY: write 港/a.md: " + strings.Repeat("短い", 100))
	if want := []string{string(denied[:session.MaxItem]), "APPROVE: create b.md"}; !slices.Equal(s.Thread.Decisions, want) {
		t.Errorf("%q, want %q", s.Thread.Decisions, want)
	}
	moved := []canon.Target{{Path: "a.md"}, {Path: "b.md"}}
	for want, a := range map[string]gate.Approval{
		"DENY: plan 港を\n書く: まだ":           {Kind: canon.KindPlan, Points: gate.Points{Intent: gate.Line{Text: "港を\n書く"}}},
		"DENY: move a.md -> b.md: まだ":     {Kind: canon.KindToolCall, Subject: gate.Subject{Tool: "move", Targets: moved}},
		"DENY: exec (a1): まだ":             {Kind: canon.KindToolCall, ID: "a1", Subject: gate.Subject{Tool: "exec"}},
		"DENY: outcome of write a.md: まだ": {Kind: canon.KindOutcome, Subject: gate.Subject{Tool: "write", Targets: moved[:1]}},
		"DENY: result: まだ":                {Kind: canon.KindResult, Points: gate.Points{Intent: gate.Line{Text: "港を書く"}}},
	} {
		if got := decided(a, gate.Decision{Decision: session.Deny, Reason: "まだ"}); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// toldOf are the texts that a prompt of a session tells of its references.
func (r *rig) toldOf(s ledger.Session) (all []string) {
	r.Helper()
	rt, err := r.Router(r.Context(), ns, s)
	r.ok(err)
	var p Prompt
	r.ok(r.refers(r.Context(), ns, s, rt, &p))
	for _, e := range p.Evidence {
		all = append(all, e.Text)
	}
	return all
}

// TestReferencesAreBounded: a file that the session may not read, that a person would be asked about or that is not there, and a plan of somebody else or one that nobody
// approved, are told as that; at most the last four; and no reference of a person makes room for one of the agent.
func TestReferencesAreBounded(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.rules = []policy.Rule{{ID: "no", Effect: policy.EffectDeny, Tool: "read", Path: "secret.md"}, {ID: "ask", Effect: policy.EffectAsk, Tool: "read", Path: "ask.md"}}
	for _, name := range []string{"secret.md", "ask.md"} {
		r.ok(writeFile(r, name, "暗証"))
	}
	plan := map[string]any{"name": "案", "aim": "港を書く", "steps": []string{"書く"}, "risk": "低", "criterion": "一頁"}
	s := r.send("計画して", say("AWAITING_APPROVAL", "continue", "plan", plan))
	asked := r.pending()[0]
	s.Thread.Refs = []string{"file:first.md", "file:secret.md", "file:ask.md", "conversation:1", "file:../out", "file:none.md"}
	for i, text := range r.toldOf(s) {
		if want := []string{"REFUSED", "REFUSED", "REFUSED", "FAILED"}[i]; !strings.Contains(text, `"status":"`+want) || strings.Contains(text, "暗証") {
			t.Errorf("%s: %s", s.Thread.Refs[i], text)
		}
	}
	s.Thread.Refs = []string{"plan:nobody", "plan:" + asked.ID}
	none := "no such plan"
	if told := r.toldOf(s); !strings.Contains(told[0], none) || !strings.Contains(told[1], none) {
		t.Errorf("not approved: %q", told)
	}
	r.ok(r.decide(asked, session.Approve, ""))
	if told := r.toldOf(s); !strings.Contains(told[1], "港を書く") {
		t.Errorf("approved: %q", told)
	}
	if s.Owner = "bob"; !strings.Contains(r.toldOf(s)[1], none) {
		t.Error("another owner reads it")
	}
	var x session.Thread
	for i := range session.MaxRefs {
		x.Refs = append(x.Refs, fmt.Sprint("file:", i))
	}
	if x = x.Refer("file:new"); len(x.Found) > 0 {
		t.Errorf("%q", x.Found)
	}
	x.Refs = x.Refs[:30]
	for _, ref := range []string{"file:a", "file:b", "file:1", "file:c", "file:b", "file:" + strings.Repeat("長", session.MaxRef)} {
		x = x.Refer(ref)
	}
	if !slices.Equal(x.Found, []string{"file:c", "file:b"}) {
		t.Errorf("%q", x.Found)
	}
}
