package turn

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/tsumugi-dev/tsumugi/services/agent/internal/audit"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/canon"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/gate"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/ledger"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/policy"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/session"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/store"
)

// TestWhoReadsAnApproval: approvers read it whole, whom it works for reads what is asked without its content, and for all others it is not there
// (S13, S22).
func TestWhoReadsAnApproval(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.send("書いて", say("EXECUTION", "continue", "actions", []any{call("create", "path", "a.md", "content", "霧の港\n")}))
	a := r.pending()[0]
	user := func(name string) gate.Who {
		return gate.Who{Name: name, Namespace: ns, Roles: []string{policy.RoleUser}}
	}
	got, err := r.Approval(t.Context(), ns, a.ID, approver("bob"))
	r.ok(err)
	if len(got.Pages) != 1 || !strings.Contains(got.Pages[0].Content, "+霧の港") || got.Args != `{"content":"霧の港\n","path":"a.md"}` || got.Withheld || got.Gone || got.Approval.Digest != a.Digest {
		t.Errorf("%+v", got)
	}
	if !strings.Contains(got.Words, "`承認 "+a.ID+"` または `承認`") {
		t.Errorf("%q", got.Words)
	}
	for _, who := range []gate.Who{user("ann"), {Session: id, Namespace: ns, Roles: []string{policy.RoleApprover}}} {
		got, err := r.Approval(t.Context(), ns, a.ID, who)
		r.ok(err)
		s := got.Approval.Subject
		if !got.Withheld || got.Pages != nil || got.Args != "" || got.Words != "" || got.Approval.Digest != "" || s.Args != "" || s.CallHash != "" || s.Targets[0].After != "" || s.Targets[0].Path != "a.md" {
			t.Errorf("%+v: %+v", who, got)
		}
	}
	nobody := []gate.Who{user("eve"), {}, {Session: "s2", Namespace: ns, Roles: []string{policy.RoleApprover}}, {Name: "bob", Namespace: "other", Roles: []string{policy.RoleApprover}}}
	for _, who := range nobody {
		if _, err := r.Approval(t.Context(), ns, a.ID, who); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("%+v: %v", who, err)
		}
		for one, err := range r.Approvals(t.Context(), ns, store.ApprovalFilter{}, store.Place{}, who) {
			if err != nil || !one.Hidden || one.Approval.ID != "" {
				t.Errorf("%+v: %+v, %v", who, one, err)
			}
		}
	}
}

// TestAnApprovalOfWhatMayNotBeRead: the content is not shown, and no hash of it is told, to approvers neither (S21).
func TestAnApprovalOfWhatMayNotBeRead(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.rules = []policy.Rule{{ID: "no", Effect: policy.EffectDeny, Tool: "read", Path: "a.md"}}
	r.ok(writeFile(r, "a.md", "暗証"))
	r.send("書いて", say("EXECUTION", "continue", "actions", []any{call("write", "path", "a.md", "content", "x")}))
	got, err := r.Approval(t.Context(), ns, r.pending()[0].ID, approver("bob"))
	r.ok(err)
	if target := got.Approval.Subject.Targets[0]; got.Approval.NotShown != gate.Redacted || target.Before != "" || target.After != "" || got.Pages[0].Content != "" {
		t.Errorf("%+v", got)
	}
}

// TestAnApprovalThatWasPutIn: one that no row has made is found by what the rows have sealed, and, where it is open, by what the session knows, also where all else is
// as it was.
func TestAnApprovalThatWasPutIn(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.send("書いて", say("EXECUTION", "continue", "actions", creates(1)))
	r.sound()
	var put store.Approval
	asked := r.pending()[0].ID
	r.ok(r.store.Read(t.Context(), ns, func(v store.View) (err error) {
		put, err = v.Approval(asked)
		return err
	}))
	put.Body = []byte(strings.ReplaceAll(string(put.Body), put.ID, "forged"))
	put.ID = "forged"
	r.ok(r.store.Update(t.Context(), ns, func(tx store.Tx) error { return tx.PutApproval(put) }))
	_, err := r.Ledger.Verify(t.Context(), ns, id)
	r.ok(err)
	var unsealed *ledger.RecordError
	if err := r.Ledger.Contents(t.Context(), ns, id); !errors.As(err, &unsealed) || !strings.Contains(err.Error(), "the approval forged is there, and no row has sealed it") {
		t.Errorf("error %v", err)
	}
	_, err = r.Ledger.Replay(t.Context(), ns, id)
	r.ok(err)
	var differs *gate.SettleError
	if err := r.Ledger.Agree(t.Context(), ns, id); !errors.As(err, &differs) || !strings.Contains(err.Error(), "forged") {
		t.Errorf("error %v", err)
	}
}

// TestTheInbox: a list goes on behind any place, and what was decided is counted.
func TestTheInbox(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.send("書いて", say("EXECUTION", "continue", "actions", creates(5)))
	seen, next := map[string]bool{}, store.Place{}
	for range 5 {
		for one, err := range r.Approvals(t.Context(), ns, store.ApprovalFilter{State: string(gate.Pending)}, next, approver("bob")) {
			r.ok(err)
			seen[one.Approval.ID], next = true, one.Place
			break
		}
	}
	for one, err := range r.Approvals(t.Context(), ns, store.ApprovalFilter{State: string(gate.Pending)}, next, approver("bob")) {
		t.Errorf("behind the last: %+v, %v", one, err)
	}
	if len(seen) != 5 {
		t.Errorf("%d of 5", len(seen))
	}
	start := r.clock.now
	r.clock.now = start.Add(30 * time.Second)
	for i, a := range r.pending()[:3] {
		r.ok(r.decide(a, []session.Decision{session.Approve, session.Deny}[i%2], ""))
	}
	counts, more, err := r.Stats(t.Context(), ns, "", start, approver("bob"))
	if err != nil || more || len(counts) != 2 || counts[0].How != "APPROVE" || counts[0].Count != 2 || counts[0].Mean != 30*time.Second || counts[1].Count != 1 {
		t.Errorf("%+v, %v, %v", counts, more, err)
	}
	if mine, _, err := r.Stats(t.Context(), ns, id, start, approver("bob")); err != nil || !reflect.DeepEqual(mine, counts) {
		t.Errorf("of the only session: %+v, %v", mine, err)
	}
	if none, _, err := r.Stats(t.Context(), ns, "another", start, approver("bob")); err != nil || len(none) != 0 {
		t.Errorf("of another session: %+v, %v", none, err)
	}
	if counts, _, err := r.Stats(t.Context(), ns, "", start.Add(time.Second), approver("bob")); err != nil || len(counts) != 0 {
		t.Errorf("%+v, %v", counts, err)
	}
	if _, _, err := r.Stats(t.Context(), ns, "", start, gate.Who{Name: "ann", Namespace: ns}); refusal(err) != gate.NotApprover {
		t.Errorf("a user: %v", err)
	}
}

// TestNoHashOfWhatMayNotBeRead: of files that policy keeps from a session no hash is told to its model, in its rows, which each user of the namespace may
// read, or in what an approval shows, whatever becomes of the call (S21). Of those that it may read the rows tell them.
func TestNoHashOfWhatMayNotBeRead(t *testing.T) {
	t.Parallel()
	const secret, next = "暗証", "鍵"
	hashes := []string{string(sumOf(secret)), string(sumOf(next))}
	write := say("EXECUTION", "continue", "actions", []any{call("write", "path", "a.md", "content", "x")})
	for name, tt := range map[string]struct {
		ask      string
		readable bool
		stale    bool
		deny     bool
	}{
		"written":           {ask: write},
		"moved":             {ask: say("EXECUTION", "continue", "actions", []any{call("move", "source", "a.md", "destination", "b.md")})},
		"deleted":           {ask: say("EXECUTION", "continue", "actions", []any{call("delete", "path", "a.md")})},
		"changed meanwhile": {ask: write, stale: true},
		"denied":            {ask: write, deny: true},
		"one that it reads": {ask: write, readable: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			r.asks, r.Terms.ApproveUnshown = [2]bool{false, true}, true
			if !tt.readable {
				r.rules = []policy.Rule{{ID: "no", Effect: policy.EffectDeny, Tool: "read", Path: "*.md"}}
			}
			r.ok(writeFile(r, "a.md", secret))
			r.send("直して", tt.ask, say("EXECUTION", "continue"), say("REVIEW", "continue"), say("REVIEW", "done", "reply", "はい。"))
			if tt.stale {
				r.ok(writeFile(r, "a.md", next))
			}
			shown, salts := "", []string{}
			decide := func(d session.Decision) {
				for _, a := range r.pending() {
					got, err := r.Approval(t.Context(), ns, a.ID, approver("bob"))
					r.ok(err)
					shown, salts = shown+fmt.Sprintf("%+v", got), append(salts, a.Salt)
					_, err = r.Decide(t.Context(), ns, a.ID, gate.Request{Who: approver("bob"), Decision: d, Digest: a.Digest, Unshown: !tt.readable && d == session.Approve})
					r.ok(err)
				}
				r.drive()
			}
			decide(map[bool]session.Decision{true: session.Deny, false: session.Approve}[tt.deny])
			if results := r.pending(); len(results) != 1 || results[0].Kind != canon.KindResult {
				t.Fatalf("its result is not asked about: %+v", results)
			}
			decide(session.Approve)
			told, rows, begun := "", "", 0
			for _, asked := range r.model.asked {
				told += fmt.Sprintf("%+v", asked)
			}
			for row, err := range r.Ledger.Rows(t.Context(), ns, id, 1) {
				r.ok(err)
				rows += fmt.Sprintf("%+v", row)
				if row.Kind == audit.Execute {
					begun++
				}
				if row.Before == audit.Absent && !tt.readable {
					t.Errorf("a file that is there is told as absent: %+v", row)
				}
			}
			for _, hash := range hashes {
				if strings.Contains(told, hash) || !tt.readable && strings.Contains(shown+rows, hash) {
					t.Errorf("%s is told: model %t, approvals %t, rows %t", hash, strings.Contains(told, hash), strings.Contains(shown, hash), strings.Contains(rows, hash))
				}
			}
			for _, salt := range salts { // Without it the digest that rows tell could be tried out.
				if salt == "" || strings.Contains(told+rows, salt) {
					t.Errorf("the salt is %q, and is told: %t", salt, strings.Contains(told+rows, salt))
				}
			}
			if tt.readable && strings.Count(rows, hashes[0]) < 3 || (begun > 0) == tt.deny && !tt.stale {
				t.Errorf("%d rows of the call: %s", begun, rows)
			}
			r.sound()
		})
	}
}
