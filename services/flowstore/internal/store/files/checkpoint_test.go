package files

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"
)

// countingLog counts checkpoints, and has always grown.
type countingLog struct {
	commitLog
	mu         sync.Mutex
	busy, idle int
	// done is closed by the first checkpoint while nobody writes.
	done chan struct{}
}

func (l *countingLog) Grown() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.idle == 0
}

func (l *countingLog) Checkpoint(busy bool) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if busy {
		l.busy++
		return nil
	}
	if l.idle++; l.idle == 1 {
		close(l.done)
	}
	return nil
}

func counted(t *testing.T, gate Gate) (*user, *countingLog) {
	t.Helper()
	u := gated(t, gate, nil)
	must(t, u.createNode("first"))
	sp := u.store.spaces[ns].space
	l := &countingLog{done: make(chan struct{})}
	must(t, sp.onWriter(func() error { l.commitLog, sp.local = sp.local, l; return nil }))
	return u, l
}

// While callers write, no checkpoint is made on the writer, however often files are written.
func TestNoCheckpointWhileCallersWrite(t *testing.T) {
	t.Parallel()
	u, l := counted(t, byHand)
	for i := range 20 {
		must(t, errors.Join(u.createNode(fmt.Sprint(i)), u.flush()))
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.idle > 0 || l.busy < 20 {
		t.Errorf("%d checkpoints, and %d that were left", l.idle, l.busy)
	}
}

// When nobody has written for a moment the checkpoint is made, also where nothing is left to write.
func TestACheckpointWhenNobodyWrites(t *testing.T) {
	t.Parallel()
	gate := byHand
	gate.Idle = 300 * time.Millisecond
	u, l := counted(t, gate)
	must(t, errors.Join(u.createNode(strings.Repeat("x", 10)), u.flush()))
	<-l.done
}
