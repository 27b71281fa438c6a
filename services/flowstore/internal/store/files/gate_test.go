package files

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/flow"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store/files/commitlog"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store/format"
	"github.com/tsumugi-dev/tsumugi/services/internal/filesys/powercut"
)

// gated opens a store with a gate and a hook on its tree.
func gated(t *testing.T, gate Gate, hook powercut.Hook) *user {
	t.Helper()
	w := newWorld(t, hook)
	s, err := open(Options{Data: w.local, Gate: gate}, w.tree)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return newUser(s)
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// signal is closed at the first step that is so.
func signal(is func(powercut.Step) bool) (<-chan struct{}, powercut.Hook) {
	ch := make(chan struct{})
	var once sync.Once
	return ch, func(s powercut.Step) error {
		if is(s) {
			once.Do(func() { close(ch) })
		}
		return nil
	}
}

func nodeFileIsRenamed(s powercut.Step) bool {
	return s.Op == powercut.OpRename && strings.Contains(s.Name, "nodes/000/")
}

func TestFilesAreWrittenWhenNobodyWrites(t *testing.T) {
	t.Parallel()
	written, hook := signal(nodeFileIsRenamed)
	gate := byHand
	gate.Idle = time.Millisecond
	u := gated(t, gate, hook)
	must(t, u.createNode("one"))
	<-written
}

func TestFilesAreWrittenWhenAWriteIsOld(t *testing.T) {
	t.Parallel()
	written, hook := signal(nodeFileIsRenamed)
	gate := byHand
	gate.MaxAge = time.Millisecond
	u := gated(t, gate, hook)
	for i := 0; ; i++ {
		must(t, u.createNode(fmt.Sprint(i)))
		select {
		case <-written:
			return
		default:
		}
	}
}

func TestNothingIsWrittenBefore(t *testing.T) {
	t.Parallel()
	written, hook := signal(nodeFileIsRenamed)
	u := gated(t, byHand, hook)
	for i := range 20 {
		must(t, u.createNode(fmt.Sprint(i)))
	}
	select {
	case <-written:
		t.Error("a file was written beside the log")
	default:
	}
	if got := u.store.Stats(); got.PendingRecords != 20 || got.PendingBytes == 0 || got.Files != 0 || got.Commits != 20 || got.Records != 20 || got.Syncs != 20 {
		t.Errorf("%+v", got)
	}
	must(t, u.flush())
	if got := u.store.Stats(); got.PendingRecords != 0 || got.PendingBytes != 0 || got.Files != 21 || got.Commits != 20 || got.Syncs <= 20 {
		t.Errorf("after a flush: %+v", got)
	}
}

// Writers wait when too much is pending, by number and by size, and go on when half of it is written.
func TestWritersWaitForFiles(t *testing.T) {
	t.Parallel()
	byRecords, byBytes := byHand, byHand
	byRecords.MaxRecords = 10
	byBytes.MaxBytes = 10_000
	for name, gate := range map[string]Gate{"records": byRecords, "bytes": byBytes} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			u := gated(t, gate, nil)
			for i := range 200 {
				must(t, u.createNode(fmt.Sprint(i)))
				if got := u.store.Stats(); got.PendingRecords > 20 {
					t.Fatalf("%d writes are pending", got.PendingRecords)
				}
			}
			if got := u.store.Stats(); got.Waits == 0 || got.Waited == 0 || got.Files == 0 {
				t.Errorf("%+v", got)
			}
			must(t, u.finds(u.store))
		})
	}
}

func TestAWriterThatWaitsMayLeave(t *testing.T) {
	t.Parallel()
	gate := byHand
	gate.MaxRecords = 1
	entered, release := make(chan struct{}), make(chan struct{})
	var once sync.Once
	u := gated(t, gate, func(s powercut.Step) error {
		if nodeFileIsRenamed(s) {
			once.Do(func() { close(entered); <-release })
		}
		return nil
	})
	must(t, u.createNode("one"))
	<-entered
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := u.store.Update(ctx, ns, func(store.Tx) error { return nil }); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
	close(release)
	must(t, u.createNode("two"))
}

// A disk that fails turns the namespace read-only; a flush that works opens it again.
func TestADiskThatFailsForAWhile(t *testing.T) {
	t.Parallel()
	failing := true
	u := gated(t, byHand, func(s powercut.Step) error {
		if failing && s.Op == powercut.OpSync {
			return syscall.EIO
		}
		return nil
	})
	must(t, errors.Join(u.createFlow("novel"), u.addNode("novel", "a")))
	var readOnly *store.ReadOnlyError
	if err := u.flush(); !errors.As(err, &readOnly) || !errors.Is(err, syscall.EIO) {
		t.Errorf("flush: %v", err)
	}
	if err := u.createNode("b"); !errors.As(err, &readOnly) || !errors.Is(err, syscall.EIO) || strings.Count(err.Error(), "cannot write") != 1 {
		t.Errorf("a write: %v", err)
	}
	if got := u.store.Stats().ReadOnly; got != 1 {
		t.Errorf("%d namespaces are read-only", got)
	}
	must(t, u.finds(u.store))
	failing = false
	must(t, u.flush())
	must(t, u.createNode("b"))
	must(t, u.finds(u.store))
}

func TestADiskThatFailsIsTriedAgain(t *testing.T) {
	t.Parallel()
	tries := 0
	written, hook := signal(nodeFileIsRenamed)
	gate := byHand
	gate.Idle, gate.Retry = time.Millisecond, time.Millisecond
	u := gated(t, gate, func(s powercut.Step) error {
		if s.Op == powercut.OpSyncDir && s.Name == "default/nodes" && tries < 3 {
			tries++
			return syscall.ENOSPC
		}
		return hook(s)
	})
	must(t, u.createNode("one"))
	<-written
	if tries != 3 {
		t.Errorf("%d tries", tries)
	}
}

// failingLog is a local.db that cannot be written while err is set.
type failingLog struct {
	commitLog
	err error
}

func (l *failingLog) Apply(c commitlog.Changes) error {
	if errors.Is(l.err, errPanic) {
		panic(l.err)
	}
	if l.err != nil {
		return l.err
	}
	return l.commitLog.Apply(c)
}

var errPanic = errors.New("a fault in the log")

// fail makes local.db fail; nil lets it work again.
func (u *user) fail(t *testing.T, err error) {
	t.Helper()
	sp := u.store.spaces[ns].space
	must(t, sp.onWriter(func() error {
		if l, ok := sp.local.(*failingLog); ok {
			l.err = err
		} else {
			sp.local = &failingLog{sp.local, err}
		}
		return nil
	}))
}

// A full disk fails the batch, and nothing of it is seen; when there is room again, writing goes on.
func TestALogThatIsFull(t *testing.T) {
	t.Parallel()
	u := gated(t, byHand, nil)
	must(t, errors.Join(u.createFlow("novel"), u.addNode("novel", "a")))
	u.fail(t, commitlog.ErrFull)
	var readOnly *store.ReadOnlyError
	if err := u.addNode("novel", "b"); !errors.As(err, &readOnly) || !errors.Is(err, commitlog.ErrFull) {
		t.Fatalf("error %v", err)
	}
	if _, err := u.store.Node(t.Context(), ns, idOf("b")); !errors.Is(err, store.ErrNodeNotFound) {
		t.Errorf("what failed is seen: %v", err)
	}
	must(t, u.finds(u.store))
	if err := u.flush(); !errors.As(err, &readOnly) {
		t.Errorf("a flush: %v", err)
	}
	u.fail(t, nil)
	must(t, errors.Join(u.flush(), u.addNode("novel", "b"), u.finds(u.store), u.flush(), u.finds(u.store)))
}

// A fault of ours is an error of those whom it concerns, and not the end of the process.
func TestAFaultOfOurs(t *testing.T) {
	t.Parallel()
	for name, run := range map[string]func(u *user) error{
		"in a commit":   func(u *user) error { return u.createNode("b") },
		"while writing": func(u *user) error { return u.flush() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			u := gated(t, byHand, nil)
			must(t, u.createNode("a"))
			u.fail(t, errPanic)
			var readOnly *store.ReadOnlyError
			if err := run(u); !errors.As(err, &readOnly) || !strings.Contains(err.Error(), errPanic.Error()) {
				t.Errorf("error %v", err)
			}
			u.fail(t, nil)
			if err := u.createNode("c"); !errors.As(err, &readOnly) {
				t.Errorf("a write after it: %v", err)
			}
			must(t, u.finds(u.store))
		})
	}
}

// After any other error of the log nothing is accepted any more: what is on the disk is not known.
func TestALogThatFails(t *testing.T) {
	t.Parallel()
	u := gated(t, byHand, nil)
	must(t, errors.Join(u.createFlow("novel"), u.addNode("novel", "a")))
	u.fail(t, syscall.EIO)
	var readOnly *store.ReadOnlyError
	if err := u.createNode("b"); !errors.As(err, &readOnly) || !errors.Is(err, syscall.EIO) {
		t.Errorf("a write: %v", err)
	}
	u.fail(t, nil)
	if err := u.createNode("b"); !errors.As(err, &readOnly) || !errors.Is(err, syscall.EIO) {
		t.Errorf("a write after it: %v", err)
	}
	if err := u.flush(); !errors.As(err, &readOnly) {
		t.Errorf("a flush: %v", err)
	}
	must(t, u.finds(u.store))
	if err := u.store.Close(); !errors.Is(err, syscall.EIO) {
		t.Errorf("closing says %v", err)
	}
}

func TestTheLastSlot(t *testing.T) {
	t.Parallel()
	u := gated(t, byHand, nil)
	must(t, errors.Join(u.createNode("one"), u.createFlow("novel")))
	sp := u.store.spaces[ns].space
	must(t, sp.onWriter(func() error {
		sp.mu.Lock()
		defer sp.mu.Unlock()
		sp.nodes.next, sp.flows.next = format.Slots-1, format.Slots-1
		return nil
	}))
	err := u.store.Update(t.Context(), ns, func(tx store.Tx) error {
		if err := errors.Join(tx.CreateNode(nodeOf("last", "")), tx.CreateFlow(flow.Flow{ID: idOf("last"), Name: "last", Next: 1})); err != nil {
			return err
		}
		if err := tx.CreateNode(nodeOf("too many", "")); !errors.Is(err, store.ErrFull) {
			t.Errorf("a node too many: %v", err)
		}
		if err := tx.CreateFlow(flow.Flow{ID: idOf("too many")}); !errors.Is(err, store.ErrFull) {
			t.Errorf("a flow too many: %v", err)
		}
		return nil
	})
	must(t, err)
	must(t, u.flush())
	if got := sp.nodes.heads[idOf("last")].path; got != "nodes/999/999.xml" {
		t.Errorf("the last node is in %s", got)
	}
	if err := u.createNode("afterwards"); !errors.Is(err, store.ErrFull) {
		t.Errorf("error %v", err)
	}
}

func TestCallersThatComeTogetherShareAnFsync(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		u := gated(t, byHand, nil)
		must(t, u.createNode("first"))
		before := u.store.Stats().Commits
		release := make(chan struct{})
		held := make(chan error)
		sp := u.store.spaces[ns].space
		go func() { held <- sp.onWriter(func() error { <-release; return nil }) }()
		synctest.Wait() // The writer is busy.
		const callers = maxBatch + 1
		errs := make(chan error, callers)
		for i := range callers {
			go func() {
				errs <- u.store.Update(context.Background(), ns, func(tx store.Tx) error {
					return tx.CreateNode(nodeOf(fmt.Sprint(i), "text"))
				})
			}()
		}
		synctest.Wait() // All of them stand before the writer.
		close(release)
		must(t, <-held)
		for range callers {
			must(t, <-errs)
		}
		if got := u.store.Stats().Commits - before; got != 2 {
			t.Errorf("%d commits for %d callers", got, callers)
		}
	})
}

func TestNamespacesAreBounded(t *testing.T) {
	t.Parallel()
	u := gated(t, byHand, nil)
	for i := range MaxNamespaces {
		u.store.spaces[fmt.Sprint(i)] = &opening{ready: closedChannel()}
	}
	err := u.createNode("one")
	if err == nil || !strings.Contains(err.Error(), "1000") {
		t.Errorf("error %v", err)
	}
}

func closedChannel() chan struct{} {
	ch := make(chan struct{})
	close(ch)
	return ch
}

func TestTheFlowCacheIsBounded(t *testing.T) {
	t.Parallel()
	c := newFlowCache(3000)
	for _, name := range []string{"a", "b", "c", "d", "e", "f"} {
		c.put(loadedFlow{flow: flow.Flow{ID: idOf(name), Name: name}, path: name})
		if _, ok := c.get(idOf("a")); !ok {
			t.Fatalf("the flow that is used all the time is gone after %s", name)
		}
	}
	c.put(loadedFlow{flow: flow.Flow{ID: idOf("a"), Name: "a"}, path: "again"})
	if l, _ := c.get(idOf("a")); l.path != "again" || c.order.Len() != 5 || c.bytes > 3000 {
		t.Errorf("%+v, %d flows, %d bytes", l, c.order.Len(), c.bytes)
	}
	if _, ok := c.get(idOf("b")); ok {
		t.Error("the flow that was not used stays")
	}
}

// A change that comes while the file of its flow is being replaced is not in that file, and not lost.
func TestAChangeWhileItsFlowIsWritten(t *testing.T) {
	t.Parallel()
	var u *user
	u = gated(t, byHand, func(s powercut.Step) error { return u.interrupts(s) })
	must(t, errors.Join(u.createFlow("novel"), u.addNode("novel", "a"), u.flush()))
	if u.interruptions != 1 || u.store.Stats().PendingRecords != 2 {
		t.Errorf("%d interruptions, %+v", u.interruptions, u.store.Stats())
	}
	must(t, errors.Join(u.finds(u.store), u.flush(), u.finds(u.store)))
	if u.interruptions != 2 || u.store.Stats().PendingRecords != 2 {
		t.Errorf("%d interruptions, %+v", u.interruptions, u.store.Stats())
	}
	must(t, errors.Join(u.flush(), u.finds(u.store)))
	if got := u.store.Stats(); got.PendingRecords != 0 || got.PendingBytes != 0 {
		t.Errorf("%+v", got)
	}
}

// Somebody who waits for files may leave.
func TestAFlushThatIsLeft(t *testing.T) {
	t.Parallel()
	entered, release := make(chan struct{}), make(chan struct{})
	var once sync.Once
	u := gated(t, byHand, func(s powercut.Step) error {
		if nodeFileIsRenamed(s) {
			once.Do(func() { close(entered); <-release })
		}
		return nil
	})
	must(t, u.createNode("one"))
	ctx, cancel := context.WithCancel(t.Context())
	left := make(chan error, 2)
	go func() { _, err := u.store.Flush(ctx, ns); left <- err }()
	<-entered
	go func() { _, err := u.store.Flush(ctx, ns); left <- err }()
	cancel()
	for range 2 {
		if err := <-left; !errors.Is(err, context.Canceled) {
			t.Errorf("error %v", err)
		}
	}
	close(release)
	must(t, errors.Join(u.flush(), u.finds(u.store)))
}
