package ledger

import (
	"context"
	"errors"
	"time"

	"github.com/tsumugi-dev/tsumugi/services/agent/internal/store"
)

// maxPruned is how many texts go in one transaction: nobody waits long for it.
const maxPruned = 500

// Pruned counts what went.
type Pruned struct {
	// Texts are contents of approvals whose time was over, Sessions deleted ones of which only the rows were left.
	Texts, Sessions int
}

// Prune takes away, in all namespaces, what is kept no longer: contents of approvals whose time is over (field/review-agent.md S22), and the rows of
// sessions that were deleted longer than records ago. 0: those rows are kept for ever, as all rows of sessions that were not deleted are. It is
// for a timer, such as once an hour; two at once do no harm. What went before an error is gone. Of sessions that cannot be read the last one is the error.
func (l *Ledger) Prune(ctx context.Context, records time.Duration) (out Pruned, err error) {
	now := l.clock.Now().UTC()
	var broken *BrokenError
	var unread error
	for ns, err := range l.Namespaces(ctx) {
		if err == nil {
			err = l.pruneTexts(ctx, ns, now, &out)
		}
		if err != nil {
			return out, err
		}
		switch err := l.pruneSessions(ctx, ns, now, records, &out); {
		case errors.As(err, &broken):
			unread = broken
		case err != nil:
			return out, err
		}
	}
	return out, unread
}

func (l *Ledger) pruneTexts(ctx context.Context, ns string, now time.Time, out *Pruned) error {
	for {
		var n int
		err := l.store.Update(ctx, ns, func(tx store.Tx) (err error) {
			n, err = tx.PruneTexts(now, maxPruned)
			return err
		})
		if err != nil {
			return err
		}
		if out.Texts += n; n < maxPruned {
			return nil
		}
	}
}

// pruneSessions takes away sessions that were deleted long enough ago. One that cannot be read stays, and keeps no other one: nobody knows when its
// time is over.
func (l *Ledger) pruneSessions(ctx context.Context, ns string, now time.Time, records time.Duration, out *Pruned) error {
	var unread error
	for next, more := (store.Place{}), records > 0; more; {
		var over []string
		err := l.store.Read(ctx, ns, func(v store.View) error {
			page, err := v.Sessions(store.SessionFilter{Lifecycle: deleted}, next, chunk)
			if err != nil {
				return err
			}
			more, over = len(page) == chunk, nil
			for _, found := range page {
				next = found.Place()
				s, err := l.decode(v, ns, found)
				var broken *BrokenError
				switch {
				case errors.As(err, &broken):
					unread = err
				case err != nil:
					return err
				case !now.Before(s.Deleted.Add(records)):
					over = append(over, s.ID)
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
		if err := l.forget(ctx, ns, over); err != nil {
			return err
		}
		out.Sessions += len(over)
	}
	return unread
}

func (l *Ledger) forget(ctx context.Context, ns string, sessions []string) error {
	if len(sessions) == 0 {
		return nil
	}
	return l.store.Update(ctx, ns, func(tx store.Tx) error {
		for _, id := range sessions {
			if err := tx.DeleteSession(id); err != nil && !errors.Is(err, store.ErrNotFound) {
				return err
			}
		}
		return nil
	})
}
