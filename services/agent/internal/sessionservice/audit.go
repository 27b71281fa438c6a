package sessionservice

import (
	"context"
	"errors"
	"iter"

	"github.com/tsumugi-dev/tsumugi/services/agent/internal/audit"
)

// Rows gives the rows of a session behind one, oldest first; of a deleted session, too. Behind a *ledger.BrokenError, of rows that cannot be read, the
// next ones follow; any other error ends them. *NotFoundError.
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
	// Head says where the chain ended after they were verified: rows may have come since.
	Head audit.Head
	// Bad is the first row that is not as it was made, or with a replay whose text or approval is not as it was written; nil: there is none.
	Bad *audit.BadRow
	// Replayed says that the session which its rows make is the one that is stored, Replay why it is not.
	Replayed bool
	Replay   error
}

// Verify goes through the rows of a session; replay also makes it again from them, and looks at the texts and approvals that they have sealed.
// *NotFoundError, *ledger.BrokenError.
func (s *Service) Verify(ctx context.Context, w Who, id string, replay bool) (v Verification, err error) {
	report, err := s.Ledger.Verify(ctx, w.Namespace, id)
	if err != nil && !errors.As(err, &v.Bad) {
		return v, found(aSession, id, err)
	}
	if replay && v.Bad == nil {
		if err = s.Ledger.Contents(ctx, w.Namespace, id); err != nil && !errors.As(err, &v.Bad) {
			return v, found(aSession, id, err)
		}
	}
	v.Rows = int64(report.Rows)
	if v.Head, err = s.Ledger.Head(ctx, w.Namespace, id); err != nil || !replay {
		return v, found(aSession, id, err)
	}
	switch _, err := s.Ledger.Replay(ctx, w.Namespace, id); {
	case err == nil:
		v.Replayed = true
	case ctx.Err() != nil:
		return v, ctx.Err()
	default:
		v.Replay = err
	}
	return v, nil
}
