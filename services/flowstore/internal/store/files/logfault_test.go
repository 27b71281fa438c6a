package files

import (
	"errors"
	"strings"
	"syscall"
	"testing"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store/files/commitlog"
)

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
