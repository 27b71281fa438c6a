package turn

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/tsumugi-dev/tsumugi/services/agent/internal/audit"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/canon"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/gate"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/policy"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/session"
)

// TestRefusedTriesAreBounded: whoever may not decide writes so many rows of an approval and no more, by whatever call and also after a restart. What
// follows is refused as before and changes nothing, and whoever may decide still does.
func TestRefusedTriesAreBounded(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.send("書いて", say("EXECUTION", "continue", "actions", creates(2)))
	all := r.pending()
	nobody := gate.Who{Name: "local", Namespace: ns, Roles: []string{policy.RoleUser}}
	wrong := canon.Hash(strings.Repeat("0", 64))
	tries := []func(a gate.Approval) (gate.Code, gate.Code){
		func(a gate.Approval) (gate.Code, gate.Code) {
			_, err := r.Decide(t.Context(), ns, a.ID, gate.Request{Who: nobody, Decision: session.Approve, Digest: wrong})
			return refusal(err), gate.NotApprover
		},
		func(a gate.Approval) (gate.Code, gate.Code) {
			_, err := r.Decide(t.Context(), ns, a.ID, gate.Request{Who: gate.Who{Session: id, Namespace: ns}, Decision: session.Approve, Digest: wrong})
			return refusal(err), gate.NotPerson
		},
		func(a gate.Approval) (gate.Code, gate.Code) {
			_, err := r.Extend(t.Context(), ns, a.ID, gate.Extension{Who: nobody, Until: r.clock.now.Add(time.Hour)})
			return refusal(err), gate.NotApprover
		},
		func(a gate.Approval) (gate.Code, gate.Code) {
			_, err := r.Decide(t.Context(), ns, a.ID, gate.Request{Who: nobody, Decision: gate.Edit, Digest: a.Digest, Args: []byte(`{"path":"f00.md","content":"y"}`)})
			return refusal(err), gate.NotApprover
		},
		func(a gate.Approval) (gate.Code, gate.Code) {
			_, err := r.Decide(t.Context(), ns, a.ID, gate.Request{Who: approver("bob"), Decision: session.Approve, Digest: wrong})
			return refusal(err), gate.WrongDigest
		},
	}
	try := func(n int) {
		t.Helper()
		for i := range n {
			if got, want := tries[i%len(tries)](all[0]); got != want {
				t.Fatalf("try %d: %s, not %s", i, got, want)
			}
		}
	}
	try(MaxRefused - 1)
	r.restart()
	try(3 * len(tries))
	r.restart()
	try(2 * len(tries))
	full := r.now()
	try(4 * len(tries))
	if s := r.now(); s.Version != full.Version || s.Head.Seq != full.Head.Seq {
		t.Errorf("version %d of %d, row %d of %d", s.Version, full.Version, s.Head.Seq, full.Head.Seq)
	}
	if _, err := r.Decide(t.Context(), ns, all[1].ID, gate.Request{Who: nobody, Decision: session.Approve, Digest: wrong}); refusal(err) != gate.NotApprover {
		t.Errorf("the other one: %v", err)
	}
	var rows []audit.Row
	for row, err := range r.Ledger.Rows(t.Context(), ns, id, 1) {
		r.ok(err)
		if row.Kind == audit.Refusal {
			rows = append(rows, row)
		}
	}
	if len(rows) != MaxRefused+1 {
		t.Fatalf("%d rows", len(rows))
	}
	for i, row := range rows {
		if last := strings.Contains(row.Reason, "have no row"); last != (i == MaxRefused-1) || row.Actor == (audit.Actor{}) {
			t.Errorf("row %d says %q of %+v", i, row.Reason, row.Actor)
		}
	}
	r.sound()
	r.ok(r.decide(all[0], session.Deny, "まだ早い"))
	if a := r.approval(all[0].ID); a.State != gate.Denied || a.Decision.Reason != "まだ早い" {
		t.Errorf("%+v", a)
	}
	r.sound()
}

// TestRefusedWordsAreBounded: so are decisions by words, of which each is told to its sender.
func TestRefusedWordsAreBounded(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.Terms.RequesterMayApprove = false
	r.send("書いて", say("EXECUTION", "continue", "actions", creates(1)))
	a := r.pending()[0]
	for i := range MaxRefused + 5 {
		got, err := r.conversed(r.withID(fmt.Sprint("m", i), "approve "+a.ID))
		if refusal(err) != gate.OwnRequest || got.Replayed || strings.Contains(err.Error(), "have no row") {
			t.Fatalf("try %d: %+v, %v", i, got, err)
		}
	}
	if n := r.kinds()[audit.Refusal]; n != MaxRefused || len(r.now().State.Queue) != 0 {
		t.Errorf("%d rows, %q wait", n, r.now().State.Queue)
	}
	r.sound()
}

// TestTheEndOfAnApprovalHasItsRow: a refusal that changes something is written, however many there were before it.
func TestTheEndOfAnApprovalHasItsRow(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.send("書いて", say("EXECUTION", "continue", "actions", creates(1)))
	a := r.pending()[0]
	other := a
	other.Digest = canon.Hash(strings.Repeat("0", 64))
	for range MaxRefused + 1 {
		if err := r.decide(other, session.Approve, ""); refusal(err) != gate.WrongDigest {
			t.Fatal(err)
		}
	}
	r.clock.now = a.Expires.Add(time.Second)
	if err := r.decide(a, session.Approve, ""); refusal(err) != gate.Over || r.approval(a.ID).State != gate.Expired {
		t.Errorf("%v, %+v", err, r.approval(a.ID))
	}
	if n := r.kinds(); n[audit.Refusal] != MaxRefused+1 || n[audit.Expiry] != 1 {
		t.Errorf("%v", n)
	}
	r.sound()
}
