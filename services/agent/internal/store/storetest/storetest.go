// Package storetest is what every engine of sessions must do: one suite, run on each.
package storetest

import (
	"context"
	"errors"
	"fmt"
	"sync"
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
		"sessions": sessions, "approvals": approvals, "records": records, "texts": texts, "requests": requests, "leases": leases, "due": due,
		"errors": failures, "together": together, "races": races, "reopen": reopened, "deletion": deletion, "closed": closed,
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
		{store.SessionFilter{Lifecycle: "DONE"}, []string{"s4"}}, {store.SessionFilter{Waiting: true}, []string{"s3"}},
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

func records(t *testing.T, open Engine) {
	s := open(t)
	update(t, s, "a", func(tx store.Tx) error {
		must(t, tx.PutSession(session("s", 0)))
		for i := int64(1); i <= 5; i++ {
			must(t, tx.AddRecord("s", store.Record{Seq: i, Time: at(int(i)), Body: []byte{byte(i)}}))
		}
		is(t, tx.AddRecord("s", store.Record{Seq: 7}), store.ErrTaken)
		is(t, tx.AddRecord("s", store.Record{Seq: 5}), store.ErrTaken)
		return nil
	})
	seqs := func(session string, from int64, limit int) (all []int64) {
		read(t, s, "a", func(v store.View) error {
			list, err := v.Records(session, from, limit)
			for _, r := range list {
				same(t, at(int(r.Seq)), r.Time)
				all = append(all, r.Seq)
			}
			return err
		})
		return all
	}
	same(t, []int64{1, 2, 3, 4, 5}, seqs("s", 0, 10))
	same(t, []int64{3, 4}, seqs("s", 3, 2))
	same(t, []int64(nil), seqs("other", 0, 10))
	update(t, s, "a", func(tx store.Tx) error { return tx.PruneRecords("s", 4) })
	same(t, []int64{4, 5}, seqs("s", 0, 10))
	update(t, s, "a", func(tx store.Tx) error { return tx.PruneRecords("s", 99) })
	same(t, []int64{5}, seqs("s", 0, 10)) // the next number goes by it
	update(t, s, "a", func(tx store.Tx) error { return tx.AddRecord("s", store.Record{Seq: 6, Time: at(6)}) })
	same(t, []int64{5, 6}, seqs("s", 0, 10))
}

func texts(t *testing.T, open Engine) {
	s := open(t)
	update(t, s, "a", func(tx store.Tx) error {
		for i := range 5 {
			must(t, tx.PutText(store.Text{Session: "s", ID: fmt.Sprint(i), Until: at(i), Body: []byte("夜")}))
		}
		must(t, tx.PutText(store.Text{Session: "s", ID: "stays"}))
		return tx.PutText(store.Text{Session: "s", ID: "0", Until: at(0), Body: []byte("夜の港")})
	})
	read(t, s, "a", func(v store.View) error {
		got, err := v.Text("s", "0")
		same(t, store.Text{Session: "s", ID: "0", Until: at(0), Body: []byte("夜の港")}, got)
		return err
	})
	update(t, s, "b", func(tx store.Tx) error {
		n, err := tx.PruneTexts(at(99), 10)
		same(t, 0, n)
		return err
	})
	for _, want := range []int{2, 1, 0} {
		update(t, s, "a", func(tx store.Tx) error {
			n, err := tx.PruneTexts(at(2), 2)
			same(t, want, n)
			return err
		})
	}
	read(t, s, "a", func(v store.View) error {
		_, err := v.Text("s", "2")
		is(t, err, store.ErrNotFound)
		_, err = v.Text("s", "stays")
		return err
	})
}

func requests(t *testing.T, open Engine) {
	s := open(t)
	r := store.Request{Key: "ann/send/s/1", Body: "hash", At: at(0), Result: []byte("answer")}
	update(t, s, "a", func(tx store.Tx) error { return tx.PutRequest(r) })
	update(t, s, "a", func(tx store.Tx) error {
		return tx.PutRequest(store.Request{Key: "other", At: at(0).Add(2 * store.RequestLifetime)})
	})
	read(t, s, "a", func(v store.View) error {
		_, err := v.Request(r.Key, at(1))
		is(t, err, store.ErrNotFound) // too old when the other one came
		_, err = v.Request("other", at(0).Add(3*store.RequestLifetime))
		is(t, err, store.ErrNotFound)
		return nil
	})
	update(t, s, "a", func(tx store.Tx) error { return tx.PutRequest(r) })
	read(t, s, "a", func(v store.View) error {
		got, err := v.Request(r.Key, at(1))
		same(t, r, got)
		return err
	})
	read(t, s, "b", func(v store.View) error {
		_, err := v.Request(r.Key, at(1))
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

// failures leave nothing, and are the caller's.
func failures(t *testing.T, open Engine) {
	s := open(t)
	mine := errors.New("mine")
	is(t, s.Update(t.Context(), "a", func(tx store.Tx) error { return errors.Join(tx.PutSession(session("s", 0)), mine) }), mine)
	func() {
		defer func() { same(t, any("oh"), recover()) }()
		_ = s.Update(t.Context(), "a", func(tx store.Tx) error {
			must(t, tx.PutSession(session("s", 0)))
			panic("oh")
		})
		t.Error("the panic is not the caller's")
	}()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	is(t, s.Update(ctx, "a", func(store.Tx) error { t.Error("it runs"); return nil }), context.Canceled)
	is(t, s.Read(ctx, "a", func(store.View) error { t.Error("it runs"); return nil }), context.Canceled)
	if err := s.Update(t.Context(), "a", func(tx store.Tx) error {
		return tx.PutText(store.Text{Session: "s", ID: "large", Body: make([]byte, store.MaxBody+1)})
	}); err == nil {
		t.Error("a body over the bound is taken")
	}
	read(t, s, "a", func(v store.View) error {
		_, err := v.Session("s")
		is(t, err, store.ErrNotFound)
		return nil
	})
}

// together: one function of a batch that fails takes back its own writes alone, and later ones see those of earlier ones.
func together(t *testing.T, open Engine) {
	s := open(t)
	update(t, s, "a", func(tx store.Tx) error { return tx.PutSession(session("s", 0)) })
	var all sync.WaitGroup
	mine := errors.New("mine")
	for i := range 64 {
		all.Go(func() {
			err := s.Update(t.Context(), "a", func(tx store.Tx) error {
				list, err := tx.Records("s", 1, 1000)
				if err != nil {
					return err
				}
				if err := tx.AddRecord("s", store.Record{Seq: int64(len(list) + 1), Time: at(i)}); err != nil {
					return err
				}
				if i%4 == 0 {
					return mine
				}
				return nil
			})
			if i%4 == 0 {
				is(t, err, mine)
			} else if err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	read(t, s, "a", func(v store.View) error {
		list, err := v.Records("s", 1, 1000)
		same(t, 48, len(list))
		return err
	})
}

// races: 32 callers decide one approval, and one of them wins (field/review-agent.md C56).
func races(t *testing.T, open Engine) {
	s := open(t)
	update(t, s, "a", func(tx store.Tx) error {
		return tx.PutApproval(store.Approval{ID: "a", Session: "s", State: "PENDING", Created: at(0)})
	})
	won := make(chan string, 32)
	var all sync.WaitGroup
	for i := range 32 {
		all.Go(func() {
			mine := fmt.Sprint(i)
			err := s.Update(t.Context(), "a", func(tx store.Tx) error {
				a, err := tx.Approval("a")
				if err != nil || a.State != "PENDING" {
					return errors.Join(err, store.ErrTaken)
				}
				a.State = mine
				return tx.PutApproval(a)
			})
			if err == nil {
				won <- mine
			}
		})
	}
	all.Wait()
	read(t, s, "a", func(v store.View) error {
		a, err := v.Approval("a")
		if len(won) != 1 || a.State != <-won {
			t.Errorf("%d won, it is %s", len(won), a.State)
		}
		return err
	})
}

func reopened(t *testing.T, open Engine) {
	s := open(t)
	update(t, s, "a", func(tx store.Tx) error {
		must(t, tx.PutSession(session("s", 0)))
		_, err := tx.Claim("s", "p", at(0), at(9))
		must(t, err)
		must(t, tx.PutApproval(store.Approval{ID: "a", Session: "s", State: "PENDING", Created: at(0), Body: []byte("b")}))
		return tx.AddRecord("s", store.Record{Seq: 1, Time: at(1), Body: []byte("r")})
	})
	must(t, s.Close())
	s = open(t)
	read(t, s, "a", func(v store.View) error {
		one, err := v.Session("s")
		must(t, err)
		want := session("s", 0)
		want.Version = 1
		same(t, want, one)
		l, err := v.Lease("s")
		must(t, err)
		same(t, int64(1), l.Epoch)
		a, err := v.Approval("a")
		must(t, err)
		same(t, "b", string(a.Body))
		list, err := v.Records("s", 0, 9)
		same(t, []store.Record{{Seq: 1, Time: at(1), Body: []byte("r")}}, list)
		return err
	})
}

func deletion(t *testing.T, open Engine) {
	s := open(t)
	for _, ns := range []string{"a", "b"} {
		for _, id := range []string{"s", "other"} {
			update(t, s, ns, func(tx store.Tx) error {
				must(t, tx.PutSession(session(id, 0)))
				must(t, tx.PutApproval(store.Approval{ID: "a-" + id, Session: id, State: "PENDING", Created: at(0)}))
				must(t, tx.PutText(store.Text{Session: id, ID: "x"}))
				return tx.AddRecord(id, store.Record{Seq: 1, Time: at(0)})
			})
		}
	}
	update(t, s, "a", func(tx store.Tx) error { return tx.DeleteSession("s") })
	is(t, s.Update(t.Context(), "a", func(tx store.Tx) error { return tx.DeleteSession("s") }), store.ErrNotFound)
	for _, k := range []store.Key{{Namespace: "a", Session: "s"}, {Namespace: "a", Session: "other"}, {Namespace: "b", Session: "s"}} {
		read(t, s, k.Namespace, func(v store.View) error {
			want := error(nil)
			if k == (store.Key{Namespace: "a", Session: "s"}) {
				want = store.ErrNotFound
			}
			_, err := v.Session(k.Session)
			is(t, err, want)
			_, err = v.Approval("a-" + k.Session)
			is(t, err, want)
			_, err = v.Text(k.Session, "x")
			is(t, err, want)
			list, err := v.Records(k.Session, 0, 9)
			same(t, want == nil, len(list) == 1)
			return err
		})
	}
}

func closed(t *testing.T, open Engine) {
	s := open(t)
	must(t, s.Close())
	must(t, s.Close())
	is(t, s.Update(t.Context(), "a", func(store.Tx) error { return nil }), store.ErrClosed)
	is(t, s.Read(t.Context(), "a", func(store.View) error { return nil }), store.ErrClosed)
	_, _, err := s.Due(t.Context(), "me", at(0), 1)
	is(t, err, store.ErrClosed)
}
