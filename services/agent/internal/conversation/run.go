package conversation

import (
	"context"
	"errors"
	"time"

	"github.com/tsumugi-dev/tsumugi/services/agent/internal/store"
)

// The pauses between two looks: the first is how often it is looked for what is to be stored; after a look that failed each is twice as long,
// up to the longest.
const (
	firstPause   = time.Second
	longestPause = time.Minute
)

// Clock waits. The function is that of package time.
type Clock interface {
	NewTimer(d time.Duration) *time.Timer
}

// Observer hears of what is not stored yet, for logs and metrics. It does not block.
type Observer interface {
	Fault(ctx context.Context, err error)
}

// Run stores what is left of all sessions, at once and again and again, until ctx ends.
func (w *Writer) Run(ctx context.Context, clock Clock, observer Observer) {
	pause := firstPause
	for ctx.Err() == nil {
		wait := firstPause
		if err := w.FlushAll(ctx); err == nil {
			pause = firstPause
		} else if ctx.Err() == nil {
			observer.Fault(ctx, err)
			wait, pause = pause, min(2*pause, longestPause)
		}
		timer := clock.NewTimer(wait)
		select {
		case <-ctx.Done():
		case <-timer.C:
		}
		timer.Stop()
	}
}

// FlushAll stores what is left of all sessions of all namespaces. Where flowstore is away nobody else is tried; any other error is of one
// session, and the others are stored. It gives the errors, at most one of each page of sessions and the last one.
func (w *Writer) FlushAll(ctx context.Context) (err error) {
	for after := (store.Key{}); ; {
		keys, wrong := w.ledger.Telling(ctx, after, page)
		if wrong != nil || len(keys) == 0 {
			return errors.Join(err, wrong)
		}
		var last error
		for _, k := range keys {
			if one := w.Flush(ctx, k.Namespace, k.Session); one != nil {
				last = one
			}
			if ctx.Err() != nil || errors.Is(last, ErrAway) {
				return errors.Join(err, last)
			}
		}
		err, after = errors.Join(err, last), keys[len(keys)-1]
	}
}
