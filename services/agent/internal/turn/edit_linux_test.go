package turn

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/tsumugi-dev/tsumugi/services/agent/internal/audit"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/gate"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/ledger"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/policy"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/session"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/store"
)

// approver is a person who may decide.
func approver(name string) gate.Who {
	return gate.Who{Name: name, Token: "t-" + name, Namespace: ns, Roles: []string{policy.RoleUser, policy.RoleApprover}}
}

// change has somebody change the arguments of a call, and gives the approval that has its place.
func (r *rig) change(a gate.Approval, who string, args ...any) (gate.Approval, error) {
	raw, err := json.Marshal(call("", args...)["args"])
	r.ok(err)
	out, err := r.Decide(r.Context(), ns, a.ID, gate.Request{Who: approver(who), Decision: gate.Edit, Digest: a.Digest, Args: raw})
	if err != nil {
		return out, err
	}
	return r.approval(out.ReplacedBy), nil
}

func (r *rig) approval(id string) (a gate.Approval) {
	r.Helper()
	r.ok(r.Ledger.Read(r.Context(), ns, func(v store.View) error {
		found, err := v.Approval(id)
		if err == nil {
			a, err = ledger.Approval(found)
		}
		return err
	}))
	return a
}

// refusal is the code of a refused decision.
func refusal(err error) gate.Code {
	var no *gate.Refusal
	if errors.As(err, &no) {
		return no.Code
	}
	return ""
}

// TestEdit: a person changes what is written. The old approval is closed and names the new one, the old digest starts nothing, what runs is
// what was approved last, and the model is told the arguments that ran (S7, C58).
func TestEdit(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.send("書いて", say("EXECUTION", "continue", "actions", []any{call("create", "path", "a.md", "content", "一"), call("create", "path", "b.md", "content", "二")}))
	old := r.pending()[0]
	now, err := r.change(old, "bob", "path", "a.md", "content", "<壱>")
	r.ok(err)
	was := r.approval(old.ID)
	if was.State != gate.Edited || was.Decision == nil || now.State != gate.Pending || now.EditedFrom != old.ID || now.Digest == old.Digest || now.Editors[0] != "bob" {
		t.Errorf("%+v\n%+v", was, now)
	}
	if now.Points.Rationale != old.Points.Rationale || now.Points.Diff.Added != 1 {
		t.Errorf("%+v", now.Points)
	}
	if code := refusal(r.decide(old, session.Approve, "")); code != gate.Closed {
		t.Errorf("the old approval: %q", code)
	}
	for _, a := range r.pending() {
		r.ok(r.decide(a, session.Approve, ""))
	}
	r.model.lines = []string{say("EXECUTION", "done", "reply", "書きました。")}
	s := r.drive()
	if r.file("a.md") != "<壱>" || r.file("b.md") != "二" || s.State.Status != session.Success {
		t.Errorf("%q, %q, %+v", r.file("a.md"), r.file("b.md"), s.State)
	}
	told := r.told(1)
	if len(told) != 2 || !strings.Contains(told[0], `"arguments_changed_by_a_person":"{\"content\":\"<壱>\"`) || strings.Contains(told[1], "changed_by") {
		t.Errorf("the model was told %q", told)
	}
	if n := r.kinds(); n[audit.Edit] != 1 || n[audit.Ask] != 3 {
		t.Errorf("rows: %v", n)
	}
	r.sound()
}

// TestEditsThatAreRefused: the call as it was stays, and the editor is told why; nobody learns of rules who may not decide.
func TestEditsThatAreRefused(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.rules = []policy.Rule{{ID: "no", Effect: policy.EffectDeny, Path: "private/**", Reason: "nobody writes there"}}
	r.send("書いて", say("EXECUTION", "continue", "actions", creates(1)))
	old := r.pending()[0]
	user := gate.Who{Name: "eve", Namespace: ns, Roles: []string{policy.RoleUser}}
	for name, c := range map[string]struct {
		who  gate.Who
		args string
		code gate.Code
		says string
	}{
		"a rule denies it":    {approver("bob"), `{"path":"private/a.md","content":"x"}`, gate.BadEdit, "nobody writes there"},
		"outside the folder":  {approver("bob"), `{"path":"../a.md","content":"x"}`, gate.BadEdit, ".."},
		"an unknown argument": {approver("bob"), `{"path":"a.md","content":"x","approved":true}`, gate.Invalid, "approved"},
		"no JSON":             {approver("bob"), `{"path":`, gate.Invalid, "arguments"},
		"nothing":             {approver("bob"), ``, gate.Invalid, "arguments"},
		"the same":            {approver("bob"), `{"content":"x","path":"f00.md"}`, gate.BadEdit, "the same"},
		"by a user":           {user, `{"path":"private/a.md","content":"x"}`, gate.NotApprover, "role"},
		"by a session":        {gate.Who{Name: "s", Session: id, Namespace: ns, Roles: []string{policy.RoleApprover}}, `{}`, gate.NotPerson, "person"},
		"from elsewhere":      {gate.Who{Name: "x", Namespace: "other", Roles: []string{policy.RoleApprover}}, `{}`, gate.NotFound, "no approval"},
	} {
		_, err := r.Decide(t.Context(), ns, old.ID, gate.Request{Who: c.who, Decision: gate.Edit, Digest: old.Digest, Args: []byte(c.args)})
		if refusal(err) != c.code || !strings.Contains(err.Error(), c.says) || c.code == gate.NotApprover && strings.Contains(err.Error(), "nobody writes") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if wait := r.pending(); len(wait) != 1 || wait[0].ID != old.ID || wait[0].Digest != old.Digest {
		t.Errorf("%+v", wait)
	}
	r.ok(r.decide(old, session.Approve, ""))
	r.model.lines = []string{say("EXECUTION", "done")}
	if r.drive(); r.file("f00.md") != "x" {
		t.Errorf("%q", r.file("f00.md"))
	}
	r.sound()
}

// TestTheEditorIsAnAuthor: where nobody may approve what they asked for, nobody may approve what they changed; and there are at most ten changes
// of a call (C74).
func TestTheEditorIsAnAuthor(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.Terms.RequesterMayApprove = false
	r.send("書いて", say("EXECUTION", "continue", "actions", creates(1)))
	a, err := r.change(r.pending()[0], "bob", "path", "a.md", "content", "0")
	r.ok(err)
	for _, who := range []string{"bob", "ann"} {
		_, err := r.Decide(t.Context(), ns, a.ID, gate.Request{Who: approver(who), Decision: session.Approve, Digest: a.Digest})
		if refusal(err) != gate.OwnRequest {
			t.Errorf("%s: %v", who, err)
		}
	}
	for i := 1; i < 10; i++ {
		a, err = r.change(a, "bob", "path", "a.md", "content", fmt.Sprint(i))
		r.ok(err)
	}
	var full *session.RefusedError
	if _, err = r.change(a, "bob", "path", "a.md", "content", "10"); !errors.As(err, &full) || full.Code != session.RefusedFull {
		t.Errorf("the eleventh change: %v", err)
	}
	_, err = r.Decide(t.Context(), ns, a.ID, gate.Request{Who: approver("cat"), Decision: session.Approve, Digest: a.Digest})
	r.ok(err)
	r.model.lines = []string{say("EXECUTION", "done")}
	if r.drive(); r.file("a.md") != "9" {
		t.Errorf("%q", r.file("a.md"))
	}
	r.sound()
}

// TestADeniedEdit denies the call that the model proposed, too: neither is asked for again (S28).
func TestADeniedEdit(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.send("書いて", say("EXECUTION", "continue", "actions", creates(1)))
	a, err := r.change(r.pending()[0], "bob", "path", "a.md", "content", "y")
	r.ok(err)
	r.ok(r.decide(a, session.Deny, "やめる"))
	again := []any{creates(1)[0], call("create", "path", "a.md", "content", "y")}
	r.model.lines = []string{say("PLANNING", "continue", "actions", again), say("PLANNING", "done", "reply", "はい。")}
	r.drive()
	told := r.told(1)
	if len(told) != 3 || !strings.Contains(told[0], "DENIED") || !strings.Contains(told[0], `changed_by_a_person`) || len(r.pending()) != 0 {
		t.Fatalf("%q, %+v", told, r.pending())
	}
	for _, one := range told[1:] {
		if !strings.Contains(one, "denied this very call") {
			t.Error(one)
		}
	}
	r.sound()
}

// TestAnEditUponTheCallBefore: a change of the second of two calls of one file is judged upon what the first would leave (C70).
func TestAnEditUponTheCallBefore(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.send("書いて", say("EXECUTION", "continue", "actions", []any{call("create", "path", "a.md", "content", "一\n"), call("write", "path", "a.md", "content", "一\n二\n")}))
	wait := r.pending()
	second, err := r.change(wait[1], "bob", "path", "a.md", "content", "一\n三\n")
	r.ok(err)
	if second.Points.Diff.Added != 1 || second.Points.Diff.Removed != 0 || second.Subject.Targets[0].Before != wait[0].Subject.Targets[0].After {
		t.Errorf("%+v", second)
	}
	for _, a := range []gate.Approval{second, wait[0]} {
		r.ok(r.decide(a, session.Approve, ""))
	}
	r.model.lines = []string{say("EXECUTION", "done")}
	if r.drive(); r.file("a.md") != "一\n三\n" {
		t.Errorf("%q", r.file("a.md"))
	}
	r.sound()
}

// TestEditsAndApprovalsAtOnce: of many who change and approve one call, each approval is of what was shown, and one content is written.
func TestEditsAndApprovalsAtOnce(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.send("書いて", say("EXECUTION", "continue", "actions", creates(1)))
	a := r.pending()[0]
	var wait sync.WaitGroup
	var mu sync.Mutex
	edits, approved := 0, 0
	for i := range 8 {
		wait.Go(func() {
			raw := fmt.Appendf(nil, `{"path":"f00.md","content":"%d"}`, i)
			_, err := r.Decide(t.Context(), ns, a.ID, gate.Request{Who: approver("bob"), Decision: gate.Edit, Digest: a.Digest, Args: raw})
			mu.Lock()
			defer mu.Unlock()
			if err == nil {
				edits++
			}
		})
		wait.Go(func() {
			err := r.decide(a, session.Approve, "")
			mu.Lock()
			defer mu.Unlock()
			if err == nil {
				approved++
			}
		})
	}
	wait.Wait()
	if edits > 1 || edits == 1 && approved != 0 || edits == 0 && approved != 8 {
		t.Errorf("%d edits, %d approvals", edits, approved)
	}
	for _, a := range r.pending() {
		r.ok(r.decide(a, session.Approve, ""))
	}
	r.model.lines = []string{say("EXECUTION", "done")}
	if r.drive(); edits == 0 && r.file("f00.md") != "x" || edits == 1 && len(r.file("f00.md")) != 1 {
		t.Errorf("%d edits, %q", edits, r.file("f00.md"))
	}
	r.sound()
}
