package ledger

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/tsumugi-dev/tsumugi/services/agent/internal/gate"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/session"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/store"
)

// replaced is the statement by which another program puts something else into a body.
func replaced(table, from, to string) string {
	return "UPDATE " + table + " SET body = CAST(replace(CAST(body AS TEXT), '" + from + "', '" + to + "') AS BLOB)"
}

// unsealed is the statement that takes the seal away: as sessions were stored before there was one.
const unsealed = `UPDATE sessions SET body = CAST(substr(CAST(body AS TEXT), 1, instr(CAST(body AS TEXT), ',"code":') - 1) || '}' AS BLOB)`

// restarted is another process over the same store: it knows no body.
func (r *rig) restarted() *rig {
	l := New(r.store, r.keys, r.machine, r.clock)
	return &rig{Ledger: l, clock: r.clock, path: r.path, store: r.store}
}

// TestAgent2bATamperedSession: a session that something else wrote is damaged for whoever reads or changes it, in the process that wrote it as it was and in
// the next one; nothing is written over it, and VerifyAudit says it, also without a replay (field/review-agent.md 2b, fatal).
func TestAgent2bATamperedSession(t *testing.T) {
	t.Parallel()
	state := replaced("sessions", `"progress":"PENDING"`, `"progress":"APPROVED"`)
	const seal = "its seal does not fit what it says: it was changed"
	for name, c := range map[string]struct {
		changes []string
		told    string
	}{
		"state":               {[]string{state}, seal},
		"status":              {[]string{replaced("sessions", `"status":"REQUIRES_USER_INPUT"`, `"status":"IN_PROGRESS"`)}, seal},
		"head":                {[]string{replaced("sessions", `"head":{"namespace":"default"`, `"head":{"namespace":"defauld"`)}, seal},
		"key":                 {[]string{replaced("sessions", `"key_id":"k1"`, `"key_id":"k2"`)}, `it was written with the key "k2", which is not among the keys`},
		"seal":                {[]string{`UPDATE sessions SET body = CAST(substr(CAST(body AS TEXT), 1, length(CAST(body AS TEXT)) - 3) || 'x"}' AS BLOB)`}, seal},
		"without its seal":    {[]string{state, unsealed}, "its record is not what its rows make of it: state"},
		"the seal of another": {[]string{`UPDATE sessions SET body = (SELECT CAST(replace(CAST(body AS TEXT), '"id":"other"', '"id":"s"') AS BLOB) FROM sessions WHERE id = 'other') WHERE id = 's'`}, seal},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, ctx := newRig(t), t.Context()
			r.create(t, "other")
			r.create(t, "s")
			made := r.plan(t, "a1", time.Hour)
			r.gated(t, "s", made)
			rows := len(r.rows(t, "s"))
			for _, change := range c.changes {
				r.alter(t, change)
			}
			for where, r := range map[string]*rig{"running": r, "restarted": r.restarted()} {
				for what, err := range map[string]error{
					"Get":    second(r.Get(ctx, ns, "s")),
					"Decide": second(r.decide(ctx, "s", made, session.Approve)),
					"Cancel": second(r.apply(ctx, "s", session.CancelSent{TurnID: "t1"})),
					"Tail":   second(r.Tail(ctx, ns, "s", 0)),
				} {
					var broken *BrokenError
					if !errors.As(err, &broken) || broken.Session != "s" || broken.Approval != "" {
						t.Errorf("%s, %s: %v", where, what, err)
					}
				}
				for _, one := range r.listed(t) {
					if one.Session.ID == "s" && one.Broken == nil {
						t.Errorf("%s: it is listed as sound", where)
					}
				}
				var record *RecordError
				if _, err := r.Verify(ctx, ns, "s"); !errors.As(err, &record) || !strings.Contains(err.Error(), c.told) {
					t.Errorf("%s: Verify: %v", where, err)
				}
			}
			if got := len(r.rows(t, "s")); got != rows {
				t.Errorf("%d rows were written", got-rows)
			}
			if _, err := r.Delete(ctx, ns, "s", "", ann); err != nil {
				t.Errorf("Delete: %v", err)
			}
		})
	}
}

// TestASessionOfBeforeTheSeals goes on where it is what its rows make of it, and has a seal from then on.
func TestASessionOfBeforeTheSeals(t *testing.T) {
	t.Parallel()
	r, ctx := newRig(t), t.Context()
	r.create(t, "s")
	made := r.plan(t, "a1", time.Hour)
	r.gated(t, "s", made)
	r.alter(t, unsealed)
	r = r.restarted()
	r.sound(t, "s")
	if list := r.listed(t); len(list) != 1 || list[0].Broken != nil {
		t.Fatalf("%+v", list)
	}
	if _, err := r.decide(ctx, "s", made, session.Approve); err != nil {
		t.Fatal(err)
	}
	found, err := r.stored(ctx, ns, "s")
	if _, _, sealed := unseal(found.Body); err != nil || !sealed {
		t.Errorf("%s, %v", found.Body, err)
	}
	r.sound(t, "s")
}

// TestAgent2bATamperedApproval: an approval that something else wrote is neither decided nor followed, and not sealed anew; also one of which an older
// state was put back.
func TestAgent2bATamperedApproval(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]string{
		"state":   replaced("approvals", `"state":"PENDING"`, `"state":"APPROVED"`),
		"expires": replaced("approvals", `"expires":"2026`, `"expires":"2027`),
		"blank":   replaced("approvals", `"id":"a1"`, `"id": "a1"`),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, ctx := newRig(t), t.Context()
			r.create(t, "s")
			made := r.plan(t, "a1", time.Hour)
			r.gated(t, "s", made)
			rows := len(r.rows(t, "s"))
			r.alter(t, change)
			for where, r := range map[string]*rig{"running": r, "restarted": r.restarted()} {
				for what, err := range map[string]error{
					"Decide": second(r.decide(ctx, "s", made, session.Approve)),
					"Cancel": second(r.apply(ctx, "s", session.CancelSent{TurnID: "t1"})),
				} {
					var broken *BrokenError
					if !errors.As(err, &broken) || broken.Approval != "a1" || !strings.Contains(err.Error(), "it was changed") {
						t.Errorf("%s, %s: %v", where, what, err)
					}
				}
			}
			if err := r.Contents(ctx, ns, "s"); err == nil || len(r.rows(t, "s")) != rows {
				t.Errorf("Contents: %v", err)
			}
		})
	}
}

// TestAnApprovalOfACallThatIsOver is held to the row that sealed it last: the session says nothing of it any more.
func TestAnApprovalOfACallThatIsOver(t *testing.T) {
	t.Parallel()
	r, ctx := newRig(t), t.Context()
	r.create(t, "s")
	made := r.plan(t, "a1", time.Hour)
	r.gated(t, "s", made)
	var before store.Approval
	find := func() (a store.Approval) {
		if err := r.store.Read(ctx, ns, func(v store.View) (err error) { a, err = v.Approval("a1"); return err }); err != nil {
			t.Fatal(err)
		}
		return a
	}
	before = find()
	if _, err := r.apply(ctx, "s", session.CancelSent{TurnID: "t1"}); err != nil {
		t.Fatal(err)
	}
	read := func() error {
		return second(r.Change(ctx, ns, "s", ann, func(w *Work) error { return second(w.Approved("a1")) }))
	}
	if err := read(); err != nil {
		t.Fatal(err)
	}
	after := find()
	for name, put := range map[string]store.Approval{"an older state": before, "another one": {ID: "a1", Session: "s", State: string(gate.Approved), Created: after.Created, Body: []byte(`{"id":"a1","session":"s"}`)}} {
		if err := r.store.Update(ctx, ns, func(tx store.Tx) error { return tx.PutApproval(put) }); err != nil {
			t.Fatal(err)
		}
		var broken *BrokenError
		if err := read(); !errors.As(err, &broken) || broken.Approval != "a1" {
			t.Errorf("%s: %v", name, err)
		}
	}
	put := store.Approval{ID: "forged", Session: "s", State: string(gate.Approved), Created: after.Created, Body: []byte(`{"id":"forged","session":"s"}`)}
	if err := r.store.Update(ctx, ns, func(tx store.Tx) error { return tx.PutApproval(put) }); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Change(ctx, ns, "s", ann, func(w *Work) error { return second(w.Approved("forged")) }); err == nil || !strings.Contains(err.Error(), "no row has sealed it") {
		t.Errorf("one that was put in: %v", err)
	}
}

// TestASessionInAnotherNamespace is damaged there, also for the process that has its very bytes in memory, alone or with all that belongs to it; it can be
// deleted, and is sound where it was put back.
func TestASessionInAnotherNamespace(t *testing.T) {
	t.Parallel()
	const there = "b"
	for name, tables := range map[string][]string{"alone": {"sessions"}, "with all of it": {"sessions", "records", "approvals", "texts", "outgoing"}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, ctx := newRig(t), t.Context()
			r.create(t, "s")
			r.gated(t, "s", r.plan(t, "a1", time.Hour))
			move := func(to string) {
				for _, table := range tables {
					r.alter(t, "UPDATE "+table+" SET ns = '"+to+"'")
				}
			}
			move(there)
			for where, r := range map[string]*rig{"running": r, "restarted": r.restarted()} {
				for what, err := range map[string]error{
					"Get":    second(r.Get(ctx, there, "s")),
					"Change": second(r.Change(ctx, there, "s", ann, func(*Work) error { return nil })),
					"Tail":   second(r.Tail(ctx, there, "s", 0)),
					"Create": second(r.Create(ctx, there, Fresh{ID: "t", Continues: "s"}, ann)),
				} {
					var broken *BrokenError
					if !errors.As(err, &broken) || !strings.Contains(err.Error(), `it is stored under namespace "b", and its record says "default"`) {
						t.Errorf("%s, %s: %v", where, what, err)
					}
				}
				for one, err := range r.List(ctx, there, store.SessionFilter{}, store.Place{}) {
					if err != nil || one.Broken == nil {
						t.Errorf("%s: it is listed as sound: %v", where, err)
					}
				}
			}
			move(ns)
			r.sound(t, "s")
			if _, err := r.Get(ctx, ns, "s"); err != nil {
				t.Errorf("where it was put back: %v", err)
			}
			move(there)
			if _, err := r.Delete(ctx, there, "s", "", ann); err != nil {
				t.Fatalf("Delete: %v", err)
			}
			if _, err := r.Delete(ctx, there, "s", "", ann); !errors.Is(err, store.ErrNotFound) {
				t.Errorf("Delete once more: %v", err)
			}
			for one, err := range r.List(ctx, there, store.SessionFilter{}, store.Place{}) {
				t.Errorf("it is still listed: %+v, %v", one, err)
			}
		})
	}
}
