package files

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tsumugi-dev/tsumugi/services/internal/durable"

	"github.com/google/uuid"
	"go.uber.org/zap"
	"golang.org/x/sync/errgroup"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/search"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store/files/commitlog"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store/finder"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store/format"
	"github.com/tsumugi-dev/tsumugi/services/internal/filesys"
)

// space is an open namespace.
type space struct {
	name  string
	tree  filesys.FS
	clock func() time.Time
	log   *zap.Logger
	gate  Gate
	stats *counters
	cache *flowCache
	// reader reads flows as config.yaml has it; it is set before the first is read.
	reader format.Reader

	// updates go to the writer, jobs too; a job may use local.db and change what mu guards.
	updates chan *update
	jobs    chan job
	// wake tells the gate that it may have something to do, flushes that somebody waits for it; gateJobs are done by it.
	wake     chan struct{}
	flushes  chan flush
	gateJobs chan job
	// closing ends the gate, stopping the writer; then wg is done.
	closing, stopping chan struct{}
	// maxEvents is Options.MaxEvents.
	maxEvents int64
	// watcher has folders watched. stirred is where hands may have been; rescans are those who wait for a scan. watched are the folders that are watched, and
	// handsFailed says that the last scan failed: both only for the goroutine of hands.
	watcher     func(folder string) error
	notWatched  func(error)
	stirred     *stirred
	rescans     chan rescanned
	watched     map[string]bool
	handsFailed bool
	// doubt says that a file of ours met a hand on its way to the trash or back: what is known of the tree is compared with itself.
	doubt atomic.Bool
	wg    sync.WaitGroup

	// Only the writer uses these once it runs: local.db, the time of the last transaction, and the last numbers of a record and
	// of a step.
	local    commitLog
	last     time.Time
	seq      int64
	lastStep int64

	// committing says that callers are being served: while the disk is slow, no write may have ended for long.
	committing atomic.Bool

	// mu guards what follows. The writer changes it; others read.
	mu           sync.RWMutex
	nodes, flows *index
	pending      pending
	seen         seenFiles
	// cause says why nothing can be written; broken, that it is for good.
	cause  error
	broken bool
	// copied says that local.db is a copy in memory, since the volume could not be written when the namespace was opened.
	copied bool
	notes  []note
	// tombsSeen is tombstones.tsv as it was when all of its rows were known; without a path where there was none.
	tombsSeen commitlog.File
	// left are files that may hold what was purged, with what to do about them, by path.
	left map[store.Thing]map[string]string
	// recent are the last events, lastEvent is the number of the last one; happened is closed when there is another.
	recent    []store.Event
	lastEvent int64
	happened  chan struct{}

	// finder is the search index, snapshot the file in which it is kept. snapshots is held by whoever writes that, and guards snapshotOf,
	// the Changes of the finder when it was written. toldPartial says that the log knows that the index lacks nodes; only runFinder uses it.
	finder      *finder.Finder
	snapshot    string
	snapshots   sync.Mutex
	snapshotOf  int
	toldPartial bool

	// settings are those of config.yaml when the namespace was opened.
	settings format.Settings
	metadata metadata

	// written is what the gate knows of the tree; only the gate uses it.
	written treeState
}

// commitLog is what the writer needs of local.db.
type commitLog interface {
	Apply(c commitlog.Changes) error
	Request(id uuid.UUID, since time.Time) (r store.Request, ok bool, err error)
	FlowsOf(node uuid.UUID) ([]uuid.UUID, error)
	Steps(flow uuid.UUID) ([]store.StepRef, error)
	Step(flow uuid.UUID, number int64) (s commitlog.Step, ok bool, err error)
	Events(since int64, n int) ([]store.Event, error)
	Revisions(node uuid.UUID) ([]commitlog.Revision, error)
	Revision(node uuid.UUID, number int64) (r commitlog.Revision, ok bool, err error)
	Knows(t store.Thing) (bool, error)
	Grown() bool
	Checkpoint(busy bool) error
	Rewrite() error
	Close() error
}

// openSpace opens a namespace, and makes it where it is not there. Who does not own the data opens a copy.
func openSpace(s *Store, name string) (*space, error) {
	if err := s.ensureSpace(name); err != nil {
		return nil, &store.ReadOnlyError{Cause: fmt.Errorf("namespace %s: %w", name, err)}
	}
	sp, err := readSpace(s, name, s.unowned)
	if s.unowned == nil && durable.CannotWrite(err) {
		sp, err = readSpace(s, name, err)
	}
	if err != nil {
		return nil, fmt.Errorf("namespace %s: %w", name, err)
	}
	sp.warn(sp.problems())
	sp.wg.Go(sp.runWriter)
	sp.wg.Go(sp.runGate)
	sp.wg.Go(sp.runFinder)
	sp.wg.Go(func() { sp.runHands(s.opts.Rescan, s.opts.Watch != nil) })
	return sp, nil
}

func (s *Store) ensureSpace(name string) error {
	if s.unowned == nil {
		return filesys.EnsureDir(s.tree, name)
	}
	_, err := s.tree.Stat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return s.unowned
	}
	return err
}

// readSpace reads a namespace. cause is why it cannot be written, nil where that is not known.
func readSpace(s *Store, name string, cause error) (*space, error) {
	sp := &space{
		name: name, tree: filesys.Sub(s.tree, name), clock: s.opts.Clock, gate: s.opts.Gate, stats: &s.stats,
		log: s.opts.Log.With(zap.String("namespace", name)), cache: newFlowCache(flowCacheBytes),
		updates: make(chan *update), jobs: make(chan job), wake: make(chan struct{}, 1), flushes: make(chan flush), gateJobs: make(chan job),
		closing: make(chan struct{}), stopping: make(chan struct{}),
		settings: format.DefaultSettings(), nodes: newIndex(format.Nodes), flows: newIndex(format.Flows), pending: newPending(), seen: seenFiles{},
		written: newTreeState(), happened: make(chan struct{}), maxEvents: s.opts.MaxEvents, left: map[store.Thing]map[string]string{},
		watcher: s.watchFolder, notWatched: s.notWatched, stirred: newStirred(), rescans: make(chan rescanned), watched: map[string]bool{},
	}
	if err := sp.open(filepath.Join(s.opts.Data, name, localFolder), cause); err != nil {
		return nil, err
	}
	return sp, nil
}

// open opens local.db, or a copy of it where there is a cause for that, and reads what it and the tree hold.
func (sp *space) open(local string, cause error) error {
	if err := sp.readConfig(); err != nil {
		return err
	}
	open := sp.openLocal
	if cause != nil {
		open = func(folder string) (*commitlog.Log, error) { return sp.openCopy(folder, cause) }
	}
	log, err := open(local)
	if err != nil {
		return &store.ReadOnlyError{Cause: err}
	}
	sp.local = log
	sp.snapshot = filepath.Join(local, snapshotName)
	if err := sp.load(log); err != nil {
		return errors.Join(err, log.Close())
	}
	return nil
}

func (sp *space) openLocal(folder string) (*commitlog.Log, error) {
	if err := filesys.EnsureDir(sp.tree, localFolder); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return nil, err
	}
	return commitlog.Open(filepath.Join(folder, localName))
}

// openCopy opens a namespace that cannot be written: what was acknowledged and is not in the tree is read from memory, as ever.
func (sp *space) openCopy(folder string, cause error) (*commitlog.Log, error) {
	var told *store.ReadOnlyError
	if errors.As(cause, &told) {
		cause = told.Cause
	}
	log, err := commitlog.OpenCopy(filepath.Join(folder, localName))
	if err != nil {
		return nil, errors.Join(cause, err)
	}
	sp.cause, sp.broken, sp.copied = cause, true, true
	sp.log.Error("nothing can be written; reads go on, and writes are refused until the store is started where it can write", zap.Error(cause))
	return log, nil
}

// load reads what the tree and local.db hold. What does not need local.db is read while that is: it is much of the time.
func (sp *space) load(log *commitlog.Log) error {
	var listed listing
	var index *search.Index
	var lists errgroup.Group
	var reading sync.WaitGroup
	lists.Go(func() (err error) {
		listed, err = sp.listAll()
		return err
	})
	reading.Go(func() { index = sp.readSnapshot() })
	defer func() { _ = lists.Wait(); reading.Wait() }()
	state, err := log.State()
	if err != nil {
		return err
	}
	known, err := log.Files()
	if err != nil {
		return err
	}
	sp.last, sp.nodes.names, sp.flows.names = state.Last, format.NewNames(state.NextNode), format.NewNames(state.NextFlow)
	dropped, err := log.Dropped()
	if err != nil {
		return err
	}
	if err := sp.loadTombs(); err != nil {
		return err
	}
	if err := lists.Wait(); err != nil {
		return err
	}
	found, changed, err := sp.scan(listed, known, dropped)
	if err != nil {
		return err
	}
	if err := sp.restore(log, found, dropped); err != nil {
		return err
	}
	if sp.lastStep, err = log.LastStep(); err != nil {
		return err
	}
	if err := sp.loadEvents(log); err != nil {
		return err
	}
	sp.stayOut(sp.nodes)
	sp.stayOut(sp.flows)
	sp.nodes.sortList()
	sp.flows.sortList()
	if err := sp.takeInClosed(known, changed); err != nil {
		return err
	}
	sp.takeLeftovers()
	if err := sp.carryOutFound(known); err != nil {
		return err
	}
	reading.Wait()
	sp.openSearch(index, found)
	return sp.openMetadata(known)
}

// update has the writer run fn and waits until what it wrote is durable.
func (sp *space) update(ctx context.Context, fn func(store.Tx) error) error {
	u := &update{ctx: ctx, fn: fn, done: make(chan struct{})}
	select {
	case sp.updates <- u:
	case <-ctx.Done():
		return ctx.Err()
	case <-sp.closing:
		return store.ErrClosed
	}
	<-u.done
	if u.panicked != nil {
		panic(u.panicked)
	}
	return u.err
}

// problems lists what needs a person, by path.
func (sp *space) problems() []store.Problem {
	sp.mu.RLock()
	defer sp.mu.RUnlock()
	list := slices.Concat(sp.nodes.problems(), sp.flows.problems())
	for id, why := range sp.finder.Unread() {
		if file, ok := sp.nodes.path(id); ok {
			list = append(list, store.Problem{Path: file, Reason: "it cannot be read now, so searches lack it, and the metadata files wait for it: " + why.Error()})
		}
	}
	for _, n := range sp.notes {
		list = append(list, n.Problem)
	}
	slices.SortFunc(list, func(a, b store.Problem) int {
		if c := strings.Compare(a.Path, b.Path); c != 0 {
			return c
		}
		return strings.Compare(a.Reason, b.Reason)
	})
	return list
}

const (
	// maxNotes is how many problems are kept that the index does not know.
	maxNotes = 1000
	// maxWarnings is how many problems the log names at once.
	maxWarnings = 20
)

// note is a problem that the index does not know.
type note struct {
	store.Problem
	// standing says that it is about the file that stands there: it ends when a hand takes that away or mends it. Others
	// are told until the next start.
	standing bool
}

// note keeps a problem that the index does not know, and tells the log. The caller holds mu.
func (sp *space) note(path, reason string) {
	sp.tellOf(note{Problem: store.Problem{Path: path, Reason: reason}})
}

// noteFile is note for a file that stands in the way of another one.
func (sp *space) noteFile(path, reason string) {
	sp.tellOf(note{store.Problem{Path: path, Reason: reason}, true})
}

func (sp *space) tellOf(n note) {
	sp.keep(n)
	sp.warn([]store.Problem{n.Problem})
}

// keep is note while the namespace is opened: when it is open, the log is told of all that was found.
func (sp *space) keep(n note) {
	if len(sp.notes) < maxNotes {
		sp.notes = append(sp.notes, n)
	}
}

// warn tells the log which files need a person.
func (sp *space) warn(problems []store.Problem) {
	for _, p := range problems[:min(len(problems), maxWarnings)] {
		sp.log.Warn("a file needs a person", zap.String("path", p.Path), zap.String("reason", p.Reason))
	}
	if more := len(problems) - maxWarnings; more > 0 {
		sp.log.Warn("more files need a person", zap.Int("files", more))
	}
}

// readOnly is the error of a namespace that cannot write, nil where it can.
func (sp *space) readOnly() error {
	sp.mu.RLock()
	defer sp.mu.RUnlock()
	if sp.cause == nil {
		return nil
	}
	return &store.ReadOnlyError{Cause: sp.cause}
}

// close writes what is pending and ends the goroutines.
func (sp *space) close() error {
	close(sp.closing)
	sp.wg.Wait()
	return errors.Join(sp.closeFinder(), sp.written.closeErr, sp.local.Close())
}

// path is where the index has what an id stands for, or had it as long as the file could be read; ok is false where there
// is nothing.
func (x *index) path(id uuid.UUID) (file string, ok bool) {
	if h, ok := x.heads[id]; ok {
		return h.path, true
	}
	file, ok = x.lost[id]
	return file, ok
}
