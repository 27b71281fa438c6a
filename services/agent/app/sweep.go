package app

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/tsumugi-dev/tsumugi/services/agent/internal/folder"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/toolbox"
)

// sweepFirst is how soon a work folder is looked at again in which something was still to be proved: after a crash whoever carries the session on does
// that when its lease is over. Each wait is twice as long, up to pruneEvery.
const sweepFirst = time.Second

// sweeper takes away what changes that a crash cut off have left in the work folders.
type sweeper struct {
	engine interface {
		Sweep(ctx context.Context, root folder.Root) (folder.Swept, error)
	}
	work     map[string]toolbox.Folder
	observer interface {
		Swept(ctx context.Context, root string, swept folder.Swept, err error)
		HeldUp(root string, why error)
	}
}

// run sweeps at the start and each hour, and sooner where it was too early. What holds it up for longer than an hour is told, each hour: a session that
// cannot be read would do so for ever.
func (s sweeper) run(ctx context.Context) {
	for soon := sweepFirst; ctx.Err() == nil; {
		wait, early := pruneEvery, s.all(ctx)
		if len(early) == 0 {
			soon = sweepFirst
		} else {
			if soon == pruneEvery {
				s.tell(early)
			}
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

// all looks at each folder once, and gives why it was too early for those that are to be looked at again, by their names.
func (s sweeper) all(ctx context.Context) map[string]error {
	early := map[string]error{}
	for _, name := range slices.Sorted(maps.Keys(s.work)) {
		root := s.work[name]
		if root.About().ReadOnly {
			continue
		}
		swept, err := s.engine.Sweep(ctx, root)
		var busy *folder.BusyError
		var refusal *folder.Refusal
		if errors.As(err, &busy) || errors.As(err, &refusal) && refusal.Code == folder.Unsettled {
			early[name] = err
			continue
		}
		s.observer.Swept(ctx, name, swept, err)
	}
	return early
}

func (s sweeper) tell(early map[string]error) {
	for _, name := range slices.Sorted(maps.Keys(early)) {
		s.observer.HeldUp(name, early[name])
	}
}
