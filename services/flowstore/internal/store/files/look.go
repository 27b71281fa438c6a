package files

import (
	"context"
	"errors"
	"time"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store/audit"
)

// Look implements store.Store.
func (s *Store) Look(ctx context.Context, ns string, progress func(read, files int)) (store.Look, error) {
	sp, err := s.existing(ctx, ns)
	if err != nil || sp == nil {
		return store.Look{}, err
	}
	select {
	case s.looking <- struct{}{}:
		defer func() { <-s.looking }()
	case <-ctx.Done():
		return store.Look{}, ctx.Err()
	}
	readOnly := (*store.ReadOnlyError)(nil)
	if _, err := sp.flush(ctx); err != nil && !errors.As(err, &readOnly) {
		return store.Look{}, err
	}
	report, err := audit.Look(ctx, sp.tree, audit.Options{
		Progress: func(p audit.Progress) { progress(p.Read, p.Files) }, Pause: Pause,
	})
	return report.Look, err
}

// Pause is what a look at a running store waits before it looks again (audit.Options): longer than a store that is not at
// its limit takes to write a flow behind its nodes, and a row behind both.
func Pause(ctx context.Context) error {
	select {
	case <-time.After(time.Second):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
