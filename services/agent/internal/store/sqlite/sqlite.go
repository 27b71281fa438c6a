// Package sqlite keeps sessions in one SQLite file (pure Go, services/internal/durable). Functions that write run one at a time, those
// that come together in one transaction: it is one fdatasync, and they are answered when it is done. What it made is read from then on.
package sqlite

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tsumugi-dev/tsumugi/services/agent/internal/store"
	"github.com/tsumugi-dev/tsumugi/services/internal/durable"
)

const (
	// maxBatch is how many functions share a transaction.
	maxBatch = 256
	// yields is how often the writer lets others run before it takes a batch for complete.
	yields = 4
	// checkpointBytes is how far the write-ahead log grows before it is moved into the database when nobody waits, atLatestBytes before
	// that is done although callers wait: a log that grows without end fills the disk.
	checkpointBytes, atLatestBytes = 16 << 20, 64 << 20
	// updateBytes is about what a function writes to the log beside its bodies: whole pages.
	updateBytes = 32 << 10
)

// Store is one file. It implements store.Store.
type Store struct {
	writer, reader *connection
	// reading lines up those that read.
	reading sync.Mutex
	// pinned says that the reader has a snapshot: that of before the transaction that is becoming durable.
	pinned   bool
	commits  atomic.Int64
	updates  chan *update
	stopping chan struct{}
	stopped  chan struct{}
	stop     sync.Once
	// grown is about how many bytes the log grew since the last checkpoint. failed is why nothing is written any more: of a commit that failed it is not
	// known what is on the disk.
	grown  int
	failed error
}

// connection is one to the file, with all that is said on it.
type connection struct {
	*durable.DB
	say durable.Statements
}

func connect(path string, migrate func(*durable.DB) error, texts ...string) (*connection, error) {
	db, err := durable.Open(path, migrate)
	if err != nil {
		return nil, err
	}
	say, err := db.Prepare(texts...)
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return &connection{db, say}, nil
}

// Close closes what was said, and the connection.
func (c *connection) Close() error { return errors.Join(c.say.Close(), c.DB.Close()) }

// update is a caller's function on its way through the writer.
type update struct {
	ctx      context.Context
	ns       string
	fn       func(store.Tx) error
	done     chan struct{}
	err      error
	panicked any
}

// Open opens the file, and makes it where it is not there.
func Open(path string) (*Store, error) {
	writer, err := connect(path, migrate, slices.Concat(reads, writes)...)
	if err != nil {
		return nil, err
	}
	reader, err := connect(path, func(*durable.DB) error { return nil }, reads...)
	if err != nil {
		return nil, errors.Join(err, writer.Close())
	}
	s := &Store{writer: writer, reader: reader, updates: make(chan *update), stopping: make(chan struct{}), stopped: make(chan struct{})}
	go s.run()
	return s, nil
}

// Update implements store.Store.
func (s *Store) Update(ctx context.Context, namespace string, fn func(store.Tx) error) error {
	u := &update{ctx: ctx, ns: namespace, fn: fn, done: make(chan struct{})}
	select {
	case s.updates <- u:
	case <-ctx.Done():
		return ctx.Err()
	case <-s.stopping:
		return store.ErrClosed
	}
	<-u.done
	if u.panicked != nil {
		panic(u.panicked)
	}
	if errors.Is(u.err, durable.ErrFull) {
		return fmt.Errorf("%w (%w)", store.ErrFull, u.err)
	}
	return u.err
}

// Read implements store.Store.
func (s *Store) Read(ctx context.Context, namespace string, fn func(store.View) error) error {
	return s.read(ctx, func() error { return fn(view{s.reader.say, namespace}) })
}

// read runs fn in one snapshot.
func (s *Store) read(ctx context.Context, fn func() error) error {
	s.reading.Lock()
	defer s.reading.Unlock()
	select {
	case <-s.stopping:
		return store.ErrClosed
	default:
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	if s.pinned {
		return fn()
	}
	if err := s.reader.say.Run(snapshot); err != nil {
		return err
	}
	defer s.reader.say.Run(dropped) //nolint:errcheck // It ends a snapshot; the next one would say what is wrong.
	return fn()
}

// publication is what happens around the commit of a transaction: until it is durable nobody reads it, since a power cut could take it
// back; what was before is read, so that nobody waits for the disk to read.
type publication struct{ *Store }

// Lock gives those that read the state of before.
func (p publication) Lock() {
	p.reading.Lock()
	var none int
	if err := errors.Join(p.reader.say.Run(snapshot), p.reader.say.Row(pin).Scan(&none)); err != nil {
		return // They wait.
	}
	p.pinned = true
	p.reading.Unlock()
}

// Unlock gives them what is durable now.
func (p publication) Unlock() {
	p.commits.Add(1)
	if p.pinned {
		p.reading.Lock()
	}
	p.pinned = false
	_ = p.reader.say.Run(dropped) // It ends a snapshot; the next one would say what is wrong.
	p.reading.Unlock()
}

// Due implements store.Store.
func (s *Store) Due(ctx context.Context, owner string, now time.Time, limit int) (keys []store.Key, next time.Time, err error) {
	err = s.read(ctx, func() error {
		keys, err = durable.List(s.reader.say, listDue, scanKey, micros(now), micros(now.Add(store.Believed)), owner, page(limit))
		if err != nil {
			return err
		}
		var at int64
		err = s.reader.say.Row(nextDue, micros(now)).Scan(&at)
		next = timeOf(at)
		return err
	})
	return keys, next, err
}

func scanKey(scan durable.Scanner) (k store.Key, err error) {
	err = scan(&k.Namespace, &k.Session)
	return k, err
}

// Telling implements store.Store.
func (s *Store) Telling(ctx context.Context, after store.Key, limit int) (keys []store.Key, err error) {
	err = s.read(ctx, func() error {
		keys, err = durable.List(s.reader.say, listTelling, scanKey, after.Namespace, after.Session, page(limit))
		return err
	})
	return keys, err
}

// Namespaces implements store.Store.
func (s *Store) Namespaces(ctx context.Context, after string, limit int) (all []string, err error) {
	err = s.read(ctx, func() error {
		all, err = durable.List(s.reader.say, listNamespaces, text, after, page(limit))
		return err
	})
	return all, err
}

// Commits counts the transactions that were committed: one fdatasync each.
func (s *Store) Commits() int64 { return s.commits.Load() }

// Close waits for what is under way, and closes the file.
func (s *Store) Close() error {
	var err error
	s.stop.Do(func() {
		close(s.stopping)
		<-s.stopped
		s.reading.Lock()
		defer s.reading.Unlock()
		err = errors.Join(s.reader.Close(), s.writer.Close())
	})
	return err
}

func (s *Store) run() {
	defer close(s.stopped)
	for {
		select {
		case u := <-s.updates:
			s.batch(u)
		case <-s.stopping:
			return
		}
	}
}

// batch runs the first function and those of all who wait behind it in one transaction, and answers them when it is durable. There is
// no timer: who comes alone is served alone, and while the disk works the next ones gather.
func (s *Store) batch(first *update) {
	if s.failed != nil {
		first.err = s.failed
		close(first.done)
		return
	}
	all, began, err := s.transact(first)
	// Where none began, such as where another process keeps one open, nothing was written: the next one may begin.
	if began && err != nil && !errors.Is(err, durable.ErrFull) {
		s.failed = fmt.Errorf("nothing is written any more, since a write failed and may be on the disk or not; start again: %w", err)
	}
	for _, u := range all {
		if u.err == nil && u.panicked == nil {
			u.err = err
		}
		close(u.done)
	}
	if s.grown >= atLatestBytes || s.grown >= checkpointBytes && len(all) == 1 {
		s.grown = 0
		_ = s.writer.Checkpoint() // It is not needed for anything that was promised; the next one takes more.
	}
}

// transact runs functions in one transaction, and says which, and whether it began. Where one of them failed after it had written, that
// transaction is undone, and all of them run once more, each by itself.
func (s *Store) transact(first *update) (all []*update, began bool, err error) {
	err = s.writer.TransactionIf(func() (wrote bool, err error) {
		began = true
		for u := first; u != nil; u = s.next(len(all)) {
			all = append(all, u)
			if err := s.one(u, false, &wrote); err != nil {
				return false, err
			}
		}
		return wrote, nil
	}, publication{s})
	if !began {
		all = append(all, first)
	}
	if !errors.Is(err, errSpoiled) {
		return all, began, err
	}
	began = false
	err = s.writer.TransactionIf(func() (wrote bool, err error) {
		began = true
		for _, u := range all {
			if err := s.one(u, true, &wrote); err != nil {
				return false, err
			}
		}
		return wrote, nil
	}, publication{s})
	return all, began, err
}

// next gives one more who waits, nil where nobody does or the batch is full. Before it gives up it lets callers run that are ready to.
func (s *Store) next(n int) *update {
	if n == maxBatch {
		return nil
	}
	for range yields + 1 {
		select {
		case u := <-s.updates:
			return u
		default:
			runtime.Gosched()
		}
	}
	return nil
}

// errSpoiled says that a function failed after it had written, so that its transaction cannot be committed as it is.
var errSpoiled = errors.New("a function failed after it had written")

// one runs a function. Its error or panic takes back what it wrote and nothing else: with apart by a savepoint. That copies each page that
// is written, and hardly a function fails behind its first write: without apart the answer is errSpoiled then, and all of the transaction
// is run again. Any other error is that of the database.
func (s *Store) one(u *update, apart bool, wrote *bool) error {
	u.err, u.panicked = nil, nil
	select {
	case <-u.ctx.Done():
		u.err = u.ctx.Err()
		return nil
	default:
	}
	if apart {
		if err := s.writer.say.Run(begin); err != nil {
			return err
		}
	}
	t := &tx{view: view{s.writer.say, u.ns}}
	u.run(t)
	s.grown += t.bytes + updateBytes
	failed := u.err != nil || u.panicked != nil
	switch {
	case failed && apart:
		return errors.Join(s.writer.say.Run(undo), s.writer.say.Run(end))
	case failed && t.wrote:
		return errSpoiled
	case !failed:
		*wrote = *wrote || t.wrote
	}
	if apart {
		return s.writer.say.Run(end)
	}
	return nil
}

func (u *update) run(t *tx) {
	defer func() { u.panicked = recover() }()
	u.err = u.fn(t)
}
