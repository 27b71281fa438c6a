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

	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store"
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
