package files

import (
	"context"
	"slices"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store/files/commitlog"
)

// recentEvents is how many events are kept in memory: who follows closely asks local.db for none.
const recentEvents = 1024

// loadEvents finds where events go on. The first number of a new local.db is the time, in microseconds, so that it is larger
// than all that an older one gave: who knew that one is told. A copy of local.db counts as a new one: a number that is not kept
// must not stand for something else later.
func (sp *space) loadEvents(log *commitlog.Log) (err error) {
	sp.lastEvent = sp.clock().UnixMicro()
	if sp.copied {
		return nil
	}
	if sp.recent, err = log.LastEvents(recentEvents); len(sp.recent) > 0 {
		sp.lastEvent = sp.recent[len(sp.recent)-1].Seq
	}
	return err
}

// happen keeps events and tells who waits for them. The caller holds mu.
func (sp *space) happen(events []store.Event) {
	if len(events) == 0 {
		return
	}
	sp.lastEvent = events[len(events)-1].Seq
	if sp.recent = append(sp.recent, events...); len(sp.recent) > 2*recentEvents {
		sp.recent = slices.Clone(sp.recent[len(sp.recent)-recentEvents:])
	}
	close(sp.happened)
	sp.happened = make(chan struct{})
}

// events gives events after one, and waits until there is one.
func (sp *space) events(ctx context.Context, since int64, n int) ([]store.Event, error) {
	for {
		sp.mu.RLock()
		last, recent, wait := sp.lastEvent, sp.recent, sp.happened
		sp.mu.RUnlock()
		switch {
		case since > last:
			return nil, store.ErrPruned
		case since == last:
			select {
			case <-wait:
				continue
			case <-sp.closing:
				return nil, store.ErrClosed
			case <-ctx.Done():
				return nil, ctx.Err()
			}
		case len(recent) > 0 && recent[0].Seq <= since+1:
			recent = recent[since+1-recent[0].Seq:]
			return recent[:min(n, len(recent))], nil
		}
		return sp.olderEvents(ctx, since, n)
	}
}

func (sp *space) olderEvents(ctx context.Context, since int64, n int) (events []store.Event, err error) {
	err = sp.ask(ctx, func() (err error) {
		events, err = sp.local.Events(since, n)
		return err
	})
	if err == nil && (len(events) == 0 || events[0].Seq != since+1) {
		return nil, store.ErrPruned
	}
	return events[:min(n, len(events))], err
}

// forget is what may leave local.db now.
func (sp *space) forget(c *commitlog.Changes) {
	c.Forget = sp.last.Add(-store.RequestLifetime)
	c.Prune = sp.lastEvent - sp.maxEvents
}
