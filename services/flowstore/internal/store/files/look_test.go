package files

import (
	"context"
	"errors"
	"syscall"
	"testing"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store"
	"github.com/tsumugi-dev/tsumugi/services/internal/filesys/powercut"
)

// TestLookAtADiskThatCannotBeWritten: what is in the files is looked at all the same.
func TestLookAtADiskThatCannotBeWritten(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	s, err := w.open()
	if err != nil {
		t.Fatal(err)
	}
	u := newUser(s)
	if err := errors.Join(u.createNode("a"), u.flush(), u.createNode("b")); err != nil {
		t.Fatal(err)
	}
	w.tree.SetHook(func(s powercut.Step) error {
		if s.Op.Changes() {
			return syscall.EROFS
		}
		return nil
	})
	look, err := s.Look(context.Background(), ns, func(int, int) {})
	if err != nil || look.Nodes != 1 || !look.Clean() {
		t.Errorf("%+v, %v", look, err)
	}
	w.tree.SetHook(nil)
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

// TestOneLookAtATime: another one waits, and stops waiting when its caller does.
func TestOneLookAtATime(t *testing.T) {
	t.Parallel()
	s, err := newWorld(t, nil).open()
	if err != nil {
		t.Fatal(err)
	}
	u := newUser(s)
	if err := errors.Join(u.createNode("a"), u.flush()); err != nil {
		t.Fatal(err)
	}
	var second error
	if _, err := s.Look(context.Background(), ns, func(int, int) {
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		_, second = s.Look(ctx, ns, func(int, int) {})
	}); err != nil {
		t.Fatal(err)
	}
	if !errors.Is(second, context.Canceled) {
		t.Errorf("the second look: %v", second)
	}
	if look, err := s.Look(context.Background(), ns, func(int, int) {}); err != nil || look.Nodes != 1 {
		t.Errorf("a look behind it: %+v, %v", look, err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if _, err := s.Look(context.Background(), ns, func(int, int) {}); !errors.Is(err, store.ErrClosed) {
		t.Errorf("a look at a closed store: %v", err)
	}
}
