package storetest

import (
	"fmt"
	"testing"

	"github.com/tsumugi-dev/tsumugi/services/agent/internal/store"
)

func records(t *testing.T, open Engine) {
	s := open(t)
	update(t, s, "a", func(tx store.Tx) error {
		must(t, tx.PutSession(session("s", 0)))
		for i := int64(1); i <= 5; i++ {
			must(t, tx.AddRecord("s", i-1, store.Record{Seq: i, Time: at(int(i)), Body: []byte{byte(i)}}))
		}
		for after, seq := range map[int64]int64{6: 7, 4: 5, 5: 5, 7: 6} {
			is(t, tx.AddRecord("s", after, store.Record{Seq: seq}), store.ErrTaken)
		}
		is(t, tx.AddRecord("new", 1, store.Record{Seq: 2}), store.ErrTaken)
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
	same(t, []int64{5}, seqs("s", 0, 10))                                                                         // the next number goes by it
	update(t, s, "a", func(tx store.Tx) error { return tx.AddRecord("s", 5, store.Record{Seq: 8, Time: at(8)}) }) // three rows
	for from, want := range map[int64][]int64{0: {5, 8}, 6: {8}, 8: {8}, 9: nil} {
		same(t, want, seqs("s", from, 10))
	}
	update(t, s, "a", func(tx store.Tx) error { return tx.PruneRecords("s", 7) })
	same(t, []int64{8}, seqs("s", 0, 10))
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
	ids := func(ns, session, after string, limit int) (all []string) {
		read(t, s, ns, func(v store.View) (err error) {
			all, err = v.TextIDs(session, after, limit)
			return err
		})
		return all
	}
	same(t, []string{"0", "1", "2"}, ids("a", "s", "", 3))
	same(t, []string{"3", "4", "stays"}, ids("a", "s", "2", 9))
	same(t, []string(nil), append(append(ids("a", "s", "stays", 9), ids("b", "s", "", 9)...), ids("a", "x", "", 9)...))
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

func outgoing(t *testing.T, open Engine) {
	s := open(t)
	for _, k := range []store.Key{{Namespace: "b", Session: "s"}, {Namespace: "a", Session: "t"}, {Namespace: "a", Session: "s"}} {
		update(t, s, k.Namespace, func(tx store.Tx) error {
			for _, n := range []int64{10, 2, 1} {
				must(t, tx.PutOutgoing(store.Outgoing{Session: k.Session, N: n, Body: []byte("old")}))
			}
			return tx.PutOutgoing(store.Outgoing{Session: k.Session, N: 2, Body: []byte("港")})
		})
	}
	numbers := func(ns string, after int64, limit int) (all []int64) {
		read(t, s, ns, func(v store.View) error {
			list, err := v.Outgoing("s", after, limit)
			for _, o := range list {
				if o.N == 2 {
					same(t, store.Outgoing{Session: "s", N: 2, Body: []byte("港")}, o)
				}
				all = append(all, o.N)
			}
			return err
		})
		return all
	}
	telling := func(after store.Key, limit int) []store.Key {
		keys, err := s.Telling(t.Context(), after, limit)
		must(t, err)
		return keys
	}
	same(t, []int64{1, 2}, numbers("a", 0, 2))
	same(t, []int64{10}, numbers("a", 2, 9))
	same(t, []store.Key{{Namespace: "a", Session: "s"}, {Namespace: "a", Session: "t"}}, telling(store.Key{}, 2))
	same(t, []store.Key{{Namespace: "b", Session: "s"}}, telling(store.Key{Namespace: "a", Session: "t"}, 2))
	update(t, s, "a", func(tx store.Tx) error {
		for _, n := range []int64{1, 2, 10} {
			must(t, tx.TakeOutgoing("s", n))
		}
		return tx.TakeOutgoing("s", 1) // gone already
	})
	same(t, []int64(nil), numbers("a", 0, 9))
	same(t, []int64{1, 2, 10}, numbers("b", 0, 9))
	same(t, []store.Key{{Namespace: "a", Session: "t"}, {Namespace: "b", Session: "s"}}, telling(store.Key{}, 9))
}
