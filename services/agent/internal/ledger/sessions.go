package ledger

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/tsumugi-dev/tsumugi/services/agent/internal/audit"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/canon"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/session"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/store"
	"github.com/tsumugi-dev/tsumugi/services/internal/etag"
)

// deleted is the lifecycle of what is kept of a deleted session: its rows, until their time is over.
const deleted = "DELETED"

// Fresh is a session that is to be made.
type Fresh struct {
	// ID is a UUID; the caller may choose it, so that the same request makes one session.
	ID    string
	Owner string
	Settings
	Items   session.Items
	Refs    []string
	Budgets Budgets
	// Continues is an ended session whose memory is taken, each of its five items that this one does not bring, and its references where this one
	// brings none.
	Continues string
	// Asked is the hash of what was asked for; its first row has it, so that the same request is known again.
	Asked canon.Hash
}

// FieldsError says which fields of a request cannot be taken, all at once.
type FieldsError struct{ Wrong []session.Violation }

func (e *FieldsError) Error() string {
	return fmt.Sprintf("%s: %s", e.Wrong[0].Field, e.Wrong[0].Description)
}

// NotEndedError refuses what is for ended sessions alone, or for those that do nothing just now.
type NotEndedError struct{ Session, Why string }

func (e *NotEndedError) Error() string { return fmt.Sprintf("session %s %s", e.Session, e.Why) }

// Create makes a session. store.ErrTaken, store.ErrNotFound and *NotEndedError of the one that it continues, *FieldsError.
func (l *Ledger) Create(ctx context.Context, ns string, f Fresh, actor audit.Actor) (out Session, err error) {
	if wrong := slices.Concat(f.Items.Check(), session.CheckRefs(f.Refs, 0)); len(wrong) > 0 {
		return Session{}, &FieldsError{wrong}
	}
	err = l.store.Update(ctx, ns, func(tx store.Tx) error {
		now, _ := l.now(time.Time{})
		s := Session{
			ID: f.ID, Owner: f.Owner, Settings: f.Settings, Items: f.Items, Thread: session.Thread{Refs: f.Refs}, State: session.New(), Budgets: f.Budgets,
			Continues: f.Continues, Created: now, Head: l.keys.Begin(ns, f.ID),
		}
		if f.Continues != "" {
			if err := l.carry(tx, &s); err != nil {
				return err
			}
		}
		w := &Work{Tx: tx, Session: &s, Actor: actor, ledger: l, ns: ns, Now: now}
		w.Row(audit.Entry{Kind: audit.Create, Verdict: "CREATED", Reason: "asked for", ArgsDigest: string(f.Asked)})
		if err := w.write([]byte("{}")); err != nil {
			return err
		}
		out = s
		return nil
	})
	return out, err
}

// carry takes what an ended session leaves to the one that continues it (seed 001, 5.5).
func (l *Ledger) carry(tx store.Tx, s *Session) error {
	found, err := tx.Session(s.Continues)
	if err != nil {
		return err
	}
	old, err := l.decode(tx, s.Head.Namespace, found)
	switch {
	case err != nil:
		return err
	case found.Lifecycle == deleted:
		return store.ErrNotFound
	case old.State.Lifecycle == session.Open && old.State.Turn.Running != session.NoTurn || old.State.Lifecycle == session.Canceling:
		return &NotEndedError{old.ID, "works still: it can be continued when its turn has ended"}
	}
	s.Items = s.Items.Or(old.Items)
	if len(s.Thread.Refs) == 0 {
		s.Thread.Refs = old.Thread.Left(old.ID)
	}
	s.Memory, s.Brought = old.Memory, old.Memory
	return nil
}

// Update has a person change a session; its row names the fields that are not as they were. given may be empty: no check of the version.
// *etag.StaleError, *FieldsError with what change refuses by one and what is wrong with its items, *NotEndedError of a broken one, and any other
// error of change.
func (l *Ledger) Update(ctx context.Context, ns, id, given string, actor audit.Actor, change func(*Session) error) (Session, error) {
	return l.Change(ctx, ns, id, actor, func(w *Work) error {
		s := w.Session
		if err := etag.Check("the session", given, s.Etag); err != nil {
			return err
		}
		if s.State.Lifecycle == session.Failed {
			return &NotEndedError{s.ID, "has a broken record: it can be read and not changed"}
		}
		was, refused := *s, &FieldsError{}
		if err := change(s); err != nil && !errors.As(err, &refused) {
			return err
		}
		wrong := slices.Concat(refused.Wrong, s.Items.CheckNew(was.Items))
		if has := was.Thread.All(); !slices.Equal(s.Thread.All(), has) { // What stands was taken, even twice, maybe by an earlier version.
			wrong = append(wrong, session.CheckRefs(s.Thread.Refs, s.Nodes, has...)...)
		}
		if len(wrong) > 0 {
			return &FieldsError{wrong}
		}
		raw, err := json.Marshal(s.Items)
		if err != nil {
			return err
		}
		return w.updated(&was, string(canon.Sum(raw)))
	})
}

// Delete takes away what a session says: its messages, the texts of its calls, its approvals. Its rows stay until their time is over (Prune). One
// that works is refused: *NotEndedError. One that cannot be read, or that waits for an approval which cannot be, is taken away as well. lost counts what
// was still to be told to another service, up to store.MaxPage, and is gone with it.
func (l *Ledger) Delete(ctx context.Context, ns, id, given string, actor audit.Actor) (lost int, err error) {
	_, err = l.Change(ctx, ns, id, actor, func(w *Work) error {
		s := w.Session
		if err := etag.Check("the session", given, s.Etag); err != nil {
			return err
		}
		works := s.State.Turn.Running != session.NoTurn || s.State.Lifecycle == session.Canceling || s.Direct != nil
		if works && !w.stuck() {
			return &NotEndedError{s.ID, "works still: cancel its turn first"}
		}
		kept := Session{ID: s.ID, Owner: s.Owner, Created: s.Created, Deleted: w.Now, State: session.New(), Version: s.Version, Head: s.Head}
		*s = kept
		w.Row(audit.Entry{Kind: audit.Delete, Verdict: deleted, Reason: "asked for"})
		lost, err = deleteContents(w.Tx, s.ID)
		return err
	})
	var broken *BrokenError
	if errors.As(err, &broken) {
		return l.deleteBroken(ctx, ns, id, given, actor)
	}
	return lost, err
}

// deleteContents takes away what a session says, and counts what was still to be told.
func deleteContents(tx store.Tx, id string) (lost int, err error) {
	left, err := tx.Outgoing(id, 0, store.MaxPage)
	if err != nil {
		return 0, err
	}
	return len(left), tx.DeleteContents(id)
}

// gone says that a session was deleted.
func gone(s Session) error {
	if !s.Deleted.IsZero() {
		return store.ErrNotFound
	}
	return nil
}
