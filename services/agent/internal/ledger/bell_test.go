package ledger

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tsumugi-dev/tsumugi/services/agent/internal/audit"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/session"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/store"
)

// TestTail: a watcher gets exactly the rows behind the one that it saw last, also where that is one in the middle of a change.
func TestTail(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	if _, err := r.Create(t.Context(), ns, Fresh{ID: "s", Owner: "ann", Items: session.Items{Goal: "港"}}, ann); err != nil {
		t.Fatal(err)
	}
	r.gated(t, "s", r.plan(t, "a1", time.Hour))
	var all []audit.Row
	changes := 0
	for row, err := range r.Rows(t.Context(), ns, "s", 1) {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, row)
	}
	if err := r.store.Read(t.Context(), ns, func(v store.View) error {
		records, err := v.Records("s", 1, store.MaxPage)
		changes = len(records)
		return err
	}); err != nil || changes == 0 || changes >= len(all) {
		t.Fatalf("%d rows in %d changes, %v: none has two", len(all), changes, err)
	}
	if now, oldest, err := r.Span(t.Context(), ns, "s"); err != nil || oldest != 1 || now.Head.Seq != uint64(len(all)) {
		t.Errorf("%+v, %d, %v", now, oldest, err)
	}
	for after := range len(all) + 2 {
		got, err := r.Tail(t.Context(), ns, "s", int64(after))
		if err != nil || !got.Last || got.Session.Head.Seq != uint64(len(all)) {
			t.Errorf("behind %d: %+v, %v", after, got, err)
		}
		want := all[min(after, len(all)):]
		if len(got.Rows) != len(want) || len(want) > 0 && !cmp.Equal(got.Rows, want) {
			t.Errorf("behind %d: %s", after, cmp.Diff(want, got.Rows))
		}
	}
	if _, err := r.Tail(t.Context(), ns, "none", 0); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("error %v", err)
	}
	if _, _, err := r.Span(t.Context(), ns, "none"); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("error %v", err)
	}
}

// TestAgent19WhoNeverLooks: a watcher that does not look holds up nobody who changes the session, and finds all that happened when it does
// (cases/agent.md c19).
func TestAgent19WhoNeverLooks(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.create(t, "s")
	rang, stop := r.Listen(ns, "s")
	defer stop()
	const changes = 50
	for i := range changes {
		if _, err := r.Update(t.Context(), ns, "s", "", ann, func(s *Session) error {
			s.Items.Goal = fmt.Sprint("港", i)
			return nil
		}); err != nil {
			t.Fatal(err)
		}
	}
	<-rang
	select {
	case <-rang:
		t.Error("it is told twice to look once")
	default:
	}
	got, err := r.Tail(t.Context(), ns, "s", 1)
	if err != nil || len(got.Rows) != changes || !got.Last || got.Rows[0].Seq != 2 || got.Rows[changes-1].Seq != changes+1 {
		t.Errorf("%d rows, %v", len(got.Rows), err)
	}
}
