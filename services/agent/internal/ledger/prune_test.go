package ledger

import (
	"errors"
	"testing"
	"time"

	"github.com/tsumugi-dev/tsumugi/services/agent/internal/session"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/store"
)

// say writes two texts of a session: one that goes in an hour, and one that stays.
func (r *rig) say(t *testing.T, ns, id string) {
	t.Helper()
	if _, err := r.Create(t.Context(), ns, Fresh{ID: id, Owner: "ann", Items: session.Items{Goal: "港"}}, ann); err != nil {
		t.Fatal(err)
	}
	err := r.store.Update(t.Context(), ns, func(tx store.Tx) error {
		return errors.Join(
			tx.PutText(store.Text{Session: id, ID: "diff", Until: r.clock.Now().Add(time.Hour)}), tx.PutText(store.Text{Session: id, ID: "message"}),
			tx.PutApproval(store.Approval{ID: "a-" + id, Session: id, State: "DENIED", Created: r.clock.Now()}),
		)
	})
	if err != nil {
		t.Fatal(err)
	}
}

// has says which of a session's texts are there, and whether its approval is.
func (r *rig) has(t *testing.T, ns, id string) (all [3]bool) {
	t.Helper()
	err := r.store.Read(t.Context(), ns, func(v store.View) error {
		_, diff := v.Text(id, "diff")
		_, message := v.Text(id, "message")
		_, approval := v.Approval("a-" + id)
		all = [3]bool{diff == nil, message == nil, approval == nil}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// TestPrune: in each namespace contents go when their time is over, and rows of deleted sessions when theirs is; nothing else ever does.
func TestPrune(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	ctx := t.Context()
	for _, ns := range []string{"a", "b"} {
		r.say(t, ns, "stays")
		r.say(t, ns, "goes")
	}
	prune := func(keep time.Duration, want Pruned) {
		t.Helper()
		if got, err := r.Prune(ctx, keep); err != nil || got != want {
			t.Errorf("%+v, %v; want %+v", got, err, want)
		}
	}
	prune(time.Hour, Pruned{})
	r.clock.add(time.Hour)
	prune(time.Hour, Pruned{Texts: 4})
	for _, ns := range []string{"a", "b"} {
		if got := r.has(t, ns, "stays"); got != [3]bool{false, true, true} {
			t.Errorf("%s: %v", ns, got)
		}
		if _, err := r.Delete(ctx, ns, "goes", "", ann); err != nil {
			t.Fatal(err)
		}
		if got := r.has(t, ns, "goes"); got != [3]bool{} {
			t.Errorf("what a deleted session said is there: %v", got)
		}
		if _, err := r.Verify(ctx, ns, "goes"); err != nil {
			t.Errorf("the rows of a deleted session: %v", err)
		}
	}
	r.clock.add(1000 * time.Hour)
	prune(0, Pruned{})
	prune(1001*time.Hour, Pruned{})
	prune(1000*time.Hour, Pruned{Sessions: 2})
	prune(time.Nanosecond, Pruned{})
	for _, ns := range []string{"a", "b"} {
		if _, err := r.Verify(ctx, ns, "goes"); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("%s: %v", ns, err)
		}
		if _, err := r.Verify(ctx, ns, "stays"); err != nil {
			t.Errorf("%s: %v", ns, err)
		}
	}
}
