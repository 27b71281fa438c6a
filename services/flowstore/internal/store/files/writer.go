package files

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"time"

	"github.com/google/uuid"
	"go.uber.org/zap"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/flow"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/node"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store/files/commitlog"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store/overlay"
)

const (
	// maxBatch is how many functions share one fsync.
	maxBatch = 256
	// yields is how often the writer lets others run before it takes a batch for complete.
	yields = 4
)

// update is a caller's function on its way through the writer.
type update struct {
	ctx      context.Context
	fn       func(store.Tx) error
	done     chan struct{}
	err      error
	panicked any
}

// job is what the gate asks the writer to do.
type job struct {
	do   func() error
	done chan error
}

// runWriter runs updates and jobs one at a time, until the gate has ended.
func (sp *space) runWriter() {
	for {
		started := time.Now()
		updates := sp.updates
		full := sp.mustWait()
		if full {
			updates = nil
		}
		select {
		case u := <-updates:
			sp.runBatch(u)
		case j := <-sp.jobs:
			j.done <- sp.guard(j.do)
		case <-sp.stopping:
			return
		}
		if full {
			sp.stats.waited.Add(int64(time.Since(started)))
		}
	}
}

// onWriter has the writer do something, and waits for it. For the gate.
func (sp *space) onWriter(do func() error) error {
	j := job{do: do, done: make(chan error, 1)}
	sp.jobs <- j
	return <-j.done
}

// ask has the writer read local.db, and waits for it. For readers.
func (sp *space) ask(ctx context.Context, read func() error) error {
	j := job{do: read, done: make(chan error, 1)}
	select {
	case sp.jobs <- j:
		return <-j.done
	case <-ctx.Done():
		return ctx.Err()
	case <-sp.stopping:
		return store.ErrClosed
	}
}

// runBatch runs the first function and those of all who wait behind it, makes what they wrote durable with one fsync, and
// answers them. There is no timer: who comes alone is served alone, and while the disk works the next ones gather.
func (sp *space) runBatch(first *update) {
	sp.committing.Store(true)
	defer sp.committing.Store(false)
	b := newBatch(sp)
	var updates []*update
	for u := first; u != nil; u = sp.next(len(updates)) {
		u.run(b)
		updates = append(updates, u)
	}
	err := sp.guard(func() error { return sp.commit(b) })
	for _, u := range updates {
		if u.err == nil && u.panicked == nil {
			u.err = err
		}
		close(u.done)
	}
}

// next gives one more who waits, nil where nobody does or the batch is full. Before it gives up it lets callers run that
// are ready to: on a fast disk they would otherwise come one commit too late, with fewer for each fsync. Where nobody is
// ready that takes less than a microsecond.
func (sp *space) next(n int) *update {
	if n == maxBatch {
		return nil
	}
	for range yields + 1 {
		select {
		case u := <-sp.updates:
			return u
		default:
			runtime.Gosched()
		}
	}
	return nil
}

// run runs the function over what the batch holds. Its overlay is the savepoint: an error or a panic drops it.
func (u *update) run(b *batch) {
	defer func() {
		if u.panicked = recover(); u.panicked != nil {
			b.log.Error("a function panicked", zap.Any("panic", u.panicked), zap.StackSkip("stack", 1))
		}
	}()
	if u.err = u.ctx.Err(); u.err != nil {
		return
	}
	if u.err = b.readOnly(); u.err != nil {
		return
	}
	tx := b.begin()
	if u.err = u.fn(tx.Tx(store.Origin(u.ctx))); u.err != nil {
		return
	}
	var bodies [][]byte
	if bodies, u.err = encode(tx.Ops()); u.err == nil {
		b.writes.Take(tx)
		b.bodies = append(b.bodies, bodies...)
	}
}

// batch is what one transaction of local.db will hold.
type batch struct {
	*space
	writes *overlay.Overlay
	// bodies are those of the records of writes.
	bodies [][]byte
	// now is the time of the function that began last.
	now time.Time
	// loaded and loadedNodes are what was read from files, each once, so that what the log says of a file is true of what
	// the functions saw.
	loaded      map[uuid.UUID]loadedFlow
	loadedNodes map[uuid.UUID]loadedNode
}

func newBatch(sp *space) *batch {
	b := &batch{space: sp, now: sp.last, loaded: map[uuid.UUID]loadedFlow{}, loadedNodes: map[uuid.UUID]loadedNode{}}
	b.writes = overlay.New(b, b.now)
	sp.nodes.names.GoOn()
	sp.flows.names.GoOn()
	return b
}

func (b *batch) begin() *overlay.Overlay {
	b.now = store.Later(b.now, b.clock())
	return overlay.New(b.writes, b.now)
}

// Node implements overlay.Reader.
func (b *batch) Node(id uuid.UUID) (node.Node, error) {
	if waiting := b.pending.nodes[id]; waiting != nil {
		return b.decodeNode(waiting.path, id, waiting.body)
	}
	if l, ok := b.loadedNodes[id]; ok {
		return l.node, nil
	}
	l, err := b.load(id)
	if err != nil {
		return node.Node{}, err
	}
	b.loadedNodes[id] = l
	return l.node, nil
}

// load reads the file of a node.
func (b *batch) load(id uuid.UUID) (loadedNode, error) {
	file, ok := b.nodes.place(id)
	if !ok {
		return loadedNode{}, store.ErrNodeNotFound
	}
	return b.loadNode(file, id)
}

// Check implements overlay.Reader. Thousands of nodes may go to the trash at once, which all together need not fit into memory.
func (b *batch) Check(t store.Thing) error {
	if t.Kind == store.KindFlow {
		return t.Read(b)
	}
	_, loaded := b.loadedNodes[t.ID]
	if loaded || b.pending.nodes[t.ID] != nil {
		return nil
	}
	_, err := b.load(t.ID)
	return err
}

// Traces implements overlay.Reader. What the index still has is not gone: its file went away a moment ago, and may come back, as where
// an editor replaces it.
func (b *batch) Traces(t store.Thing) (bool, error) {
	if _, there := b.indexOf(t.Kind).path(t.ID); there {
		return false, nil
	}
	if _, dropped := b.indexOf(t.Kind).trash[t.ID]; dropped {
		return true, nil
	}
	return b.local.Knows(t)
}

// FlowsOf implements overlay.Reader.
func (b *batch) FlowsOf(node uuid.UUID) ([]uuid.UUID, error) { return b.local.FlowsOf(node) }

// Flow implements overlay.Reader.
func (b *batch) Flow(id uuid.UUID) (flow.Flow, error) {
	if waiting := b.pending.flows[id]; waiting != nil {
		return waiting.flow, nil
	}
	if l, ok := b.loaded[id]; ok {
		return l.flow, nil
	}
	file, ok := b.flows.place(id)
	if !ok {
		return flow.Flow{}, store.ErrFlowNotFound
	}
	l, err := b.loadFlow(file, id)
	if err != nil {
		return flow.Flow{}, err
	}
	b.loaded[id] = l
	return l.flow, nil
}

// Request implements overlay.Reader.
func (b *batch) Request(id uuid.UUID) (store.Request, bool, error) {
	return b.local.Request(id, b.now.Add(-store.RequestLifetime))
}

// Room implements overlay.Reader.
func (b *batch) Room() (nodes, flows int) {
	return b.nodes.names.Room(), b.flows.names.Room()
}

// commit makes a batch durable, then visible. When it fails nothing of it stays.
func (sp *space) commit(b *batch) error {
	if b.writes.Empty() {
		sp.last = b.now
		return nil
	}
	c := b.changes()
	if err := sp.apply(c); err != nil {
		return err
	}
	sp.stats.commits.Add(1)
	sp.stats.records.Add(int64(len(c.Records)))
	sp.publish(b, c)
	return nil
}

// guard turns a panic into an error: what is wrong with one flow or file must not end the process. Whatever the fault left
// half done, nothing is accepted any more until the store is opened anew.
func (sp *space) guard(do func() error) (err error) {
	defer func() {
		if fault := recover(); fault != nil {
			sp.log.Error("a fault of ours", zap.Any("panic", fault), zap.StackSkip("stack", 1))
			err = sp.breakDown(fmt.Errorf("a fault of ours: %v", fault))
		}
	}()
	return do()
}

// breakDown turns the namespace read-only for good.
func (sp *space) breakDown(cause error) error {
	sp.mu.Lock()
	defer sp.mu.Unlock()
	sp.cause, sp.broken = cause, true
	return &store.ReadOnlyError{Cause: cause}
}

// apply makes changes of local.db durable. A full disk is told and forgotten: the next one may succeed. After any other
// error nothing more is accepted until the store is opened anew, since what is on the disk is not known.
func (sp *space) apply(c commitlog.Changes) error {
	if len(c.Files) > 0 {
		c.Gone = append(c.Gone, sp.written.outdated()...)
	}
	err := sp.local.Apply(c)
	sp.stats.syncs.Add(1)
	switch {
	case err == nil && len(c.Files)+len(c.Gone) > 0:
		sp.mu.Lock()
		defer sp.mu.Unlock()
		sp.remember(c.Files, c.Gone)
		return nil
	case err == nil:
		return nil
	case errors.Is(err, commitlog.ErrFull):
		return &store.ReadOnlyError{Cause: err}
	}
	sp.log.Error("local.db cannot be written; no more writes until it is opened anew", zap.Error(err))
	return sp.breakDown(err)
}
