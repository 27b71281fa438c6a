package ledger

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/tsumugi-dev/tsumugi/services/agent/internal/audit"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/gate"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/store"
)

// chunk is how many rows are read at once.
const chunk = 500

// Rows gives the rows of a session from a number on, in one snapshot of the store for each chunk. Behind a *BrokenError, of rows that cannot be
// read, the next ones follow; any other error ends them.
func (l *Ledger) Rows(ctx context.Context, ns, id string, from uint64) iter.Seq2[audit.Row, error] {
	return func(yield func(audit.Row, error) bool) {
		for r, err := range l.records(ctx, ns, id, from) {
			if err != nil && !yield(audit.Row{}, err) {
				return
			}
			for _, row := range r.Rows {
				if row.Seq >= from && !yield(row, nil) {
					return
				}
			}
		}
	}
}

// records are those of Rows, in the same way.
func (l *Ledger) records(ctx context.Context, ns, id string, from uint64) iter.Seq2[record, error] {
	return recordsIn(l.in(ctx, ns), id, int64(from))
}

// recordsIn are the records of a session from that of a row on. Behind a *BrokenError the next ones follow; any other error ends them.
func recordsIn(read func(func(store.View) error) error, id string, from int64) iter.Seq2[record, error] {
	found := store.Each(chunk, read, func(v store.View, last *store.Record) ([]store.Record, error) {
		if last == nil {
			return v.Records(id, from, chunk)
		}
		return v.Records(id, last.Seq+1, chunk)
	})
	return func(yield func(record, error) bool) {
		next := from
		for p, err := range found {
			if err != nil {
				yield(record{}, err)
				return
			}
			if !yield(recordOf(id, next, p)) {
				return
			}
			next = p.Seq + 1
		}
	}
}

// DiffersError says that a session made again from its rows is not what is stored.
type DiffersError struct {
	Session string
	// Members are those of its record that are not what the rows make, or that they do not make at all.
	Members []string
}

func (e *DiffersError) Error() string {
	return "its record is not what its rows make of it: " + strings.Join(e.Members, ", ")
}

// ReplayError says why a session cannot be made again from its rows.
type ReplayError struct {
	Session string
	Err     error
}

func (e *ReplayError) Error() string {
	return fmt.Sprintf("session %s cannot be made again from its rows: %v", e.Session, e.Err)
}

// Unwrap gives why.
func (e *ReplayError) Unwrap() error { return e.Err }

// Replay makes a session again from its rows, and says whether it is, byte by byte, the one that is stored. What is written meanwhile is left out.
// *DiffersError; *ReplayError, such as where rows were pruned; *BrokenError of a session that cannot be read; store.ErrNotFound and errors of the store.
func (l *Ledger) Replay(ctx context.Context, ns, id string) (Session, error) {
	found, err := l.stored(ctx, ns, id)
	if err != nil {
		return Session{}, err
	}
	kept, err := parse(found)
	if err != nil {
		return Session{}, err
	}
	head := kept.session.Head
	made, err := l.replayed(ctx, ns, id, head.Seq)
	if err != nil {
		return Session{}, err
	}
	raw, err := json.Marshal(made)
	if err != nil {
		return Session{}, &ReplayError{id, err}
	}
	var again Session
	if err := json.Unmarshal(raw, &again); err != nil {
		return Session{}, &ReplayError{id, err}
	}
	if differ := differing(made, kept.text); differ != nil {
		return again, &DiffersError{id, differ}
	}
	again.Version, again.Head = found.Version, head
	return again, nil
}

// replayed are the members that the rows of a session make, up to one of them. *ReplayError, or that of the store.
func (l *Ledger) replayed(ctx context.Context, ns, id string, upTo uint64) (map[string]json.RawMessage, error) {
	made, first := map[string]json.RawMessage{}, true
	for r, err := range l.records(ctx, ns, id, 1) {
		var broken *BrokenError
		switch {
		case errors.As(err, &broken):
			return nil, &ReplayError{id, err}
		case err != nil:
			return nil, err
		case first && r.Rows[0].Seq != 1:
			return nil, &ReplayError{id, fmt.Errorf("those before %d are no longer kept", r.Rows[0].Seq)}
		case r.Rows[0].Seq > upTo:
			return made, nil
		}
		first = false
		if err := patch(made, r); err != nil {
			return nil, &ReplayError{id, err}
		}
	}
	return made, nil
}

// differing names the members of a session's text that are not those that its rows make, in order; nil: there are none. A second one of a name is another.
func differing(made map[string]json.RawMessage, text []byte) (names []string) {
	parts, _ := members(nil, text) // A text that cannot be taken apart has none of them.
	seen := map[string]bool{}
	for _, m := range parts {
		name := string(m.key)
		if seen[name] || !bytes.Equal(made[name], m.value) {
			names = append(names, name)
		}
		seen[name] = true
	}
	for name := range made {
		if !seen[name] {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// Agree says whether the approvals of a session are those of its state: none waits, or may start, of which the session does not know. One that was put
// in from outside has no row, and is found here alone. *gate.SettleError, *BrokenError, store.ErrNotFound.
func (l *Ledger) Agree(ctx context.Context, ns, id string) error {
	return l.store.Read(ctx, ns, func(v store.View) error {
		found, err := v.Session(id)
		if err != nil {
			return err
		}
		s, err := parse(found)
		if err != nil {
			return err
		}
		var all []gate.Approval
		read := func(fn func(store.View) error) error { return fn(v) }
		pages := store.Each(atOnce, read, func(v store.View, last *store.Approval) ([]store.Approval, error) {
			return v.Approvals(store.ApprovalFilter{Session: id}, store.Behind(last, store.Place{}), atOnce)
		})
		for one, err := range pages {
			if err != nil {
				return err
			}
			a, err := Approval(one)
			if err != nil {
				return err
			}
			all = append(all, a)
		}
		return gate.Agree(s.session.State, all)
	})
}

// patch takes over what a record says that changed, if that is what its last row sealed.
func patch(made map[string]json.RawMessage, r record) error {
	if err := r.sealed(); err != nil {
		return err
	}
	var changed map[string]json.RawMessage
	if err := json.Unmarshal(r.Delta, &changed); err != nil {
		return err
	}
	for k, v := range changed {
		if string(v) == "null" {
			delete(made, k)
			continue
		}
		made[k] = v
	}
	return nil
}
