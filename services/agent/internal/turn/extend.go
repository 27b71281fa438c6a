package turn

import (
	"context"
	"time"

	"github.com/tsumugi-dev/tsumugi/services/agent/internal/gate"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/ledger"
)

// Extend gives an approval that waits more time (C74). One whose time is over is closed by it. *gate.Refusal, store.ErrNotFound.
func (e *Engine) Extend(ctx context.Context, ns, approval string, x gate.Extension) (gate.Approval, error) {
	where, err := e.where(ctx, ns, approval, x.Who)
	if err != nil {
		return gate.Approval{}, err
	}
	return e.decide(ctx, ns, where, x.Who.Actor(), func(w *ledger.Work) (gate.Approval, *gate.Refusal, error) {
		if a, no, err := e.barred(w, approval, x.Who); err != nil || no != nil {
			return a, no, err
		}
		a, err := w.Approved(approval)
		if err != nil {
			return a, nil, err
		}
		x.Now, x.Seq = w.Now, w.Seq()
		ruling := gate.Extend(a, x)
		if err := e.rule(w, a, x.Who, ruling); err != nil {
			return a, nil, err
		}
		a, err = w.Approved(approval)
		return a, ruling.Refused, err
	})
}

// waits says until when a session waits: until an approval expires, or until watchers are to be told that it will, which is a row, once for
// each time that it is given (gate.WarnBefore). The zero time: they were told just now, and there is more to look at.
func (e *Engine) waits(ctx context.Context, ns string, s ledger.Session, until time.Time) (time.Time, error) {
	approval, soon := s.Warning()
	now := e.Clock.Now()
	switch {
	case soon.IsZero() || !soon.Before(until):
		return until, nil
	case now.Before(soon):
		return soon, nil
	}
	_, err := e.Ledger.Change(ctx, ns, s.ID, system, func(w *ledger.Work) error {
		if named, at := w.Session.Warning(); named != approval || w.Now.Before(at) {
			return nil // Somebody was there first, and Drive looks again.
		}
		a, err := w.Approved(approval)
		if err == nil {
			w.Warned(a)
		}
		return err
	})
	return time.Time{}, err
}
