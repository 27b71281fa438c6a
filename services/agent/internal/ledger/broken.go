package ledger

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/tsumugi-dev/tsumugi/services/agent/internal/audit"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/gate"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/session"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/store"
	"github.com/tsumugi-dev/tsumugi/services/internal/etag"
)

// BrokenError says that something of a session cannot be read as it is stored. Everything else can, and the session can be deleted.
type BrokenError struct {
	Session string
	// Approval is the one that cannot be read. First and Last are the numbers of rows that cannot. Neither: it is the session itself.
	Approval    string
	First, Last int64
	Err         error
}

func (e *BrokenError) Error() string {
	what := "session " + e.Session
	switch {
	case e.Approval != "":
		what = fmt.Sprintf("approval %s of session %s", e.Approval, e.Session)
	case e.First == e.Last && e.Last > 0:
		what = fmt.Sprintf("row %d of session %s", e.Last, e.Session)
	case e.Last > 0:
		what = fmt.Sprintf("rows %d to %d of session %s", e.First, e.Last, e.Session)
	}
	return fmt.Sprintf("the record of %s cannot be read: %v", what, e.Err)
}

// Unwrap gives why it cannot be read.
func (e *BrokenError) Unwrap() error { return e.Err }

// errOther: a record stands under the id of another one.
var errOther = errors.New("it is that of another one")

// Approval reads an approval as it is stored. *BrokenError.
func Approval(found store.Approval) (a gate.Approval, err error) {
	err = json.Unmarshal(found.Body, &a)
	if err == nil && (a.ID != found.ID || a.Session != found.Session) {
		err = errOther
	}
	if err != nil {
		return gate.Approval{}, &BrokenError{Session: found.Session, Approval: found.ID, Err: err}
	}
	return a, nil
}

// stuck says that a session works for ever, and that nothing of it runs: an approval for which it waits cannot be read, so that nobody can decide
// about it, cancel it or let it expire.
func (w *Work) stuck() bool {
	s := w.Session.State
	if w.Session.Direct != nil || slices.ContainsFunc(s.Calls, func(c session.Call) bool { return c.Progress == session.Intent }) {
		return false
	}
	return slices.ContainsFunc(gate.Needed(s), func(id string) bool {
		_, err := w.Approved(id)
		var broken *BrokenError
		return errors.As(err, &broken)
	})
}

// lostHead is why a broken session is deleted, for its row.
const lostHead = "asked for; its record could not be read, so that the head of its rows was made again from the last of them"

// deleteBroken deletes a session that cannot be read. Where its rows are as they were made a row tells it, behind the last that there is: rows that
// were cut from the end are not missed any more. Where they are not nothing is added to them, and no head vouches for them.
func (l *Ledger) deleteBroken(ctx context.Context, ns, id, given string, actor audit.Actor) (lost int, err error) {
	before, head, bad := l.remade(ctx, ns, id)
	if bad != nil && ctx.Err() != nil {
		return 0, ctx.Err()
	}
	err = l.store.Update(ctx, ns, func(tx store.Tx) error {
		found, err := tx.Session(id)
		if err != nil {
			return err
		}
		e, err := l.entry(tx, ns, found)
		if err == nil && e.Broken == nil {
			err = store.ErrFenced // It can be read again: somebody has put it back.
		}
		if err != nil {
			return err
		}
		kept := e.Session
		if err := etag.Check("the session", given, kept.Etag); err != nil {
			return err
		}
		kept.State, kept.Head = session.New(), head
		w := &Work{Tx: tx, Session: &kept, Actor: actor, ledger: l, ns: ns}
		w.Now, _ = l.now(head.Time)
		kept.Deleted = w.Now
		if lost, err = deleteContents(w.Tx, id); err != nil {
			return err
		}
		if bad != nil {
			raw, err := json.Marshal(kept)
			return errors.Join(err, w.putSession(raw))
		}
		w.Row(audit.Entry{Kind: audit.Delete, Verdict: deleted, Reason: lostHead})
		return w.write(before)
	})
	return lost, err
}

// remade makes a session again from its rows, as it is written, and their head. The error says why that cannot be: a *BrokenError, an *audit.BadRow, or
// one of the store.
func (l *Ledger) remade(ctx context.Context, ns, id string) (before []byte, head audit.Head, err error) {
	p := proof{made: map[string]json.RawMessage{}}
	if head, err = l.keys.Resume(p.rows(l.records(ctx, ns, id, 1)), ns, id); err != nil {
		return nil, audit.Head{}, err
	}
	before, err = json.Marshal(p.made)
	return before, head, err
}
