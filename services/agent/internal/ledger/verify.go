package ledger

import (
	"context"
	"errors"
	"fmt"

	"github.com/tsumugi-dev/tsumugi/services/agent/internal/audit"
)

// Verified is what was found of the rows of a session.
type Verified struct {
	audit.Report
	// Head is that by which they were verified: rows may have come since. The zero Head: the session cannot be read.
	Head audit.Head
}

// RecordError says that a session itself is not stored as it was written. Its rows are another matter: they may be as they were made.
type RecordError struct {
	Session string
	// Err says all that is wrong; a *BrokenError where nothing of it can be read, so that nobody can tell whether rows were cut from the end.
	Err error
}

func (e *RecordError) Error() string {
	var broken *BrokenError
	if errors.As(e.Err, &broken) {
		return e.Err.Error()
	}
	return fmt.Sprintf("session %s is not stored as it was written: %v", e.Session, e.Err)
}

// Unwrap gives what is wrong.
func (e *RecordError) Unwrap() error { return e.Err }

// Verify goes through the rows of a session, and what each says that it changed, and looks whether the session can be read. The error is an
// *audit.BadRow, which names the first row that is not as it was made, a *RecordError, or both; store.ErrNotFound; and any other where the store itself
// cannot be read, which says nothing of the session.
func (l *Ledger) Verify(ctx context.Context, ns, id string) (out Verified, err error) {
	found, err := l.stored(ctx, ns, id)
	if err != nil {
		return out, err
	}
	var wrong error
	chain := audit.Chain{Namespace: ns, Session: id}
	if s, err := l.decode(found); err != nil {
		wrong = &RecordError{id, err}
	} else {
		out.Head, chain.Heads = s.Head, []audit.Head{s.Head}
	}
	var bad *audit.BadRow
	if out.Report, err = l.verifyRows(ctx, chain); err != nil && !errors.As(err, &bad) {
		return out, err
	}
	return out, errors.Join(err, wrong)
}

// verifyRows goes through the rows of a session. The error is an *audit.BadRow, or that of the store.
func (l *Ledger) verifyRows(ctx context.Context, chain audit.Chain) (audit.Report, error) {
	var broken *audit.BadRow
	var away error // the store cannot be read
	rows := func(yield func(audit.Row, error) bool) {
		for r, err := range l.records(ctx, chain.Namespace, chain.Session, 1) {
			if err != nil {
				if unread := (*BrokenError)(nil); !errors.As(err, &unread) {
					away = err
				}
				yield(audit.Row{}, err)
				return
			}
			if err := r.sealed(); err != nil && broken == nil {
				broken = &audit.BadRow{Seq: r.Rows[len(r.Rows)-1].Seq, Fault: audit.Changed, Err: err}
			}
			for _, row := range r.Rows {
				if !yield(row, nil) {
					return
				}
			}
		}
	}
	report, err := l.keys.Verify(rows, chain)
	if away != nil {
		return report, away
	}
	var bad *audit.BadRow
	if broken != nil && (err == nil || errors.As(err, &bad) && bad.Seq > broken.Seq) {
		return report, broken
	}
	return report, err
}
