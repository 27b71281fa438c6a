// Package storetest is what every engine of sessions must do: one suite, run on each.
package storetest

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tsumugi-dev/tsumugi/services/agent/internal/store"
)

// Engine opens a store over what an earlier one left under the same test; it closes it when the test ends.
type Engine func(t *testing.T) store.Store

var t0 = time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)

func at(seconds int) time.Time { return t0.Add(time.Duration(seconds) * time.Second) }

// Run runs the suite. fresh gives a store of its own for each test, reopen one over the same data after the first was closed.
func Run(t *testing.T, fresh func(t *testing.T) (open Engine)) {
	t.Helper()
	for name, test := range map[string]func(t *testing.T, open Engine){
		"sessions": sessions, "approvals": approvals, "records": records, "texts": texts, "outgoing": outgoing, "leases": leases, "leases of another time": ahead, "due": due,
		"errors": failures, "together": together, "races": races, "reopen": reopened, "deletion": deletion, "contents": contents, "namespaces": namespaces, "closed": closed,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, fresh(t))
		})
	}
}

// must panics: it is called on the store's own goroutine, too, which t.Fatal would end.
func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		panic(err)
	}
}

func is(t *testing.T, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Errorf("error %v, want %v", err, want)
	}
}

func same(t *testing.T, want, got any) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("want -, got +:\n%s", diff)
	}
}

func update(t *testing.T, s store.Store, ns string, fn func(tx store.Tx) error) {
	t.Helper()
	must(t, s.Update(t.Context(), ns, fn))
}

func read(t *testing.T, s store.Store, ns string, fn func(v store.View) error) {
	t.Helper()
	must(t, s.Read(t.Context(), ns, fn))
}

func session(id string, second int) store.Session {
	return store.Session{ID: id, Owner: "ann", Lifecycle: "OPEN", Created: at(second), Body: []byte(`{"goal":"港"}`)}
}

func sessions(t *testing.T, open Engine) {
	s := open(t)
	update(t, s, "a", func(tx store.Tx) error {
		for i := range 5 {
			one := session(fmt.Sprintf("s%d", i), i/2) // two of the same time
			one.Waits = i == 3
			if i == 4 {
				one.Owner, one.Lifecycle = "bob", "DONE"
			}
			if err := tx.PutSession(one); err != nil {
				return err
			}
		}
		return nil
	})
	update(t, s, "a", func(tx store.Tx) error {
		is(t, tx.PutSession(session("s1", 9)), store.ErrTaken)
		one, err := tx.Session("s1")
		must(t, err)
		same(t, int64(1), one.Version)
		one.Body, one.Wake = []byte("new"), at(7)
		must(t, tx.PutSession(one))
		is(t, tx.PutSession(one), store.ErrFenced)
		now, err := tx.Session("s1")
		must(t, err)
		one.Version = 2
		same(t, one, now)
		one.ID = "gone"
		is(t, tx.PutSession(one), store.ErrNotFound)
		return nil
	})
	for _, c := range []struct {
		f    store.SessionFilter
		want []string
	}{
		{store.SessionFilter{}, []string{"s4", "s3", "s2", "s1", "s0"}}, {store.SessionFilter{Owner: "ann"}, []string{"s3", "s2", "s1", "s0"}},
		{store.SessionFilter{Lifecycle: "DONE"}, []string{"s4"}}, {store.SessionFilter{Except: "OPEN"}, []string{"s4"}}, {store.SessionFilter{Waiting: true}, []string{"s3"}},
	} {
		var got []string
		for after := (store.Place{}); ; {
			var page []store.Session
			read(t, s, "a", func(v store.View) (err error) { page, err = v.Sessions(c.f, after, 2); return err })
			if len(page) == 0 {
				break
			}
			for _, one := range page {
				got = append(got, one.ID)
			}
			last := page[len(page)-1]
			after = store.Place{At: last.Created, ID: last.ID}
		}
		same(t, c.want, got)
	}
	read(t, s, "b", func(v store.View) error {
		_, err := v.Session("s1")
		is(t, err, store.ErrNotFound)
		none, err := v.Sessions(store.SessionFilter{}, store.Place{}, 10)
		same(t, 0, len(none))
		return err
	})
}

func approvals(t *testing.T, open Engine) {
	s := open(t)
	update(t, s, "a", func(tx store.Tx) error {
		for i := range 4 {
			a := store.Approval{ID: fmt.Sprintf("a%d", i), Session: fmt.Sprintf("s%d", i%2), State: "PENDING", Created: at(i), Body: []byte{byte(i)}}
			must(t, tx.PutApproval(a))
		}
		a, err := tx.Approval("a2")
		must(t, err)
		a.State, a.Body = "APPROVED", []byte("by ann")
		return tx.PutApproval(a)
	})
	for _, c := range []struct {
		f    store.ApprovalFilter
		want []string
	}{
		{store.ApprovalFilter{State: "PENDING"}, []string{"a3", "a1", "a0"}}, {store.ApprovalFilter{Session: "s0"}, []string{"a2", "a0"}},
		{store.ApprovalFilter{Session: "s0", State: "PENDING"}, []string{"a0"}}, {store.ApprovalFilter{}, []string{"a3", "a2", "a1", "a0"}},
	} {
		var got []string
		read(t, s, "a", func(v store.View) error {
			first, err := v.Approvals(c.f, store.Place{}, 1)
			must(t, err)
			rest, err := v.Approvals(c.f, store.Place{At: first[0].Created, ID: first[0].ID}, 10)
			for _, a := range append(first, rest...) {
				got = append(got, a.ID)
			}
			return err
		})
		same(t, c.want, got)
	}
	read(t, s, "b", func(v store.View) error {
		_, err := v.Approval("a0")
		is(t, err, store.ErrNotFound)
		return nil
	})
}

func leases(t *testing.T, open Engine) {
	s := open(t)
	update(t, s, "a", func(tx store.Tx) error {
		must(t, tx.PutSession(session("s", 0)))
		l, err := tx.Claim("s", "p1", at(0), at(10))
		must(t, err)
		same(t, store.Lease{Owner: "p1", Until: at(10), Epoch: 1}, l)
		l, err = tx.Claim("s", "p1", at(5), at(15))
		must(t, err)
		same(t, int64(1), l.Epoch)
		_, err = tx.Claim("s", "p2", at(14), at(20))
		var held *store.HeldError
		if !errors.As(err, &held) || held.Owner != "p1" || !held.Until.Equal(at(15)) {
			t.Errorf("error %v", err)
		}
		l, err = tx.Claim("s", "p2", at(15), at(20))
		must(t, err)
		same(t, int64(2), l.Epoch)
		is(t, tx.Fence("s", 1), store.ErrFenced)
		must(t, tx.Fence("s", 2))
		is(t, tx.Release("s", 1), store.ErrFenced)
		must(t, tx.Release("s", 2))
		is(t, tx.Fence("s", 2), store.ErrFenced) // nobody's
		l, err = tx.Claim("s", "p1", at(16), at(20))
		same(t, int64(3), l.Epoch)
		_, lost := tx.Claim("none", "p1", at(0), at(1))
		is(t, lost, store.ErrNotFound)
		return err
	})
	read(t, s, "a", func(v store.View) error {
		l, err := v.Lease("s")
		same(t, store.Lease{Owner: "p1", Until: at(20), Epoch: 3}, l)
		return err
	})
}

// ahead: a lease that ends later than any that is claimed was claimed under a wrong clock, and keeps nobody off. The last one that is believed does.
func ahead(t *testing.T, open Engine) {
	s := open(t)
	for _, c := range []struct {
		until time.Time
		held  bool
	}{
		{at(0).Add(store.Believed), true}, {at(0).Add(store.Believed + time.Microsecond), false}, {at(0).AddDate(1, 0, 0), false},
	} {
		key := store.Key{Namespace: "a", Session: c.until.String()}
		update(t, s, "a", func(tx store.Tx) error {
			one := session(key.Session, 0)
			one.Wake = at(0)
			must(t, tx.PutSession(one))
			_, err := tx.Claim(key.Session, "dead", at(0), c.until)
			return err
		})
		due, _, err := s.Due(t.Context(), "me", at(0), 10)
		must(t, err)
		if slices.Contains(due, key) == c.held {
			t.Errorf("until %s: due are %v", c.until, due)
		}
		update(t, s, "a", func(tx store.Tx) error {
			l, err := tx.Claim(key.Session, "me", at(0), at(10))
			var held *store.HeldError
			if errors.As(err, &held) != c.held || !c.held && (err != nil || l != store.Lease{Owner: "me", Until: at(10), Epoch: 2}) {
				t.Errorf("until %s: %+v, %v", c.until, l, err)
			}
			return nil
		})
	}
}

func due(t *testing.T, open Engine) {
	s := open(t)
	for i, ns := range []string{"a", "b", "a", "a"} {
		update(t, s, ns, func(tx store.Tx) error {
			one := session(fmt.Sprintf("s%d", i), 0)
			if i < 3 {
				one.Wake = at(10 - i)
			}
			return tx.PutSession(one)
		})
	}
	update(t, s, "b", func(tx store.Tx) error {
		_, err := tx.Claim("s1", "other", at(0), at(100))
		return err
	})
	for _, c := range []struct {
		owner string
		at    int
		limit int
		want  []store.Key
		next  time.Time
	}{
		{"me", 0, 10, nil, at(8)}, {"me", 8, 10, []store.Key{{Namespace: "a", Session: "s2"}}, at(9)},
		{"me", 50, 10, []store.Key{{Namespace: "a", Session: "s2"}, {Namespace: "a", Session: "s0"}}, time.Time{}},
		{"other", 50, 2, []store.Key{{Namespace: "a", Session: "s2"}, {Namespace: "b", Session: "s1"}}, time.Time{}},
		{"me", 100, 10, []store.Key{{Namespace: "a", Session: "s2"}, {Namespace: "b", Session: "s1"}, {Namespace: "a", Session: "s0"}}, time.Time{}},
	} {
		got, next, err := s.Due(t.Context(), c.owner, at(c.at), c.limit)
		must(t, err)
		same(t, c.want, got)
		same(t, c.next, next)
	}
}
