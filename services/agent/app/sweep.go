package app

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/tsumugi-dev/tsumugi/services/agent/internal/folder"
)

// sweepFirst is how soon a work folder is looked at again in which something was still to be proved: after a crash whoever carries the session on does
// that when its lease is over. Each wait is twice as long, up to pruneEvery.
const sweepFirst = time.Second

// sweep takes away what changes that a crash cut off have left in the work folders, at the start and each hour, and sooner where it was too early.
func (s *sessions) sweep(ctx context.Context) {
	for soon := sweepFirst; ctx.Err() == nil; {
		wait := pruneEvery
		if s.sweepAll(ctx) {
			soon = sweepFirst
		} else {
			wait, soon = soon, min(2*soon, pruneEvery)
		}
		timer := time.NewTimer(wait)
		select {
		case <-timer.C:
		case <-ctx.Done():
		}
		timer.Stop()
	}
}

// sweepAll looks at each folder once. false: one of them is to be looked at again.
func (s *sessions) sweepAll(ctx context.Context) bool {
	done := true
	for _, name := range slices.Sorted(maps.Keys(s.folders.work)) {
		root := s.folders.work[name]
		if root.About().ReadOnly {
			continue
		}
		swept, err := s.engine.Sweep(ctx, root)
		var busy *folder.BusyError
		var refusal *folder.Refusal
		if errors.As(err, &busy) || errors.As(err, &refusal) && refusal.Code == folder.Unsettled {
			done, err = false, nil
		}
		s.observer.Swept(ctx, name, swept, err)
	}
	return done
}
