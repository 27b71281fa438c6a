package ledger

import (
	"context"
	"errors"
	"iter"

	"github.com/tsumugi-dev/tsumugi/services/agent/internal/store"
)

// listed is how many sessions of a list are read at once: each may have as much as store.MaxBody.
const listed = 32

// Listed is an entry of a list.
type Listed struct {
	Session Session
	// Broken is why the session cannot be read: then only its ID, Owner, Created and Version are known. nil: it can.
	Broken *BrokenError
}

// Place is where the entry is: a page behind it begins there.
func (e Listed) Place() store.Place { return store.Place{At: e.Session.Created, ID: e.Session.ID} }

// List gives sessions behind a place, newest first, those that cannot be read among them, in one snapshot of the store for each few. An error
// ends them.
func (l *Ledger) List(ctx context.Context, ns string, f store.SessionFilter, after store.Place) iter.Seq2[Listed, error] {
	f.Except = deleted
	return store.Each(listed, l.in(ctx, ns), func(v store.View, last *Listed) (all []Listed, err error) {
		found, err := v.Sessions(f, store.Behind(last, after), listed)
		for _, s := range found {
			e, err := l.entry(v, ns, s)
			if err != nil {
				return nil, err
			}
			all = append(all, e)
		}
		return all, err
	})
}

// in reads a namespace, for store.Each.
func (l *Ledger) in(ctx context.Context, ns string) func(func(store.View) error) error {
	return func(fn func(store.View) error) error { return l.store.Read(ctx, ns, fn) }
}

// entry is an error of the store alone.
func (l *Ledger) entry(v store.View, ns string, found store.Session) (e Listed, err error) {
	s, err := l.decode(v, ns, found)
	if errors.As(err, &e.Broken) {
		s, err = Session{ID: found.ID, Owner: found.Owner, Version: found.Version}, nil
	}
	s.Created = found.Created // that by which lists are in order
	e.Session = s
	return e, err
}

// Namespaces gives those that have a session, in order. An error ends them.
func (l *Ledger) Namespaces(ctx context.Context) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		for after := ""; ; {
			all, err := l.store.Namespaces(ctx, after, chunk)
			if err != nil {
				yield("", err)
				return
			}
			for _, ns := range all {
				if after = ns; !yield(ns, nil) {
					return
				}
			}
			if len(all) < chunk {
				return
			}
		}
	}
}
