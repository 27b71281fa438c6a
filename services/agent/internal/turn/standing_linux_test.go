package turn

import (
	"errors"
	"strings"
	"testing"

	"github.com/tsumugi-dev/tsumugi/services/agent/internal/audit"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/gate"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/ledger"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/policy"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/session"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/store"
)

// makes is an answer that makes a file.
func makes(path string) string {
	return say("EXECUTION", "continue", "actions", []any{call("create", "path", path, "content", "x")})
}

// allowDocs has a file made in docs, and all that lies there allowed for the session.
func (r *rig) allowDocs() ledger.Session {
	r.Helper()
	r.ok(mkdir(r, "docs"))
	r.send("書いて", makes("docs/a.md"))
	_, err := r.Decide(r.Context(), ns, r.pending()[0].ID, gate.Request{
		Who: approver("bob"), Decision: session.Approve, Digest: r.pending()[0].Digest, Scope: policy.SessionToolPath, Path: "docs",
	})
	r.ok(err)
	r.model.lines = []string{say("EXECUTION", "done")}
	s := r.drive()
	if len(s.Standing) != 1 || s.Standing[0].Approver != "bob" || r.file("docs/a.md") != "x" {
		r.Fatalf("%+v", s.Standing)
	}
	return s
}

// ruleRows are the rows of standing rules, and what of each was written.
func (r *rig) ruleRows() (all []string) {
	for row, err := range r.Ledger.Rows(r.Context(), ns, id, 1) {
		r.ok(err)
		if row.Kind == audit.Rule {
			all = append(all, row.Verdict+" "+row.Reason)
		}
	}
	return all
}

// TestStandingRule: what a person allowed for the session is made without asking again, each use is a row, and nothing beyond it is (S8).
func TestStandingRule(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	rule := r.allowDocs().Standing[0].ID
	s := r.send("続けて", makes("docs/b.md"), makes("docs2/c.md"))
	if wait := r.pending(); s.State.Step != session.Awaiting || len(wait) != 1 || wait[0].Subject.Targets[0].Path != "docs2/c.md" || r.file("docs/b.md") != "x" {
		t.Errorf("%+v, %+v", s.State, wait)
	}
	rows := r.ruleRows()
	if len(rows) != 2 || !strings.HasPrefix(rows[0], "WRITTEN Until this session ends") || rows[1] != "USED the standing rule "+rule+" allows it" {
		t.Errorf("rows: %q", rows)
	}
	r.rules = []policy.Rule{{ID: "no", Effect: policy.EffectDeny, Path: "docs/secret/**"}}
	r.ok(r.decide(r.pending()[0], session.Deny, ""))
	r.model.lines = []string{say("PLANNING", "done")}
	r.drive()
	if r.send("書いて", makes("docs/secret/a.md"), say("EXECUTION", "done")); len(r.pending()) != 0 || r.file("docs/secret/a.md") != "" {
		t.Error("a standing rule allowed what a rule denies")
	}
	r.sound()
}

// TestScopesThatAreNotOffered: what no offer names is refused, and the approval stays open; words give none.
func TestScopesThatAreNotOffered(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.ok(writeFile(r, "a.md", "x"))
	r.send("消して", say("EXECUTION", "continue", "actions", []any{call("delete", "path", "a.md")}))
	a := r.pending()[0]
	for _, scope := range []policy.Scope{policy.SessionExact, policy.SessionToolPath, "ALWAYS"} {
		_, err := r.Decide(t.Context(), ns, a.ID, gate.Request{Who: approver("bob"), Decision: session.Approve, Digest: a.Digest, Scope: scope, Path: "."})
		if refusal(err) != gate.NotOffered {
			t.Errorf("%s: %v", scope, err)
		}
	}
	if s, err := r.Ledger.Get(t.Context(), ns, id); err != nil || len(s.Standing) != 0 || r.approval(a.ID).State != gate.Pending {
		t.Errorf("%+v, %v", s.Standing, err)
	}
	r.sound()
}

// TestStandingRulesEnd with the session, with their time, when their tool changes, and when somebody takes them back; what a rule allowed and has
// not begun does not start then (C48).
func TestStandingRulesEnd(t *testing.T) {
	t.Parallel()
	for reason, ends := range map[string]func(r *rig, rule string){
		"SESSION_ENDED": func(r *rig, _ string) { r.send("終わり", say("REVIEW", "continue"), say("REVIEW", "done")) },
		"EXPIRED":       func(r *rig, _ string) { r.clock.now = r.clock.now.Add(policy.StandingLife) },
		"TOOL_CHANGED":  func(r *rig, _ string) { r.described = "Create any file." },
		"REVOKED": func(r *rig, rule string) {
			_, err := r.Revoke(r.Context(), ns, id, rule, approver("bob"))
			r.ok(err)
		},
	} {
		r := newRig(t)
		ends(r, r.allowDocs().Standing[0].ID)
		s := r.send("続けて", makes("docs/b.md"))
		if s.State.Step != session.Awaiting || len(r.pending()) != 1 || r.file("docs/b.md") != "" || len(s.Standing) != 0 {
			t.Errorf("%s: %+v, %+v", reason, s.State, s.Standing)
		}
		if rows := r.ruleRows(); len(rows) != 2 || rows[1] != "ENDED "+reason {
			t.Errorf("%s: rows %q", reason, rows)
		}
		r.sound()
	}
}

// TestRevokedBeforeItBegan: the process is killed between the answer and the start, and the rule is taken back.
func TestRevokedBeforeItBegan(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	rule := r.allowDocs().Standing[0].ID
	r.faulty = &faulty{at: 4} // the message, its turn, the answer, INTENT
	r.restart()
	r.model.lines = []string{makes("docs/b.md")}
	r.send0("続けて")
	if _, err := r.Drive(t.Context(), ns, id); !errors.Is(err, errFault) {
		t.Fatalf("the process was not killed: %v", err)
	}
	r.faulty = nil
	r.restart()
	_, err := r.Revoke(t.Context(), ns, id, rule, approver("cat"))
	r.ok(err)
	r.model.lines = []string{say("EXECUTION", "done")}
	r.drive()
	if told := r.told(1); r.file("docs/b.md") != "" || len(told) != 1 || !strings.Contains(told[0], `"not_executed":true`) {
		t.Errorf("%q, the model was told %q", r.file("docs/b.md"), told)
	}
	r.sound()
}

// TestWhoRevokes: whoever gave the rule, and every approver.
func TestWhoRevokes(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	rule := r.allowDocs().Standing[0].ID
	user := func(name string) gate.Who {
		return gate.Who{Name: name, Namespace: ns, Roles: []string{policy.RoleUser}}
	}
	if _, err := r.Revoke(t.Context(), ns, id, rule, user("eve")); refusal(err) != gate.NotApprover {
		t.Errorf("a user: %v", err)
	}
	if _, err := r.Revoke(t.Context(), ns, id, rule, gate.Who{Name: "x", Session: id, Namespace: ns, Roles: []string{policy.RoleApprover}}); refusal(err) != gate.NotPerson {
		t.Errorf("a session: %v", err)
	}
	if _, err := r.Revoke(t.Context(), ns, id, "other", approver("bob")); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("another rule: %v", err)
	}
	s, err := r.Revoke(t.Context(), ns, id, rule, user("bob"))
	r.ok(err)
	if len(s.Standing) != 0 {
		t.Errorf("%+v", s.Standing)
	}
	r.sound()
}

// TestAsManyRulesAsMayBe: one more is refused, and the call can be approved alone.
func TestAsManyRulesAsMayBe(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.allowDocs()
	_, err := r.Ledger.Change(t.Context(), ns, id, ann, func(w *ledger.Work) error {
		for len(w.Session.Standing) < ledger.MaxStanding {
			w.Session.Standing = append(w.Session.Standing, w.Session.Standing[0])
		}
		w.Row(ruleRow(w.Session.Standing[0], "WRITTEN", "test"))
		return nil
	})
	r.ok(err)
	r.send("続けて", makes("b.md"))
	a := r.pending()[0]
	_, err = r.Decide(t.Context(), ns, a.ID, gate.Request{Who: approver("bob"), Decision: session.Approve, Digest: a.Digest, Scope: policy.SessionExact})
	if refusal(err) != gate.TooManyRules || r.approval(a.ID).State != gate.Pending {
		t.Errorf("%v", err)
	}
	r.ok(r.decide(a, session.Approve, ""))
	r.sound()
}
