// Package memory is the storage port without a disk: it forgets everything when it is closed. For tests of the domain.
package memory

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/flow"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/node"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/search"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store/finder"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store/newest"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store/overlay"
)

// Store keeps everything in maps.
type Store struct {
	clock func() time.Time
	// turn holds one token: whoever took it runs an Update, and a caller whose context ends stops waiting for it.
	turn chan struct{}
	// stamps counts the nodes that finders read.
	stamps atomic.Uint64

	mu     sync.RWMutex
	spaces map[string]*space
	last   time.Time
	closed bool
}

var _ store.Store = (*Store)(nil)

// New makes an empty store. clock tells the time.
func New(clock func() time.Time) *Store {
	s := &Store{clock: clock, turn: make(chan struct{}, 1), spaces: map[string]*space{}}
	s.turn <- struct{}{}
	return s
}

// space is one namespace.
type space struct {
	nodes    map[uuid.UUID]node.Node
	flows    map[uuid.UUID]flow.Flow
	requests map[uuid.UUID]request
	// nodeList and flowList hold what is not in the trash, in the order of lists.
	nodeList, flowList newest.List
	// dropped says what is in the trash, and since when; the lists hold the same.
	dropped                    map[store.Thing]time.Time
	droppedNodes, droppedFlows newest.List
	// purged says what was purged, and why.
	purged map[store.Thing]store.Tombstone
	// revisions are what nodes were before, the last first; replaced counts them.
	revisions map[uuid.UUID][]revision
	replaced  int64
	// steps are those of flows, in order; lastStep is the number of the last.
	steps    map[uuid.UUID][]store.Step
	lastStep int64
	// events are the last ones; lastEvent is the number of the last. happened is closed when there is another.
	events    []store.Event
	lastEvent int64
	happened  chan struct{}
	finder    *finder.Finder
	// now is the time by which requests are forgotten.
	now time.Time
}

type revision struct {
	store.Revision
	node node.Node
}

type request struct {
	store.Request
	at time.Time
}

// Node implements store.Store.
func (s *Store) Node(_ context.Context, ns string, id uuid.UUID) (node.Node, error) {
	return read(s, ns, func(sp *space) (node.Node, error) {
		if err := sp.gone(store.KindNode, id); err != nil {
			return node.Node{}, err
		}
		return sp.Node(id)
	})
}

// Flow implements store.Store.
func (s *Store) Flow(_ context.Context, ns string, id uuid.UUID) (flow.Flow, error) {
	return read(s, ns, func(sp *space) (flow.Flow, error) {
		if err := sp.gone(store.KindFlow, id); err != nil {
			return flow.Flow{}, err
		}
		return sp.Flow(id)
	})
}

// Nodes implements store.Store.
func (s *Store) Nodes(_ context.Context, ns string, order store.Order, after store.Entry, n int) ([]store.Entry, error) {
	return read(s, ns, func(sp *space) ([]store.Entry, error) { return sp.nodeList.Behind(order, after, n), nil })
}

// Flows implements store.Store.
func (s *Store) Flows(_ context.Context, ns string, order store.Order, after store.Entry, n int) ([]store.Entry, error) {
	return read(s, ns, func(sp *space) ([]store.Entry, error) { return sp.flowList.Behind(order, after, n), nil })
}

// Dropped implements store.Store.
func (s *Store) Dropped(_ context.Context, ns string, kind store.Kind, after store.Entry, n int) ([]store.Entry, error) {
	return read(s, ns, func(sp *space) ([]store.Entry, error) { return sp.trash(kind).Behind(store.NewestFirst, after, n), nil })
}

// Revisions implements store.Store: there are no files.
func (s *Store) Revisions(_ context.Context, ns string, id uuid.UUID) ([]store.Revision, error) {
	return read(s, ns, func(sp *space) ([]store.Revision, error) {
		if there, _ := sp.HasNode(id); !there {
			return nil, store.ErrNodeNotFound
		}
		var list []store.Revision
		for _, r := range sp.revisions[id] {
			list = append(list, r.Revision)
		}
		return list, nil
	})
}

// Revision implements store.Store.
func (s *Store) Revision(_ context.Context, ns string, id uuid.UUID, want store.Revision) (node.Node, error) {
	return read(s, ns, func(sp *space) (node.Node, error) {
		for _, r := range sp.revisions[id] {
			if r.Number == want.Number {
				return r.node, nil
			}
		}
		return node.Node{}, store.ErrNodeNotFound
	})
}

// Search implements store.Store.
func (s *Store) Search(ctx context.Context, ns string, q *search.Query, page search.Page) (search.Result, error) {
	f, err := s.finder(ns)
	if err != nil {
		return search.Result{}, err
	}
	return f.Search(ctx, q, page)
}

// Tags implements store.Store.
func (s *Store) Tags(ctx context.Context, ns, prefix, after string, size int) (store.TagPage, error) {
	f, err := s.finder(ns)
	if err != nil {
		return store.TagPage{}, err
	}
	return f.Tags(ctx, prefix, after, size)
}

// finder gives the finder of a namespace, an empty one where nobody wrote to it.
func (s *Store) finder(ns string) (*finder.Finder, error) {
	return read(s, ns, func(sp *space) (*finder.Finder, error) {
		if sp.finder == nil {
			return finder.Empty(), nil
		}
		return sp.finder, nil
	})
}

// Events implements store.Store.
func (s *Store) Events(ctx context.Context, ns string, since int64, n int) ([]store.Event, error) {
	if _, _, err := s.begin(ns); err != nil {
		return nil, err
	}
	for {
		var wait chan struct{}
		events, err := read(s, ns, func(sp *space) ([]store.Event, error) {
			if since > sp.lastEvent || since < sp.lastEvent-int64(len(sp.events)) {
				return nil, store.ErrPruned
			}
			wait = sp.happened
			events := sp.events[len(sp.events)-int(sp.lastEvent-since):]
			return events[:min(n, len(events))], nil
		})
		if err != nil || len(events) > 0 {
			return events, err
		}
		select {
		case <-wait:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// LastEvent implements store.Store.
func (s *Store) LastEvent(_ context.Context, ns string) (int64, error) {
	return read(s, ns, func(sp *space) (int64, error) { return sp.lastEvent, nil })
}

func read[T any](s *Store, ns string, get func(*space) (T, error)) (T, error) {
	var none T
	if err := store.CheckNamespace(ns); err != nil {
		return none, err
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.closed {
		return none, store.ErrClosed
	}
	sp := s.spaces[ns]
	if sp == nil {
		sp = &space{}
	}
	return get(sp)
}

// Update implements store.Store.
func (s *Store) Update(ctx context.Context, ns string, fn func(store.Tx) error) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-s.turn:
		defer func() { s.turn <- struct{}{} }()
	}
	sp, now, err := s.begin(ns)
	if err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	writes := overlay.New(sp, now)
	if err := fn(writes.Tx(store.Origin(ctx))); err != nil {
		return err
	}
	return s.commit(sp, writes, now)
}

// begin gives the namespace, which it makes where it is not there, and the time of the transaction.
func (s *Store) begin(ns string) (*space, time.Time, error) {
	if err := store.CheckNamespace(ns); err != nil {
		return nil, time.Time{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, time.Time{}, store.ErrClosed
	}
	if s.spaces[ns] == nil {
		s.spaces[ns] = &space{
			nodes:    map[uuid.UUID]node.Node{},
			flows:    map[uuid.UUID]flow.Flow{},
			requests: map[uuid.UUID]request{},
			purged:   map[store.Thing]store.Tombstone{},
			dropped:  map[store.Thing]time.Time{}, revisions: map[uuid.UUID][]revision{},
			happened: make(chan struct{}), steps: map[uuid.UUID][]store.Step{},
			finder: finder.New(engine{s, ns}, search.New()),
		}
	}
	s.last = store.Later(s.last, s.clock())
	s.spaces[ns].now = s.last
	return s.spaces[ns], s.last, nil
}

func (s *Store) commit(sp *space, writes *overlay.Overlay, now time.Time) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return store.ErrClosed
	}
	for _, op := range writes.Ops() {
		sp.write(op)
	}
	for id, f := range writes.Flows() {
		sp.flows[id] = f
	}
	for _, op := range writes.Ops() {
		if op.Purge != nil {
			sp.purge(op.Purge.Thing)
		}
	}
	events := writes.Events(sp.lastEvent, now)
	sp.happen(events)
	for _, e := range events {
		if e.Of.Kind == store.KindNode {
			sp.finder.Touch(e.Of.ID)
		} else {
			sp.finder.TouchFlow(e.Of.ID)
		}
	}
	for _, r := range writes.Requests() {
		sp.requests[r.ID] = request{Request: r, at: now}
	}
	return nil
}

// Flush implements store.Store: there are no files.
func (s *Store) Flush(_ context.Context, ns string) (int, error) {
	return read(s, ns, func(*space) (int, error) { return 0, nil })
}

// Problems implements store.Store: there are none.
func (s *Store) Problems(_ context.Context, ns string) ([]store.Problem, error) {
	return read(s, ns, func(*space) ([]store.Problem, error) { return nil, nil })
}

// Look implements store.Store: there are no files.
func (s *Store) Look(_ context.Context, ns string, progress func(read, files int)) (store.Look, error) {
	look, err := read(s, ns, func(sp *space) (store.Look, error) {
		return store.Look{Nodes: len(sp.nodes), Flows: len(sp.flows)}, nil
	})
	if files := look.Nodes + look.Flows; files > 0 {
		progress(files, files)
	}
	return look, err
}

// Mend implements store.Store: there are no files.
func (s *Store) Mend(_ context.Context, ns string, _ store.MendOptions, _ func(read, files int)) (store.Mended, error) {
	return read(s, ns, func(*space) (store.Mended, error) { return store.Mended{}, nil })
}

// Close implements store.Store.
func (s *Store) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, sp := range s.spaces { // None the second time.
		close(sp.happened)
	}
	s.closed = true
	s.spaces = nil
	return nil
}
