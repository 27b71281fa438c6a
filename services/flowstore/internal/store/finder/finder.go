// Package finder keeps the search index of a namespace in step with the engine that holds its nodes.
//
// An engine tells which nodes it touched, whatever it did to them, and that costs it no more than noting an id: a commit does
// not wait for the index. A search first reads what was touched before it began, so a node is found as soon as the call
// that wrote it has returned (cases/perf.md 13). What must be read anew when an index was lost is read beside: until then
// searches say that they are approximate.
package finder

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"

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
	// Flows gives up to n flows behind an entry, in any order that stays.
	Flows(after store.Entry, n int) []store.Entry
}

// Finder is the index of one namespace with what it does not know yet. Safe for concurrent use.
type Finder struct {
	engine Engine
	index  *search.Index
	// folding holds one token: whoever took it reads what was touched, and others wait for that, as long as their context lasts.
	folding chan struct{}
	// woken has something when there may be work for Fold and FoldMissing.
	woken chan struct{}

	mu      sync.Mutex
	touched map[uuid.UUID]struct{}
	missing []uuid.UUID
	// failing says why nodes could not be read, where that lies with the disk. They are read again by every Fold.
	failing error
	// changes counts what became of touched and missing nodes in the index.
	changes int
	full    error
}

// New makes a finder over an index, which is empty or comes from a snapshot.
func New(engine Engine, index *search.Index) *Finder {
	f := &Finder{
		engine: engine, index: index, folding: make(chan struct{}, 1), woken: make(chan struct{}, 1), touched: map[uuid.UUID]struct{}{},
	}
	f.folding <- struct{}{}
	return f
}

// Touch notes that a node was made, changed, taken away or brought back. Takes no time, and may be called under any lock of
// the engine, after what it tells is visible to Engine.
func (f *Finder) Touch(ids ...uuid.UUID) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, id := range ids {
		f.touched[id] = struct{}{}
	}
	f.wake()
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
func (f *Finder) partial() bool { return len(f.missing) > 0 || f.failing != nil || f.full != nil }

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

// Index is the index, to be written down.
func (f *Finder) Index() *search.Index { return f.index }

// Fold reads what was touched before. The context's error; what was not read then is read the next time.
func (f *Finder) Fold(ctx context.Context) error {
	return f.alone(ctx, func() error {
		f.mu.Lock()
		touched := f.touched
		f.touched = map[uuid.UUID]struct{}{}
		f.failing = nil
		f.mu.Unlock()
		var failed error
		for id := range touched {
			if ctx.Err() != nil {
				failed = ctx.Err()
				break
			}
			if err := f.refresh(id); err == nil {
				delete(touched, id)
			} else {
				failed = cmp.Or(failed, err)
			}
		}
		f.again(touched, failed)
		return ctx.Err()
	})
}

// again keeps nodes for the next Fold, and why they could not be read.
func (f *Finder) again(ids map[uuid.UUID]struct{}, why error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.failing = cmp.Or(f.failing, why)
	maps.Copy(f.touched, ids)
	f.index.SetPartial(f.partial())
}

// someMissing is how many missing nodes are read before searches may go on.
const someMissing = 64

// FoldMissing reads some of what Miss noted, and says whether there is more.
func (f *Finder) FoldMissing(ctx context.Context) (more bool, err error) {
	err = f.alone(ctx, func() error {
		f.mu.Lock()
		some := f.missing[:min(someMissing, len(f.missing))]
		f.mu.Unlock()
		failed := map[uuid.UUID]struct{}{}
		var why error
		for _, id := range some {
			if err := f.refresh(id); err != nil {
				failed[id], why = struct{}{}, cmp.Or(why, err)
			}
		}
		f.mu.Lock()
		if f.missing = f.missing[len(some):]; len(f.missing) == 0 {
			f.missing = nil
		}
		more = f.missing != nil
		f.mu.Unlock()
		f.again(failed, why)
		return nil
	})
	return more, err
}

// alone runs what changes the index.
func (f *Finder) alone(ctx context.Context, do func() error) error {
	select {
	case <-f.folding:
		defer func() { f.folding <- struct{}{} }()
		return do()
	case <-ctx.Done():
		return ctx.Err()
	}
}

// refresh puts a node into the index as it is now, or takes it out where there is none that can be read. The error says
// that nobody knows what there is.
func (f *Finder) refresh(id uuid.UUID) error {
	n, stamp, err := f.engine.Stamped(id)
	before, known := f.index.Stamp(id)
	var full error
	switch {
	case err != nil && !store.Gone(err):
		return err
	case err != nil && !known, err == nil && known && before == stamp:
		return nil
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
	return nil
}

// Search implements the method of store.Store.
func (f *Finder) Search(ctx context.Context, q *search.Query, page search.Page) (search.Result, error) {
	if err := f.Fold(ctx); err != nil {
		return search.Result{}, err
	}
	return f.index.Search(ctx, source{f.engine}, q, page)
}

// Tags implements the method of store.Store.
func (f *Finder) Tags(ctx context.Context, prefix, after string, size int) (store.TagPage, error) {
	if err := f.Fold(ctx); err != nil {
		return store.TagPage{}, err
	}
	tags, next, err := f.index.Tags(prefix, after, size)
	partial, _ := f.Partial()
	return store.TagPage{Tags: tags, Next: next, Approximate: partial}, err
}

// source is the engine as a search sees it.
type source struct{ engine Engine }

// Texts implements search.Source.
func (s source) Texts(_ context.Context, id uuid.UUID) ([]node.Text, uint64, bool, error) {
	n, stamp, err := s.engine.Stamped(id)
	if store.Gone(err) {
		return nil, 0, false, nil
	}
	return n.Texts, stamp, err == nil, err
}

// Members implements search.Source. A UUID is an id, whatever flows are called.
func (s source) Members(ctx context.Context, text string) ([]uuid.UUID, error) {
	id, err := uuid.Parse(strings.TrimPrefix(text, flow.Collection))
	if err == nil {
		f, err := s.engine.Flow(id)
		if errors.Is(err, store.ErrFlowNotFound) {
			return nil, &search.FlowError{}
		}
		return nodesOf(f), err
	}
	return s.called(ctx, text)
}

// called gives the nodes of the only flow of a name. A flow that cannot be read has none.
func (s source) called(ctx context.Context, name string) ([]uuid.UUID, error) {
	const chunk = 1000
	var last store.Entry
	var matches []flow.Flow
	for {
		page := s.engine.Flows(last, chunk)
		for _, e := range page {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			f, err := s.engine.Flow(e.ID)
			if err != nil && !store.Gone(err) {
				return nil, err
			}
			if err == nil && f.Name == name {
				matches = append(matches, f)
			}
			last = e
		}
		if len(page) < chunk {
			break
		}
	}
	if len(matches) == 1 {
		return nodesOf(matches[0]), nil
	}
	slices.SortFunc(matches, func(a, b flow.Flow) int { return cmp.Compare(a.ID.String(), b.ID.String()) })
	unknown := &search.FlowError{}
	for _, f := range matches[:min(len(matches), maxMatches)] {
		unknown.Matches = append(unknown.Matches, flow.Name(f.ID))
	}
	return nil, unknown
}

// maxMatches is how many flows of one name are told.
const maxMatches = 10

func nodesOf(f flow.Flow) []uuid.UUID {
	ids := make([]uuid.UUID, len(f.Members))
	for i, m := range f.Members {
		ids[i] = m.Node
	}
	return ids
}

// Empty is the finder of a namespace that nobody wrote to.
func Empty() *Finder { return New(nothing{}, search.New()) }

// nothing is an engine that holds nothing.
type nothing struct{}

func (nothing) Stamped(uuid.UUID) (node.Node, uint64, error) {
	return node.Node{}, 0, store.ErrNodeNotFound
}
func (nothing) Flow(uuid.UUID) (flow.Flow, error)    { return flow.Flow{}, store.ErrFlowNotFound }
func (nothing) Flows(store.Entry, int) []store.Entry { return nil }
