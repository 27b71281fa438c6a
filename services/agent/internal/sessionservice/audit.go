package sessionservice

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/tsumugi-dev/tsumugi/services/agent/internal/audit"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/gate"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/ledger"
)

// Rows gives the rows of a session behind one, oldest first; of a deleted session, and of one that is gone from the store, too. Behind a
// *ledger.BrokenError, of rows that cannot be read, the next ones follow; any other error ends them. *NotFoundError: there is neither session nor row.
func (s *Service) Rows(ctx context.Context, w Who, id string, after int64) iter.Seq2[audit.Row, error] {
	return func(yield func(audit.Row, error) bool) {
		if err := s.Ledger.Exists(ctx, w.Namespace, id); err != nil {
			yield(audit.Row{}, found(aSession, id, err))
			return
		}
		s.Ledger.Rows(ctx, w.Namespace, id, uint64(max(after, 0))+1)(yield)
	}
}

// Verification is what was found of the rows of a session.
type Verification struct {
	Rows int64
	// Head says where the chain ended when they were verified: rows may have come since. The zero Head: the session cannot be read.
	Head audit.Head
	// Bad is the first row that is not as it was made, or with a replay whose text or approval is not as it was written; nil: there is none.
	Bad *audit.BadRow
	// Record says why the session itself is not stored as it was written; nil: it is.
	Record *ledger.RecordError
	// Replayed says that the session which its rows make is the one that is stored, with its approvals, Replay why it is not.
	Replayed bool
	Replay   error
}

// Problem says all that is not as it was; empty: everything is.
func (v Verification) Problem() string {
	switch {
	case v.Bad == nil && v.Record == nil:
		return ""
	case v.Record == nil:
		return v.Bad.Error()
	case v.Bad != nil:
		return v.Bad.Error() + "; and " + v.Record.Error()
	}
	rows := fmt.Sprintf("; its rows are as they were made, %d of them", v.Rows)
	if v.Head == (audit.Head{}) {
		rows += ", but without it nobody can tell whether there were more"
	}
	return v.Record.Error() + rows
}

// take takes over what of an error is an answer, and gives what is none.
func (v *Verification) take(err error) error {
	bad, record := errors.As(err, &v.Bad), errors.As(err, &v.Record)
	if bad || record {
		return nil
	}
	return err
}

// Verify goes through the rows of a session; replay also makes it again from them, and looks at the texts and approvals that they have sealed. What is not
// as it was is an answer. *NotFoundError, and errors of the store.
func (s *Service) Verify(ctx context.Context, w Who, id string, replay bool) (v Verification, err error) {
	got, err := s.Ledger.Verify(ctx, w.Namespace, id)
	v.Rows, v.Head = int64(got.Rows), got.Head
	if err = v.take(err); err != nil || !replay {
		return v, found(aSession, id, err)
	}
	if v.Record != nil && errors.Is(v.Record, ledger.ErrGone) {
		v.Replay = v.Record // There is nothing to hold what the rows make to.
		return v, nil
	}
	if v.Bad == nil {
		if err = v.take(s.Ledger.Contents(ctx, w.Namespace, id)); err != nil {
			return v, found(aSession, id, err)
		}
	}
	_, err = s.Ledger.Replay(ctx, w.Namespace, id)
	if err == nil {
		err = s.Ledger.Agree(ctx, w.Namespace, id)
	}
	return v, found(aSession, id, v.replay(id, err))
}

// replay takes over what a replay has found, and gives what is no finding.
func (v *Verification) replay(id string, err error) error {
	var broken *ledger.BrokenError
	var differs *ledger.DiffersError
	var unfit *gate.SettleError
	var not *ledger.ReplayError
	changed := errors.As(err, &differs) || errors.As(err, &unfit)
	switch {
	case err == nil:
		v.Replayed = true
	case changed && v.Bad == nil && v.Record == nil: // What bad rows make proves nothing.
		v.Record = &ledger.RecordError{Session: id, Err: err}
	case !changed && !errors.As(err, &not) && !errors.As(err, &broken):
		return err
	}
	v.Replay = err
	return nil
}
