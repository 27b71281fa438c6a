package library

import (
	"context"
	"errors"
	"slices"

	"github.com/google/uuid"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/flow"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store"
)

// watchPage is how many events a watcher reads at once.
const watchPage = 100

// EventFilter is which events a watcher wants: those that satisfy all of what is set. The zero one takes all.
type EventFilter struct {
	// Kinds are the kinds of events.
	Kinds []store.EventKind
	// Flows and Nodes are what the events are about: one of these flows, a node that one of them holds when the event is read, or
	// one of these nodes. A flow that is in the trash, or cannot be read, holds none.
	Flows, Nodes []uuid.UUID
}

// Watch is one watcher's reading of the events of a namespace. It is used by one goroutine, and has no queue: what it has
// not read waits in the store.
type Watch struct {
	store  store.Store
	ns     string
	filter EventFilter
	// seq is what Seq tells; read is the last event that was read, page what of those is still to be given.
	seq, read int64
	page      []store.Event
	last      int64
}

// Watch begins to watch after the event with the number since; nil: from now on. It makes the namespace where it is not there.
func (l *Library) Watch(ctx context.Context, ns string, since *int64, f EventFilter) (*Watch, error) {
	last, err := l.store.LastEvent(ctx, ns)
	if err != nil {
		return nil, err
	}
	w := &Watch{store: l.store, ns: ns, filter: f, seq: last, last: last}
	if since != nil {
		w.seq = *since
	}
	w.read = w.seq
	return w, nil
}

// Seq is the number up to which every event was given, or is none that the filter takes.
func (w *Watch) Seq() int64 { return w.seq }

// Last is the number of the last event there was when the watch began, or when Next answered store.ErrPruned.
func (w *Watch) Last() int64 { return w.last }

// Next gives the next event, and waits for it. store.ErrPruned where events that are to come are kept no longer: the watch
// then goes on behind Last. After any other error the next call goes on where this one was; the one of a context that ended is such.
func (w *Watch) Next(ctx context.Context) (store.Event, error) {
	for len(w.page) == 0 {
		w.seq = w.read
		if err := ctx.Err(); err != nil {
			return store.Event{}, err
		}
		events, err := w.store.Events(ctx, w.ns, w.read, watchPage)
		if errors.Is(err, store.ErrPruned) {
			return store.Event{}, w.skip(ctx)
		}
		if err != nil {
			return store.Event{}, err
		}
		if w.page, err = w.wanted(ctx, events); err != nil {
			return store.Event{}, err
		}
		w.read = events[len(events)-1].Seq
	}
	e := w.page[0]
	w.page, w.seq = w.page[1:], e.Seq
	return e, nil
}

// skip goes on behind the last event.
func (w *Watch) skip(ctx context.Context) error {
	last, err := w.store.LastEvent(ctx, w.ns)
	if err != nil {
		return err
	}
	w.seq, w.read, w.last = last, last, last
	return store.ErrPruned
}

// wanted gives those events that the filter takes.
func (w *Watch) wanted(ctx context.Context, events []store.Event) (wanted []store.Event, err error) {
	f := w.filter
	var held func(uuid.UUID) bool // Reads the flows, at most once for these events.
	for _, e := range events {
		if len(f.Kinds) > 0 && !slices.Contains(f.Kinds, e.Kind) {
			continue
		}
		take := len(f.Flows)+len(f.Nodes) == 0
		switch e.Of.Kind {
		case store.KindFlow:
			take = take || slices.Contains(f.Flows, e.Of.ID)
		case store.KindNode:
			if take = take || slices.Contains(f.Nodes, e.Of.ID); take || len(f.Flows) == 0 {
				break
			}
			if held == nil {
				if held, err = w.members(ctx, len(events)); err != nil {
					return nil, err
				}
			}
			take = held(e.Of.ID)
		}
		if take {
			wanted = append(wanted, e)
		}
	}
	return wanted, nil
}

// members reads the flows of the filter. The answer, which is asked n times, says whether one of them holds a node.
func (w *Watch) members(ctx context.Context, n int) (func(uuid.UUID) bool, error) {
	var flows []func(uuid.UUID) (int, bool)
	for _, id := range w.filter.Flows {
		f, err := w.store.Flow(ctx, w.ns, id)
		switch {
		case store.Gone(err):
			f = flow.Flow{}
		case err != nil:
			return nil, err
		}
		flows = append(flows, f.Finder(n))
	}
	return func(node uuid.UUID) bool {
		return slices.ContainsFunc(flows, func(find func(uuid.UUID) (int, bool)) bool {
			_, held := find(node)
			return held
		})
	}, nil
}
