package ledger

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/tsumugi-dev/tsumugi/services/agent/internal/audit"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/session"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/store"
	"github.com/tsumugi-dev/tsumugi/services/internal/durable"
	"github.com/tsumugi-dev/tsumugi/services/internal/etag"
)

// alter changes the file as another program does.
func (r *rig) alter(t testing.TB, sql string) {
	t.Helper()
	other, err := durable.Open(r.path, func(*durable.DB) error { return nil })
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(other.Transaction(func() error { return other.Exec(sql) }), other.Close()); err != nil {
		t.Fatal(err)
	}
}

func (r *rig) listed(t testing.TB) (all []Listed) {
	t.Helper()
	for one, err := range r.List(t.Context(), ns, store.SessionFilter{}, store.Place{}) {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, one)
	}
	return all
}

// TestOneBrokenSession: the list has all others and tells it, whatever is wrong with it; each call about it names it.
func TestOneBrokenSession(t *testing.T) {
	t.Parallel()
	for name, body := range map[string]string{
		"no JSON":             `x'ff00'`,
		"cut":                 `substr(body, 1, 40)`,
		"nothing":             `x''`,
		"another's":           `(SELECT body FROM sessions WHERE id = 's039')`,
		"another kind of one": `CAST('{"session":{"id":"s002","state":[]},"head":{}}' AS BLOB)`,
		"no head":             `CAST('{"session":{"id":"s002"}}' AS BLOB)`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, ctx := newRig(t), t.Context()
			const all = listed + 8 // more than are read at once
			for i := range all {
				r.create(t, fmt.Sprintf("s%03d", i))
				r.clock.add(time.Second)
			}
			r.alter(t, "UPDATE sessions SET body = "+body+" WHERE id = 's002'")
			list := r.listed(t)
			if len(list) != all {
				t.Fatalf("%d are listed", len(list))
			}
			for i, one := range list {
				want := fmt.Sprintf("s%03d", all-1-i)
				if one.Session.ID != want || (one.Broken != nil) != (want == "s002") || one.Place().At.IsZero() {
					t.Errorf("%s: %+v", want, one)
				}
			}
			var broken *BrokenError
			for what, err := range map[string]error{
				"Get":    second(r.Get(ctx, ns, "s002")),
				"Change": second(r.Change(ctx, ns, "s002", ann, func(*Work) error { return nil })),
				"Verify": second(r.Verify(ctx, ns, "s002")),
				"Tail":   second(r.Tail(ctx, ns, "s002", 0)),
				"Create": second(r.Create(ctx, ns, Fresh{ID: "t", Continues: "s002"}, ann)),
			} {
				if broken = nil; !errors.As(err, &broken) || broken.Session != "s002" {
					t.Errorf("%s: %v", what, err)
				}
			}
			var record *RecordError
			got, err := r.Verify(ctx, ns, "s002")
			if !errors.As(err, &record) || record.Session != "s002" || got.Rows != 1 || got.HeadChecked || got.Head != (audit.Head{}) {
				t.Errorf("Verify: %+v, %v", got, err)
			}
			if err := r.Exists(ctx, ns, "s002"); err != nil {
				t.Error(err)
			}
		})
	}
}

func second[T any](_ T, err error) error { return err }

// TestABrokenSessionWithBrokenRowsIsVerified: both are told, and the first row that is not as it was made is named.
func TestABrokenSessionWithBrokenRowsIsVerified(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.say(t, ns, "s")
	r.alter(t, `UPDATE records SET body = CAST(replace(CAST(body AS TEXT), '"港"', '"海"') AS BLOB) WHERE seq = 1`)
	r.alter(t, "UPDATE sessions SET body = x'00'")
	var bad *audit.BadRow
	var record *RecordError
	if _, err := r.Verify(t.Context(), ns, "s"); !errors.As(err, &bad) || bad.Seq != 1 || !errors.As(err, &record) {
		t.Errorf("%v", err)
	}
}

// TestRowsWithoutTheirSession: taking a session out of the store, or to another namespace, hides none of its rows; where there is no row either there is
// no session.
func TestRowsWithoutTheirSession(t *testing.T) {
	t.Parallel()
	for _, change := range []string{"DELETE FROM sessions", "UPDATE sessions SET ns = 'other'"} {
		r, ctx := newRig(t), t.Context()
		r.say(t, ns, "s")
		r.alter(t, change)
		var record *RecordError
		got, err := r.Verify(ctx, ns, "s")
		if !errors.As(err, &record) || !errors.Is(err, ErrGone) || errors.Is(err, store.ErrNotFound) || got.Rows == 0 || got.HeadChecked || got.Head != (audit.Head{}) {
			t.Errorf("%s: %+v, %v", change, got, err)
		}
		if err := r.Exists(ctx, ns, "s"); err != nil {
			t.Errorf("%s: %v", change, err)
		}
		r.alter(t, "UPDATE records SET body = x'00' WHERE seq = 1")
		var bad *audit.BadRow
		if _, err := r.Verify(ctx, ns, "s"); !errors.As(err, &bad) || bad.Seq != 1 || !errors.Is(err, ErrGone) {
			t.Errorf("%s, with a broken row: %v", change, err)
		}
		r.alter(t, "DELETE FROM records; DELETE FROM texts; DELETE FROM approvals; DELETE FROM outgoing")
		if err := errors.Join(second(r.Verify(ctx, ns, "s")), r.Exists(ctx, ns, "s")); !errors.Is(err, store.ErrNotFound) || errors.Is(err, ErrGone) {
			t.Errorf("%s, without rows: %v", change, err)
		}
	}
}

// TestAStoreThatCannotBeRead says nothing of a session: that is no answer.
func TestAStoreThatCannotBeRead(t *testing.T) {
	t.Parallel()
	for _, body := range []string{"body", "x'00'"} {
		r := newRig(t)
		r.create(t, "s")
		r.alter(t, "UPDATE sessions SET body = "+body)
		reads := 0
		r.Ledger.store = moving{r.store, func() {
			if reads++; reads == 2 { // The session is read, and its rows are not.
				_ = r.store.Close()
			}
		}}
		var bad *audit.BadRow
		var record *RecordError
		_, err := r.Verify(t.Context(), ns, "s")
		if !errors.Is(err, store.ErrClosed) || errors.As(err, &bad) || errors.As(err, &record) {
			t.Errorf("%s: %v", body, err)
		}
	}
}

// TestABrokenSessionIsDeleted: its contents go, its rows stay with one that tells it, and the session that they make is the one that is kept.
func TestABrokenSessionIsDeleted(t *testing.T) {
	t.Parallel()
	r, ctx := newRig(t), t.Context()
	r.say(t, ns, "s")
	r.events(t, "s", session.Sent{ID: "m1", Mode: session.Queue}, session.TurnOpened{Turn: "t1", Utterance: "u1"})
	r.alter(t, "UPDATE sessions SET body = x'00'")
	var stale *etag.StaleError
	if _, err := r.Delete(ctx, ns, "s", "other", ann); !errors.As(err, &stale) {
		t.Errorf("another version: %v", err)
	}
	if _, err := r.Delete(ctx, ns, "s", r.listed(t)[0].Session.Etag(), ann); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Get(ctx, ns, "s"); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("it is there still: %v", err)
	}
	if has := r.has(t, ns, "s"); has != [3]bool{} {
		t.Errorf("of its contents there are %v", has)
	}
	if rows := r.rows(t, "s"); len(rows) < 4 || rows[len(rows)-1] != "delete DELETED" || len(r.listed(t)) != 0 {
		t.Errorf("%v", rows)
	}
	r.sound(t, "s")
	if _, err := r.Delete(ctx, ns, "s", "", ann); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("once more: %v", err)
	}
}

// TestABrokenSessionWithBrokenRowsIsDeleted: nothing is added to rows that cannot be read, and nothing vouches for them.
func TestABrokenSessionWithBrokenRowsIsDeleted(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]string{
		"no JSON": `UPDATE records SET body = x'00' WHERE seq = (SELECT max(seq) FROM records)`,
		"a delta": `UPDATE records SET body = CAST(replace(CAST(body AS TEXT), '"港"', '"海"') AS BLOB) WHERE seq = 1`,
		"a row":   `UPDATE records SET body = CAST(replace(CAST(body AS TEXT), '"QUEUED"', '"QUEUE"') AS BLOB)`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, ctx := newRig(t), t.Context()
			r.say(t, ns, "s")
			r.events(t, "s", session.Sent{ID: "m1", Mode: session.Queue})
			r.alter(t, change)
			r.alter(t, "UPDATE sessions SET body = x'00'")
			if _, err := r.Delete(ctx, ns, "s", "", ann); err != nil {
				t.Fatal(err)
			}
			var bad *audit.BadRow
			if _, err := r.Verify(ctx, ns, "s"); !errors.As(err, &bad) {
				t.Errorf("it verifies: %v", err)
			}
			if has := r.has(t, ns, "s"); has != [3]bool{} || len(r.listed(t)) != 0 {
				t.Errorf("of its contents there are %v", has)
			}
			if _, err := r.Delete(ctx, ns, "s", "", ann); !errors.Is(err, store.ErrNotFound) {
				t.Errorf("once more: %v", err)
			}
		})
	}
}

// TestRowsThatCannotBeRead: all others are told, and between which numbers some are missing.
func TestRowsThatCannotBeRead(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.create(t, "s")
	r.events(t, "s", session.Sent{ID: "m1", Mode: session.Queue}, session.TurnOpened{Turn: "t1", Utterance: "u1"})
	all := r.rows(t, "s")
	r.alter(t, "UPDATE records SET body = x'00' WHERE seq = 2")
	var got []string
	var broken *BrokenError
	for row, err := range r.Rows(t.Context(), ns, "s", 1) {
		if err != nil && (broken != nil || !errors.As(err, &broken)) {
			t.Fatal(err)
		}
		if err == nil {
			got = append(got, string(row.Kind)+" "+row.Verdict)
		}
	}
	if broken == nil || broken.First != 2 || broken.Last != 2 || !slices.Equal(got, slices.Delete(all, 1, 2)) {
		t.Errorf("%v of %v, %v", got, all, broken)
	}
	var bad *audit.BadRow
	if _, err := r.Verify(t.Context(), ns, "s"); !errors.As(err, &bad) || bad.Seq != 2 {
		t.Errorf("verify: %v", err)
	}
}

// TestASessionThatWaitsForABrokenApproval: nobody can decide it or cancel it, so that it can be deleted as it is.
func TestASessionThatWaitsForABrokenApproval(t *testing.T) {
	t.Parallel()
	r, ctx := newRig(t), t.Context()
	r.create(t, "s")
	r.gated(t, "s", r.plan(t, "a1", time.Hour))
	var works *NotEndedError
	if _, err := r.Delete(ctx, ns, "s", "", ann); !errors.As(err, &works) {
		t.Fatalf("one that waits: %v", err)
	}
	r.alter(t, "UPDATE approvals SET body = x'00'")
	var broken *BrokenError
	if _, err := r.apply(ctx, "s", session.CancelSent{TurnID: "t1"}); !errors.As(err, &broken) || broken.Approval != "a1" || broken.Session != "s" {
		t.Errorf("cancel: %v", err)
	}
	if _, err := r.Delete(ctx, ns, "s", "", ann); err != nil {
		t.Error(err)
	}
	r.sound(t, "s")
}

// TestPruneGoesPastWhatIsBroken: a deleted session that cannot be read keeps no other one.
func TestPruneGoesPastWhatIsBroken(t *testing.T) {
	t.Parallel()
	r, ctx := newRig(t), t.Context()
	for _, ns := range []string{"a", "b"} {
		for _, id := range []string{"broken-" + ns, "goes-" + ns} {
			r.say(t, ns, id)
			if _, err := r.Delete(ctx, ns, id, "", ann); err != nil {
				t.Fatal(err)
			}
		}
	}
	r.alter(t, "UPDATE sessions SET body = x'00' WHERE id LIKE 'broken-%'")
	r.clock.add(2 * time.Hour)
	var broken *BrokenError
	if gone, err := r.Prune(ctx, time.Hour); gone.Sessions != 2 || !errors.As(err, &broken) {
		t.Errorf("%+v, %v", gone, err)
	}
}
