// Package files keeps a namespace as a tree of text files that a person reads, edits and keeps in git (seed 004).
//
// An Update is one transaction in the namespace's local.db (package commitlog); callers that come together share its
// fsync. The files follow behind, when nothing has been written for a moment (Gate). What is acknowledged and not in the
// tree yet is read from memory, and found again in local.db after a crash. The text tree is the truth: a file that a
// person changed is never overwritten.
//
//	<data>/.flowstore/lock             who owns the data
//	<data>/<namespace>/nodes/000/000.xml, flows/000/000.yaml, nodes/index.tsv, flows/index.tsv, config.yaml
//	<data>/<namespace>/trash/nodes/000/000.xml: what was deleted, in the places where it stood
//	<data>/<namespace>/.flowstore/local.db
//
// Three goroutines belong to each open namespace. The writer alone changes its state and uses local.db; the gate writes files
// and asks the writer for what it needs from local.db; the third looks for what hands do to the files, and has the writer
// take it in.
package files

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/tsumugi-dev/tsumugi/services/internal/durable"

	"github.com/gofrs/flock"
	"github.com/google/uuid"
	"go.uber.org/zap"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/flow"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/node"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store"
	"github.com/tsumugi-dev/tsumugi/services/internal/filesys"
)

// MaxNamespaces is how many namespaces may be open at once: each keeps four goroutines, an index and an open local.db until the
// store is closed.
const MaxNamespaces = 1000

// localFolder holds what belongs to this machine and to no repository.
const localFolder = ".flowstore"

// localName is the name of local.db in it.
const localName = "local.db"

// Options are what a store is opened with.
type Options struct {
	// Data is the folder of all namespaces. It is made where it is not there.
	Data string
	// Clock tells the time of transactions. nil: time.Now.
	Clock func() time.Time
	// Log takes what an operator should know: files that need a person, a disk that cannot be written. nil: nothing.
	Log *zap.Logger
	// Gate says when files are written. The zero Gate is DefaultGate().
	Gate Gate
	// MaxEvents is about how many events of a namespace are kept; besides, those that are in memory are. 0: store.MaxEvents.
	MaxEvents int64
	// Rescan is how often the folders are looked through for what hands changed. 0: only when Rescan is called.
	Rescan time.Duration
	// Watch makes what tells of changes in folders at once, so that nobody waits for the next Rescan (adapter/watch.New). changed
	// is to be told the path of a folder, lost why changes may have been missed. nil: nothing tells.
	Watch func(changed func(folder string), lost func(error)) (Watcher, error)
}

// Watcher tells of changes in folders. Safe for concurrent use.
type Watcher interface {
	// Watch has it tell of changes in one folder, not of those in folders below it. It may be called again.
	Watch(folder string) error
	// Close ends telling.
	Close() error
}

// Store is the engine. It implements store.Store.
type Store struct {
	opts  Options
	tree  filesys.FS
	owner *flock.Flock
	// unowned is why owner is not locked, nil where it is.
	unowned error
	stats   counters
	watch   watching
	close   func() error

	mu     sync.Mutex
	spaces map[string]*opening
	closed bool
	// looking has room for the one look that runs.
	looking chan struct{}
}

var _ store.Store = (*Store)(nil)

// opening is a namespace that is open, or about to be when ready is closed.
type opening struct {
	ready chan struct{}
	space *space
	err   error
}

// Open opens the store. *LockedError when another process owns the data. Where the data cannot be written it is read all the same,
// with what local.db has of it; every write is answered with a *store.ReadOnlyError until the store is opened anew.
func Open(opts Options) (*Store, error) {
	data, err := filepath.Abs(opts.Data) // SQLite takes a relative path in its URI for the name of a host
	if err != nil {
		return nil, fmt.Errorf("the data folder %s: %w", opts.Data, err)
	}
	opts.Data = data
	tree, err := filesys.Open(opts.Data)
	if err != nil {
		return nil, err
	}
	s, err := open(opts, tree)
	if err != nil {
		return nil, errors.Join(err, tree.Close())
	}
	s.close = tree.Close
	return s, nil
}

// open opens a store whose text files are in tree; what is no text file is in opts.Data.
func open(opts Options, tree filesys.FS) (*Store, error) {
	if opts.Clock == nil {
		opts.Clock = time.Now
	}
	if opts.Log == nil {
		opts.Log = zap.NewNop()
	}
	if opts.Gate == (Gate{}) {
		opts.Gate = DefaultGate()
	}
	opts.MaxEvents = cmp.Or(opts.MaxEvents, store.MaxEvents)
	if err := filesys.EnsureDir(tree, localFolder); err != nil && !durable.CannotWrite(err) {
		return nil, fmt.Errorf("make %s: %w", filepath.Join(opts.Data, localFolder), err)
	}
	owner, err := own(opts.Data, opts.Clock())
	if err != nil && !durable.CannotWrite(err) {
		return nil, err
	}
	s := &Store{
		opts: opts, tree: tree, owner: owner, unowned: err, spaces: map[string]*opening{}, looking: make(chan struct{}, 1),
		close: func() error { return nil },
	}
	s.startWatching()
	return s, nil
}

// Node implements store.Store.
func (s *Store) Node(ctx context.Context, ns string, id uuid.UUID) (node.Node, error) {
	sp, err := s.existing(ctx, ns)
	if err != nil || sp == nil {
		return node.Node{}, cmp.Or(err, store.ErrNodeNotFound)
	}
	return sp.Node(id)
}

// Flow implements store.Store.
func (s *Store) Flow(ctx context.Context, ns string, id uuid.UUID) (flow.Flow, error) {
	sp, err := s.existing(ctx, ns)
	if err != nil || sp == nil {
		return flow.Flow{}, cmp.Or(err, store.ErrFlowNotFound)
	}
	return sp.Flow(id)
}

// Nodes implements store.Store.
func (s *Store) Nodes(ctx context.Context, ns string, order store.Order, after store.Entry, n int) ([]store.Entry, error) {
	sp, err := s.existing(ctx, ns)
	if err != nil || sp == nil {
		return nil, err
	}
	return sp.list(sp.nodes, order, after, n), nil
}

// Flows implements store.Store.
func (s *Store) Flows(ctx context.Context, ns string, order store.Order, after store.Entry, n int) ([]store.Entry, error) {
	sp, err := s.existing(ctx, ns)
	if err != nil || sp == nil {
		return nil, err
	}
	return sp.list(sp.flows, order, after, n), nil
}

// Dropped implements store.Store.
func (s *Store) Dropped(ctx context.Context, ns string, kind store.Kind, after store.Entry, n int) ([]store.Entry, error) {
	sp, err := s.existing(ctx, ns)
	if err != nil || sp == nil {
		return nil, err
	}
	return sp.dropped(kind, after, n), nil
}

// Revisions implements store.Store.
func (s *Store) Revisions(ctx context.Context, ns string, id uuid.UUID) ([]store.Revision, error) {
	sp, err := s.existing(ctx, ns)
	if err != nil || sp == nil {
		return nil, cmp.Or(err, store.ErrNodeNotFound)
	}
	return sp.revisions(ctx, id)
}

// Revision implements store.Store.
func (s *Store) Revision(ctx context.Context, ns string, id uuid.UUID, r store.Revision) (node.Node, error) {
	sp, err := s.existing(ctx, ns)
	if err != nil || sp == nil {
		return node.Node{}, cmp.Or(err, store.ErrNodeNotFound)
	}
	return sp.revision(ctx, id, r)
}

// Events implements store.Store.
func (s *Store) Events(ctx context.Context, ns string, since int64, n int) ([]store.Event, error) {
	sp, err := s.space(ctx, ns)
	if err != nil {
		return nil, err
	}
	return sp.events(ctx, since, n)
}

// LastEvent implements store.Store.
func (s *Store) LastEvent(ctx context.Context, ns string) (int64, error) {
	sp, err := s.space(ctx, ns)
	if err != nil {
		return 0, err
	}
	sp.mu.RLock()
	defer sp.mu.RUnlock()
	return sp.lastEvent, nil
}

// Update implements store.Store.
func (s *Store) Update(ctx context.Context, ns string, fn func(store.Tx) error) error {
	sp, err := s.space(ctx, ns)
	if err != nil {
		return err
	}
	return sp.update(ctx, fn)
}

// Flush implements store.Store.
func (s *Store) Flush(ctx context.Context, ns string) (int, error) {
	sp, err := s.existing(ctx, ns)
	if err != nil || sp == nil {
		return 0, err
	}
	return sp.flush(ctx)
}

// Problems implements store.Store. What could not be read is tried again first.
func (s *Store) Problems(ctx context.Context, ns string) ([]store.Problem, error) {
	sp, err := s.existing(ctx, ns)
	if err != nil || sp == nil {
		return nil, err
	}
	if len(sp.finder.Unread()) > 0 {
		if err := sp.finder.Fold(ctx); err != nil {
			return nil, err
		}
	}
	return sp.problems(), nil
}

// existing gives a namespace, nil where it was never written to: reading makes none.
func (s *Store) existing(ctx context.Context, ns string) (*space, error) {
	if err := store.CheckNamespace(ns); err != nil {
		return nil, err
	}
	s.mu.Lock()
	known, closed := s.spaces[ns] != nil, s.closed
	s.mu.Unlock()
	if !known && !closed {
		if _, err := s.tree.Stat(ns); errors.Is(err, fs.ErrNotExist) {
			return nil, nil
		}
	}
	return s.space(ctx, ns)
}

// space gives a namespace and opens it the first time. Whoever comes meanwhile waits; when it fails, the next one tries
// again.
func (s *Store) space(ctx context.Context, ns string) (*space, error) {
	if err := store.CheckNamespace(ns); err != nil {
		return nil, err
	}
	o, first, err := s.enter(ns)
	if err != nil {
		return nil, err
	}
	if first {
		o.space, o.err = openSpace(s, ns)
		if o.err != nil {
			s.forget(ns)
		}
		close(o.ready)
	}
	select {
	case <-o.ready:
		return o.space, o.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (s *Store) enter(ns string) (o *opening, first bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.closed:
		return nil, false, store.ErrClosed
	case s.spaces[ns] != nil:
		return s.spaces[ns], false, nil
	case len(s.spaces) >= MaxNamespaces:
		return nil, false, &store.CrowdedError{Namespace: ns, Limit: MaxNamespaces}
	}
	o = &opening{ready: make(chan struct{})}
	s.spaces[ns] = o
	return o, true, nil
}

func (s *Store) forget(ns string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.spaces, ns)
}

// Close implements store.Store. Its error says what could not be written; what was acknowledged is in local.db all the same.
func (s *Store) Close() error {
	s.mu.Lock()
	wasClosed := s.closed
	s.closed = true
	spaces := maps.Clone(s.spaces)
	s.mu.Unlock()
	if wasClosed {
		return nil
	}
	var errs []error
	for _, ns := range slices.Sorted(maps.Keys(spaces)) {
		o := spaces[ns]
		<-o.ready
		if o.space != nil {
			errs = append(errs, o.space.close())
		}
	}
	return errors.Join(append(errs, s.watch.close(), s.owner.Unlock(), s.close())...)
}
