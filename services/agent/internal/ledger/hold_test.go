package ledger

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/tsumugi-dev/tsumugi/services/agent/internal/session"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/store"
)

// under is the rig as one process has it that holds session s.
func (r *rig) under(owner string) *rig {
	mine := *r
	mine.Ledger = r.Under(NewHold(owner, time.Minute))
	return &mine
}

func (r *rig) lease(t testing.TB, id string) (l store.Lease) {
	t.Helper()
	if err := r.store.Read(t.Context(), ns, func(v store.View) (err error) {
		l, err = v.Lease(id)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	return l
}

// opens are the events of a turn that is at work.
var opens = []session.Event{session.Sent{ID: "m", Mode: session.Queue}, session.TurnOpened{Turn: "t", Utterance: "u"}}

// rests is the answer behind which nothing is to be done.
var rests = session.Answered{Step: session.Planning, Next: session.NextDone, Utterance: "v"}

// TestAHold claims with its first change, and gives back with the one behind which nothing is to be done.
func TestAHold(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.create(t, "s")
	mine := r.under("p1")
	mine.events(t, "s", opens...)
	l := r.lease(t, "s")
	if l.Owner != "p1" || l.Epoch != 1 || !l.Until.Equal(r.clock.Now().Add(time.Minute)) {
		t.Errorf("%+v", l)
	}
	var held *store.HeldError
	if _, err := r.under("p2").apply(t.Context(), "s", rests); !errors.As(err, &held) || held.Owner != "p1" {
		t.Errorf("error %v", err)
	}
	r.clock.add(50 * time.Second)
	if err := mine.Renew(t.Context(), ns, "s"); err != nil || !r.lease(t, "s").Until.Equal(r.clock.Now().Add(time.Minute)) {
		t.Errorf("%+v, %v", r.lease(t, "s"), err)
	}
	r.events(t, "s", session.Sent{ID: "more", Mode: session.Queue}) // what a person sends needs no lease
	mine.events(t, "s", rests)
	if l := r.lease(t, "s"); l.Owner != "p1" {
		t.Errorf("a message waits, and the lease is %+v", l)
	}
	mine.events(t, "s", session.TurnOpened{Turn: "t2", Utterance: "u2"}, rests)
	if l := r.lease(t, "s"); l.Owner != "" || mine.hold.Epoch() != 0 {
		t.Errorf("%+v", l)
	}
	if slices.Contains(r.rows(t, "s"), "turn PICKED_UP") {
		t.Errorf("%v", r.rows(t, "s"))
	}
	r.sound(t, "s")
}

// TestATakeOver is counted in the transaction that claims, once; of the old owner nothing is written any more (C54, C55).
func TestATakeOver(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.create(t, "s")
	old, next := r.under("p1"), r.under("p2")
	old.events(t, "s", opens...)
	r.clock.add(time.Minute)
	if err := next.Claim(t.Context(), ns, "s", ann); err != nil {
		t.Fatal(err)
	}
	s, err := r.Get(t.Context(), ns, "s")
	if err != nil || s.State.PickUps != 1 || r.lease(t, "s").Epoch != 2 {
		t.Errorf("%+v, %+v, %v", s.State, r.lease(t, "s"), err)
	}
	for name, err := range map[string]error{
		"change": func() error { _, err := old.apply(t.Context(), "s", rests); return err }(), "renew": old.Renew(t.Context(), ns, "s"),
	} {
		if !errors.Is(err, store.ErrFenced) {
			t.Errorf("%s: error %v", name, err)
		}
	}
	if err := old.Release(t.Context(), ns, "s"); err != nil || r.lease(t, "s").Owner != "p2" {
		t.Errorf("%+v, %v", r.lease(t, "s"), err)
	}
	now, err := r.Get(t.Context(), ns, "s")
	if err != nil || now.Version != s.Version {
		t.Errorf("%+v, %v", now, err)
	}
	next.events(t, "s", rests)
	r.sound(t, "s")
}

// TestALeaseOfAnotherTime: whoever died under a clock that was a year ahead keeps nobody from the session, and that it died is counted (C54, S16).
func TestALeaseOfAnotherTime(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.create(t, "s")
	r.under("p1").events(t, "s", opens...)
	far := r.clock.Now().AddDate(1, 0, 0)
	if err := r.store.Update(t.Context(), ns, func(tx store.Tx) error {
		_, err := tx.Claim("s", "p1", r.clock.Now(), far)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	next := r.under("p2")
	next.events(t, "s", rests)
	if rows := r.rows(t, "s"); r.lease(t, "s").Owner != "" || !slices.Contains(rows, "turn PICKED_UP") {
		t.Errorf("%+v, %v", r.lease(t, "s"), rows)
	}
	r.sound(t, "s")
}

// TestAClaimAlone writes the lease and no row; a session that was given back is not picked up, nor one that its owner has shelved and tries again: it is
// where that had panicked, and where another one takes it.
func TestAClaimAlone(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.create(t, "s")
	r.events(t, "s", opens...)
	release := func(p *rig) error { return p.Release(t.Context(), ns, "s") }
	shelve := func(p *rig) error { return p.Shelve(t.Context(), ns, "s") }
	for i, c := range []struct {
		owner   string
		crashed bool
		rows    int
		leave   func(*rig) error
		left    string
	}{
		{"p", false, 0, release, ""}, {"p", false, 0, shelve, "p"}, {"p", false, 0, shelve, "p"}, {"p", true, 1, shelve, "p"}, {"p", false, 0, shelve, "p"},
		{"q", false, 1, shelve, "q"},
	} {
		before := len(r.rows(t, "s"))
		p := r.under(c.owner)
		if c.crashed {
			p.Ledger = r.Under(p.hold.AfterCrash())
		}
		if p.Claimed() {
			t.Error("claimed before anything")
		}
		if err := p.Claim(t.Context(), ns, "s", ann); err != nil || !p.Claimed() || len(r.rows(t, "s"))-before != c.rows {
			t.Errorf("%d: %v, %v", i, err, r.rows(t, "s"))
		}
		if err := c.leave(p); err != nil {
			t.Fatal(err)
		}
		if l := r.lease(t, "s"); l.Owner != c.left {
			t.Errorf("%d: %+v", i, l)
		}
		r.clock.add(time.Minute)
	}
	if !r.Claimed() {
		t.Error("without a hold nothing is claimed")
	}
	r.sound(t, "s")
}
