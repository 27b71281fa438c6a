// Package finder keeps the search index of a namespace in step with the engine that holds its nodes.
//
// An engine tells which nodes it touched, whatever it did to them, and that costs it no more than noting an id: a commit does
// not wait for the index. A search first reads what was touched before it began, so a node is found as soon as the call
// that wrote it has returned (cases/perf.md 13). After a burst of writes it reads the last MaxAwaited of them, and the rest is
// read beside, as is what an index that was lost lacks: until then searches say that they are approximate.
package finder

import (
	"cmp"
	"context"
	"maps"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/flow"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/node"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/search"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store"
)

// Engine is what a Finder reads of the engine, committed state alone.
type Engine interface {
	// Stamped gives a node with a stamp: what has the same stamp has the same contents. ErrNodeNotFound, also for what is in the
	// trash; *store.UnreadableError.
	Stamped(id uuid.UUID) (n node.Node, stamp uint64, err error)
	// Flow is that of store.Store.
	Flow(id uuid.UUID) (flow.Flow, error)
	// Zone is that of times that say none.
	Zone() *time.Location
	// Flows gives up to n flows behind an entry, in any order that stays.
	Flows(after store.Entry, n int) []store.Entry
}

// How much of what was touched a search reads before it looks, in nodes and in bytes of text: less than a tenth of a second.
const (
	MaxAwaited      = 256
	maxAwaitedBytes = 1 << 20
)

// Finder is the index of one namespace with what it does not know yet. Safe for concurrent use.
type Finder struct {
	engine Engine
	index  *search.Index
	// folding holds one token: whoever took it reads what was touched, and others wait for that, as long as their context lasts.
	folding chan struct{}
	// woken has something when there may be work for Fold and FoldMissing.
	woken chan struct{}

	names names

	mu sync.Mutex
	// touched are waiting, those that were touched last at the end; waiting tells them from others.
	touched []uuid.UUID
	waiting map[uuid.UUID]struct{}
	missing []uuid.UUID
	// unread are the nodes that could not be read, where that lies with the disk, and why, until they are; those of failed are not
	// queued to be read again. failing is what was said last.
	unread  map[uuid.UUID]error
	failed  []uuid.UUID
	failing error
	// changes counts what became of touched and missing nodes in the index.
	changes int
	full    error
}

// New makes a finder over an index, which is empty or comes from a snapshot.
func New(engine Engine, index *search.Index) *Finder {
	f := &Finder{
		engine: engine, index: index, folding: make(chan struct{}, 1), woken: make(chan struct{}, 1), waiting: map[uuid.UUID]struct{}{},
		unread: map[uuid.UUID]error{}, names: names{asking: make(chan struct{}, 1)},
	}
	f.folding <- struct{}{}
	f.names.asking <- struct{}{}
	return f
}

// Touch notes that a node was made, changed, taken away or brought back. Takes no time, and may be called under any lock of
// the engine, after what it tells is visible to Engine.
func (f *Finder) Touch(ids ...uuid.UUID) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.touched = append(f.touched, f.queue(ids)...)
	f.wake()
}

// queue notes that nodes wait, and gives those that did not already. The caller holds mu.
func (f *Finder) queue(ids []uuid.UUID) (more []uuid.UUID) {
	for _, id := range ids {
		if _, queued := f.waiting[id]; !queued {
			f.waiting[id] = struct{}{}
			more = append(more, id)
		}
	}
	return more
}

// Miss notes nodes that the index lacks, or that it has as they were. FoldMissing reads them; until then results are approximate.
func (f *Finder) Miss(ids []uuid.UUID) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.missing = append(f.missing, ids...)
	f.index.SetPartial(f.partial())
	f.wake()
}

// partial says that the index does not have everything. The caller holds mu.
func (f *Finder) partial() bool { return len(f.missing) > 0 || len(f.unread) > 0 || f.full != nil }

func (f *Finder) wake() {
	select {
	case f.woken <- struct{}{}:
	default:
	}
}

// Woken gives something when there may be work for Fold and FoldMissing.
func (f *Finder) Woken() <-chan struct{} { return f.woken }

// Changes counts the changes of the index since New.
func (f *Finder) Changes() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.changes
}

// Partial says that the index does not have everything, and why, unless it is that FoldMissing has work: *search.FullError, or
// what the engine says of a node that it cannot read.
func (f *Finder) Partial() (partial bool, why error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.partial(), cmp.Or(f.full, f.failing)
}

// Unread are the nodes that the engine could not read when they were last asked for, with what it said: as long as they lie on a
// disk that fails, say. They are asked for again with each Fold and search.
func (f *Finder) Unread() map[uuid.UUID]error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return maps.Clone(f.unread)
}

// Index is the index, to be written down.
func (f *Finder) Index() *search.Index { return f.index }

// Fold reads what was touched before, and searches go on between some of it and the next. The context's error; what was not
// read then is read the next time.
func (f *Finder) Fold(ctx context.Context) error {
	for left := f.retry(); left > 0; {
		taken, err := f.fold(ctx, min(left, someNodes), (*Finder).first)
		if err != nil {
			return err
		}
		if left -= taken; taken == 0 {
			break
		}
	}
	return ctx.Err()
}

// foldLast reads what was touched last, as much as a search waits for.
func (f *Finder) foldLast(ctx context.Context) error {
	f.retry()
	_, err := f.fold(ctx, MaxAwaited, (*Finder).last)
	return err
}

// retry queues what could not be read, and gives how many nodes are waiting. A search comes to it behind what was touched: a disk
// that cannot read many nodes does not keep it from new ones.
func (f *Finder) retry() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	if again := f.queue(f.failed); len(again) > 0 {
		f.touched = append(again, f.touched...)
	}
	f.failed = nil
	return len(f.touched)
}

// fold takes at most so many of the nodes that next gives, and reads no more than maxAwaitedBytes and a node.
func (f *Finder) fold(ctx context.Context, most int, next func(*Finder) (uuid.UUID, bool)) (taken int, err error) {
	err = alone(ctx, f.folding, func() error {
		for read := 0; taken < most && read < maxAwaitedBytes && ctx.Err() == nil; taken++ {
			id, some := next(f)
			if !some {
				break
			}
			size, err := f.refresh(id)
			f.told(id, err)
			read += size
		}
		f.mu.Lock()
		defer f.mu.Unlock()
		f.index.SetPartial(f.partial() || len(f.touched) > 0)
		return ctx.Err()
	})
	return taken, err
}

// first takes the node that was touched first, last the one that was touched last.
func (f *Finder) first() (id uuid.UUID, some bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.touched) == 0 {
		return id, false
	}
	id, f.touched = f.touched[0], f.touched[1:]
	delete(f.waiting, id)
	return id, true
}

func (f *Finder) last() (id uuid.UUID, some bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	end := len(f.touched) - 1
	if end < 0 {
		return id, false
	}
	id, f.touched = f.touched[end], f.touched[:end]
	delete(f.waiting, id)
	return id, true
}

// told keeps a node that could not be read for the next Fold, and why, or notes that it was read.
func (f *Finder) told(id uuid.UUID, why error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if why == nil {
		if delete(f.unread, id); len(f.unread) == 0 {
			f.failing = nil
		}
		return
	}
	f.unread[id], f.failed, f.failing = why, append(f.failed, id), why
}

// someNodes is how many nodes are read before searches may go on.
const someNodes = 64

// FoldMissing reads some of what Miss noted, and says whether there is more.
func (f *Finder) FoldMissing(ctx context.Context) (more bool, err error) {
	err = alone(ctx, f.folding, func() error {
		f.mu.Lock()
		some := f.missing[:min(someNodes, len(f.missing))]
		f.mu.Unlock()
		for _, id := range some {
			_, err := f.refresh(id)
			f.told(id, err)
		}
		f.mu.Lock()
		defer f.mu.Unlock()
		if f.missing = f.missing[len(some):]; len(f.missing) == 0 {
			f.missing = nil
		}
		more = f.missing != nil
		f.index.SetPartial(f.partial() || len(f.touched) > 0)
		return nil
	})
	return more, err
}

// alone runs what only the holder of a token may, who waits for it as long as the context lasts.
func alone(ctx context.Context, token chan struct{}, do func() error) error {
	select {
	case <-token:
		defer func() { token <- struct{}{} }()
		return do()
	case <-ctx.Done():
		return ctx.Err()
	}
}

// refresh puts a node into the index as it is now, or takes it out where there is none that can be read; size is what was
// read. The error says that nobody knows what there is.
func (f *Finder) refresh(id uuid.UUID) (size int, err error) {
	n, stamp, err := f.engine.Stamped(id)
	before, known := f.index.Stamp(id)
	var full error
	switch {
	case err != nil && !store.Gone(err):
		return 0, err
	case err != nil && !known, err == nil && known && before == stamp:
		return n.Size(), nil
	case err != nil:
		f.index.Remove(id)
	default:
		full = f.index.Put(n, stamp)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.changes++
	if full != nil && f.full == nil {
		f.full = full
	}
	return n.Size(), nil
}

// timeForTotal is how long nodes are read for a total: half of what a first page may take (20 ms). In memory, 300 files take less; from a
// disk, 60 ms and more.
const timeForTotal = 10 * time.Millisecond

// Search implements the method of store.Store. Where the page does not say how much may be read, its total takes no more than
// timeForTotal.
func (f *Finder) Search(ctx context.Context, q *search.Query, page search.Page) (search.Result, error) {
	if err := f.foldLast(ctx); err != nil {
		return search.Result{}, err
	}
	if page.Reads == 0 {
		began := time.Now()
		page.Enough = func() bool { return time.Since(began) > timeForTotal }
	}
	return f.index.Search(ctx, source{f}, q.In(f.engine.Zone()), page)
}

// Tags implements the method of store.Store.
func (f *Finder) Tags(ctx context.Context, prefix, after string, size int) (store.TagPage, error) {
	if err := f.foldLast(ctx); err != nil {
		return store.TagPage{}, err
	}
	tags, next, err := f.index.Tags(prefix, after, size)
	return store.TagPage{Tags: tags, Next: next, Approximate: f.index.Partial()}, err
}

// Empty is the finder of a namespace that nobody wrote to.
func Empty() *Finder { return New(nothing{}, search.New()) }

// nothing is an engine that holds nothing.
type nothing struct{}

func (nothing) Stamped(uuid.UUID) (node.Node, uint64, error) {
	return node.Node{}, 0, store.ErrNodeNotFound
}
func (nothing) Flow(uuid.UUID) (flow.Flow, error)    { return flow.Flow{}, store.ErrFlowNotFound }
func (nothing) Zone() *time.Location                 { return time.UTC }
func (nothing) Flows(store.Entry, int) []store.Entry { return nil }
