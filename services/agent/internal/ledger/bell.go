package ledger

import (
	"context"
	"slices"
	"sync"

	"github.com/tsumugi-dev/tsumugi/services/agent/internal/audit"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/store"
)

// bell tells listeners of this process that a session was changed by this process. It carries nothing: what happened is read from the store,
// so that a slow listener loses nothing and holds nobody up.
type bell struct {
	mu        sync.Mutex
	listeners map[store.Key]map[chan struct{}]bool
}

func newBell() *bell { return &bell{listeners: map[store.Key]map[chan struct{}]bool{}} }

func (b *bell) ring(k store.Key) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for c := range b.listeners[k] {
		select {
		case c <- struct{}{}:
		default: // It has been told, and has not looked yet.
		}
	}
}

// Listen gives a channel that has a value whenever the session was changed since it was last read from; stop ends it.
func (l *Ledger) Listen(ns, id string) (rang <-chan struct{}, stop func()) {
	k, c := store.Key{Namespace: ns, Session: id}, make(chan struct{}, 1)
	b := l.bell
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.listeners[k] == nil {
		b.listeners[k] = map[chan struct{}]bool{}
	}
	b.listeners[k][c] = true
	return c, func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		if delete(b.listeners[k], c); len(b.listeners[k]) == 0 {
			delete(b.listeners, k)
		}
	}
}

// Tail is a session and the next rows of it, in one snapshot.
type Tail struct {
	Session Session
	Rows    []audit.Row
	// Last: these are all rows that there are.
	Last bool
}

// Tail gives a session and its rows behind one, those of at most a chunk of changes, in one snapshot. store.ErrNotFound, *BrokenError.
func (l *Ledger) Tail(ctx context.Context, ns, id string, after int64) (t Tail, err error) {
	err = l.store.Read(ctx, ns, func(v store.View) error {
		var err error
		if t.Session, err = l.present(v, ns, id); err != nil {
			return err
		}
		page, err := v.Records(id, after+1, chunk)
		if err != nil {
			return err
		}
		first := after + 1
		for _, p := range page {
			r, err := recordOf(id, first, p)
			if err != nil {
				return err
			}
			t.Rows, first = append(t.Rows, behind(r.Rows, after)...), p.Seq+1
		}
		t.Last = len(page) < chunk
		return nil
	})
	return t, err
}

// Span gives a session, and the number of the first row of it that is kept. store.ErrNotFound, *BrokenError.
func (l *Ledger) Span(ctx context.Context, ns, id string) (s Session, oldest int64, err error) {
	err = l.store.Read(ctx, ns, func(v store.View) (err error) {
		if s, err = l.present(v, ns, id); err != nil {
			return err
		}
		first, err := v.Records(id, 1, 1)
		if err != nil {
			return err
		}
		for _, p := range first {
			oldest = 1 // where it cannot be read
			if r, err := recordOf(id, 1, p); err == nil {
				oldest = int64(r.Rows[0].Seq)
			}
		}
		return nil
	})
	return s, oldest, err
}

// Look gives a session to fn with what else is stored, in one snapshot. store.ErrNotFound, and the error of fn.
func (l *Ledger) Look(ctx context.Context, ns, id string, fn func(Session, store.View) error) error {
	return l.store.Read(ctx, ns, func(v store.View) error {
		s, err := l.present(v, ns, id)
		if err != nil {
			return err
		}
		return fn(s, v)
	})
}

// present reads a session that was not deleted. store.ErrNotFound.
func (l *Ledger) present(v store.View, ns, id string) (Session, error) {
	found, err := v.Session(id)
	if err != nil {
		return Session{}, err
	}
	s, err := l.decode(v, ns, found)
	if err == nil {
		err = gone(s)
	}
	return s, err
}

// behind are the rows of a change behind a number.
func behind(rows []audit.Row, after int64) []audit.Row {
	return slices.DeleteFunc(rows, func(r audit.Row) bool { return int64(r.Seq) <= after })
}
