package files

import (
	"context"
	"errors"
	"fmt"
	"syscall"
	"testing"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store"
	"github.com/tsumugi-dev/tsumugi/services/internal/filesys/powercut"
	"github.com/tsumugi-dev/tsumugi/services/internal/testkit"
)

// strides is how many steps the tests that go through all of them take at once: with the race detector each takes ten times
// as long, and sees nothing in the later ones that it did not see in the first.
var strides = map[bool]int{false: 1, true: 35}

// TestDiskFaultsAtEveryStep has the disk fail at each step, for once and for good: what is acknowledged stays, writes say
// that they cannot be made, reads go on, and when the disk works again so does the store.
func TestDiskFaultsAtEveryStep(t *testing.T) {
	t.Parallel()
	stride := strides[testkit.Race]
	for _, fault := range []error{syscall.ENOSPC, syscall.EIO, syscall.EROFS} {
		for _, forGood := range []bool{false, true} {
			t.Run(fmt.Sprintf("%v, for good: %v", fault, forGood), func(t *testing.T) {
				t.Parallel()
				steps := 0
				for n := 1; faultAt(t, n, fault, forGood); n += stride {
					steps++
				}
				if steps < 100/stride {
					t.Errorf("only %d steps", steps)
				}
			})
		}
	}
}

// faultAt lets a user work while the disk fails at step n, and looks what became of it. ok is false where the work has
// fewer steps.
func faultAt(t *testing.T, n int, fault error, forGood bool) (ok bool) {
	t.Helper()
	w := newWorld(t, func(s powercut.Step) error {
		if s.N == n || forGood && s.N > n && s.Op.Changes() {
			ok = true
			return fault
		}
		return nil
	})
	u := newUser(nil)
	s, err := w.open()
	if err != nil {
		if !errors.Is(err, fault) {
			t.Fatalf("step %d: %v", n, err)
		}
		return ok
	}
	u.store = s
	err = u.work(w.open)
	if err != nil && !errors.Is(err, fault) {
		t.Fatalf("step %d: the work ended with %v", n, err)
	}
	if !ok {
		w.tree.SetHook(nil)
	}
	if err := u.refusedOrMade(fault); err != nil {
		t.Fatalf("step %d: %v", n, err)
	}
	w.tree.SetHook(nil)
	if err := u.recovers(w); err != nil {
		t.Fatalf("step %d: %v", n, err)
	}
	return ok
}

// refusedOrMade tries to write while the disk may be failing. A closed store is one that could not be opened again.
func (u *user) refusedOrMade(fault error) error {
	err := u.createNode("under a fault")
	if errors.Is(err, store.ErrClosed) {
		return nil
	}
	var readOnly *store.ReadOnlyError
	if err != nil && !errors.Is(err, fault) {
		return fmt.Errorf("the write was refused with %w", err)
	}
	if err != nil && len(u.nodes) > 0 && !errors.As(err, &readOnly) {
		return fmt.Errorf("a store that was open says %w", err)
	}
	if u.store.spaces[ns] == nil {
		return nil // It could not be opened again, and said so.
	}
	return u.finds(u.store)
}

// recovers expects that with a disk that works everything is as if nothing had been.
func (u *user) recovers(w world) error {
	_, err := u.store.Flush(context.Background(), ns)
	if errors.Is(err, store.ErrClosed) {
		return u.findsAgain(w)
	}
	if o := u.store.spaces[ns]; o != nil && o.space.copied { // It was opened while the disk could not be written, and never writes.
		return errors.Join(u.refused(), u.finds(u.store), u.store.Close(), u.findsAgain(w))
	}
	if err != nil {
		return err
	}
	if err := u.createNode("afterwards"); err != nil {
		return err
	}
	return errors.Join(u.finds(u.store), u.flush(), u.findsInTree(w.tree), u.store.Close(), u.findsAgain(w))
}

// refused expects that a write is refused.
func (u *user) refused() error {
	err := u.createNode("refused")
	if readOnly := (*store.ReadOnlyError)(nil); !errors.As(err, &readOnly) {
		return fmt.Errorf("a write to a copy is answered with %w", err)
	}
	return nil
}
