package storetest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/tsumugi-dev/tsumugi/services/agent/internal/store"
)

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
				if err := tx.AddRecord("s", int64(len(list)), store.Record{Seq: int64(len(list) + 1), Time: at(i)}); err != nil {
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
		return tx.AddRecord("s", 0, store.Record{Seq: 1, Time: at(1), Body: []byte("r")})
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

// contents go, and the session and its records stay.
func contents(t *testing.T, open Engine) {
	s := open(t)
	for _, id := range []string{"s", "other"} {
		update(t, s, "a", func(tx store.Tx) error {
			must(t, tx.PutSession(session(id, 0)))
			must(t, tx.PutApproval(store.Approval{ID: "a-" + id, Session: id, State: "DENIED", Created: at(0)}))
			must(t, tx.PutText(store.Text{Session: id, ID: "x"}))
			must(t, tx.PutOutgoing(store.Outgoing{Session: id, N: 1}))
			return tx.AddRecord(id, 0, store.Record{Seq: 1, Time: at(0)})
		})
	}
	update(t, s, "b", func(tx store.Tx) error { return tx.DeleteContents("s") })
	update(t, s, "a", func(tx store.Tx) error { return tx.DeleteContents("s") })
	for id, want := range map[string]error{"s": store.ErrNotFound, "other": nil} {
		read(t, s, "a", func(v store.View) error {
			_, err := v.Approval("a-" + id)
			is(t, err, want)
			_, err = v.Text(id, "x")
			is(t, err, want)
			left, err := v.Outgoing(id, 0, 9)
			is(t, err, nil)
			same(t, want == nil, len(left) == 1)
			list, err := v.Records(id, 0, 9)
			same(t, 1, len(list))
			is(t, err, nil)
			_, err = v.Session(id)
			return err
		})
	}
}

// namespaces are those with a session, however many.
func namespaces(t *testing.T, open Engine) {
	s := open(t)
	for _, ns := range []string{"b", "a", "c"} {
		for _, id := range []string{"s", "other"} {
			update(t, s, ns, func(tx store.Tx) error { return tx.PutSession(session(id, 0)) })
		}
	}
	update(t, s, "empty", func(tx store.Tx) error { return tx.PutText(store.Text{Session: "x", ID: "x"}) })
	for _, c := range []struct {
		after string
		limit int
		want  []string
	}{{"", 9, []string{"a", "b", "c"}}, {"", 2, []string{"a", "b"}}, {"b", 2, []string{"c"}}, {"c", 2, nil}} {
		got, err := s.Namespaces(t.Context(), c.after, c.limit)
		is(t, err, nil)
		same(t, c.want, got)
	}
}

func deletion(t *testing.T, open Engine) {
	s := open(t)
	for _, ns := range []string{"a", "b"} {
		for _, id := range []string{"s", "other"} {
			update(t, s, ns, func(tx store.Tx) error {
				must(t, tx.PutSession(session(id, 0)))
				must(t, tx.PutApproval(store.Approval{ID: "a-" + id, Session: id, State: "PENDING", Created: at(0)}))
				must(t, tx.PutText(store.Text{Session: id, ID: "x"}))
				must(t, tx.PutOutgoing(store.Outgoing{Session: id, N: 1}))
				return tx.AddRecord(id, 0, store.Record{Seq: 1, Time: at(0)})
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
			left, err := v.Outgoing(k.Session, 0, 9)
			is(t, err, nil)
			same(t, want == nil, len(left) == 1)
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
