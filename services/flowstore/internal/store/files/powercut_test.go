package files

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"go.uber.org/zap"

	"github.com/tsumugi-dev/tsumugi/services/internal/filesys/powercut"
	"github.com/tsumugi-dev/tsumugi/services/internal/testkit"
)

var nopLog = zap.NewNop()

// seeds is how many outcomes of each cut are looked at.
const seeds = 4

// cut is what is left of a run whose power was cut.
type cut struct {
	step powercut.Step
	world
	acknowledged *user
}

// runUntil has a user work until the power is cut at step n, and gives what is left; ok is false where the work has fewer
// steps, and the power was cut after the last one. also may pretend that steps happen.
func runUntil(t testing.TB, n int, also powercut.Hook) (c cut, ok bool) {
	t.Helper()
	return runWork(t, n, also, byHand, (*user).work)
}

func runWork(t testing.TB, n int, also powercut.Hook, gate Gate, work func(*user, reopener) error) (c cut, ok bool) {
	t.Helper()
	var w world
	var u *user
	w = newWorld(t, func(s powercut.Step) error {
		if s.N == n {
			c, ok = w.cutAt(t, s, u), true
			return powercut.ErrCut
		}
		if err := u.interrupts(s); err != nil {
			t.Fatalf("a write while files are written: %v", err)
		}
		return also(s)
	})
	u = newUser(nil)
	open := func() (*Store, error) { return w.openWith(gate) }
	s, err := open()
	if err == nil {
		u.store = s
		err = work(u, open)
	}
	if u.store != nil {
		err = errors.Join(err, u.store.Close())
	}
	if ok == (err == nil) {
		t.Fatalf("cut at step %d: %v, the work ended with %v", n, ok, err)
	}
	if !ok {
		w.tree.Cut()
		c = w.cutAt(t, powercut.Step{N: n, Op: powercut.OpSync, Name: "none, at the end"}, u)
	}
	return c, ok
}

// cutAt is what a cut at this moment leaves.
func (w world) cutAt(t testing.TB, s powercut.Step, u *user) cut {
	t.Helper()
	return cut{s, world{w.tree, w.copyLocal(t)}, u.acknowledged()}
}

func nothing(powercut.Step) error { return nil }

// survives opens what a cut left, as each seed has it, and looks whether everything is there: at once, in the tree after a
// flush, and when it is opened once more, which finds nothing to do.
func (c cut) survives(t testing.TB) error {
	t.Helper()
	for seed := range uint64(seeds) {
		w := world{c.tree.Survivor(seed, nil), c.copyLocal(t)}
		if err := c.acknowledged.findsAgain(w); err != nil {
			return fmt.Errorf("power cut before step %d (%s %s), seed %d: %w", c.step.N, c.step.Op, c.step.Name, seed, err)
		}
	}
	return nil
}

func (u *user) findsAgain(w world) error {
	var touched []string
	for range 2 {
		touched = nil
		w.tree.SetHook(func(s powercut.Step) error {
			if s.Op.Changes() && s.Name != "." {
				touched = append(touched, string(s.Op)+" "+s.Name)
			}
			return nil
		})
		s, err := w.open()
		if err != nil {
			return err
		}
		u.store = s
		err = errors.Join(u.finds(s), u.flush(), u.finds(s), u.findsRequests(s), s.Close())
		if err != nil {
			return err
		}
		if err := u.findsInTree(w.tree); err != nil {
			return err
		}
	}
	if want := []string{"mkdir .flowstore", "mkdir default", "mkdir default/.flowstore", "syncdir default"}; !slices.Equal(touched, want) {
		return fmt.Errorf("the second time there was something to do: %q", touched)
	}
	return nil
}

func TestPowerCutAtEveryStep(t *testing.T) {
	t.Parallel()
	steps, stride := 0, strides[testkit.Race]
	for n, more := 1, true; more; n += stride {
		var c cut
		c, more = runUntil(t, n, nothing)
		if !c.step.Op.Changes() {
			continue
		}
		steps++
		if err := c.survives(t); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("the power was cut before each of %d steps that change something, with %d outcomes each", steps, seeds)
	if steps < 100/stride {
		t.Errorf("only %d steps: the work is not what it was", steps)
	}
}

// TestPowerCutDuringReplay cuts the power while what an earlier cut left is being written.
func TestPowerCutDuringReplay(t *testing.T) {
	t.Parallel()
	steps, stride := 0, strides[testkit.Race]
	for _, first := range []int{20, 60, 90, 120, 150} {
		before, ok := runUntil(t, first, nothing)
		if !ok {
			break
		}
		for n, more := 1, true; more; n += stride {
			var c cut
			c, more = before.replayUntil(t, n)
			if !c.step.Op.Changes() {
				continue
			}
			steps++
			if err := c.survives(t); err != nil {
				t.Fatalf("after a cut before step %d: %v", first, err)
			}
		}
	}
	t.Logf("the power was cut before each of %d steps of replay that change something, with %d outcomes each", steps, seeds)
	if steps < 100/stride {
		t.Errorf("only %d steps", steps)
	}
}

// replayUntil opens what a cut left and cuts the power again at step n of writing it.
func (c cut) replayUntil(t testing.TB, n int) (again cut, ok bool) {
	t.Helper()
	w := world{local: c.copyLocal(t)}
	w.tree = c.tree.Survivor(uint64(n), func(s powercut.Step) error {
		if s.N == n {
			again, ok = w.cutAt(t, s, c.acknowledged), true
			return powercut.ErrCut
		}
		return nil
	})
	s, err := w.open()
	if err == nil {
		c.acknowledged.store = s
		err = errors.Join(c.acknowledged.finds(s), c.acknowledged.flush(), s.Close())
	}
	if !ok && err != nil {
		t.Fatal(err)
	}
	if !ok {
		w.tree.Cut()
		again = w.cutAt(t, powercut.Step{N: n, Op: powercut.OpSync, Name: "none, at the end"}, c.acknowledged)
	}
	return again, ok
}

// TestPowerCutAfterAKill is a process that was killed, whose unsynced writes are still in the page cache when the next one
// starts and finds them there, and then the power goes: what was found was never durable.
func TestPowerCutAfterAKill(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(1, 2))
	for range 150 / strides[testkit.Race] {
		kill, n := 1+rng.IntN(200), 1+rng.IntN(120)
		u := newUser(nil)
		w := newWorld(t, func(s powercut.Step) error {
			if s.N >= kill {
				return powercut.ErrKilled
			}
			return u.interrupts(s)
		})
		s, err := w.open()
		if err != nil {
			continue
		}
		u.store = s
		errWork, errClose := u.work(w.open), u.store.Close()
		if errWork == nil && errClose == nil {
			t.Fatalf("killed at step %d: nobody noticed", kill)
		}
		var c cut
		at := w.tree.Steps() + n
		w.tree.SetHook(func(s powercut.Step) error {
			if s.N == at {
				c = w.cutAt(t, s, u)
				return powercut.ErrCut
			}
			return nil
		})
		if s, err := w.open(); err == nil {
			u.store = s
			_ = errors.Join(u.flush(), s.Close())
		}
		if c.tree == nil {
			w.tree.Cut()
			c = w.cutAt(t, powercut.Step{N: at}, u)
		}
		if err := c.survives(t); err != nil {
			t.Fatalf("killed at step %d: %v", kill, err)
		}
	}
}

// TestAMissingFsyncIsSeen takes out one kind of fsync at a time. If the tests above did not fail then, they would prove
// nothing.
func TestAMissingFsyncIsSeen(t *testing.T) {
	t.Parallel()
	testkit.WithoutRace(t)
	for _, c := range []struct {
		what string
		op   powercut.Op
		is   func(name string) bool
	}{
		{"a node's file", powercut.OpSync, func(name string) bool { return strings.Contains(name, "nodes/000/") }},
		{"a flow's file", powercut.OpSync, func(name string) bool { return strings.Contains(name, "flows/000/") }},
		{"the index", powercut.OpSync, func(name string) bool { return strings.Contains(name, "index.tsv") }},
		{"config.yaml", powercut.OpSync, func(name string) bool { return strings.Contains(name, "config.yaml") }},
		{"the folder of nodes", powercut.OpSyncDir, func(name string) bool { return name == "default/nodes/000" }},
		{"the folder of flows", powercut.OpSyncDir, func(name string) bool { return name == "default/flows/000" }},
		{"the folder of folders of nodes", powercut.OpSyncDir, func(name string) bool { return name == "default/nodes" }},
		{"the folder of folders of flows", powercut.OpSyncDir, func(name string) bool { return name == "default/flows" }},
		{"a node's file in the trash", powercut.OpSync, func(name string) bool { return strings.Contains(name, "trash/nodes/000/") }},
		{"the folder of nodes in the trash", powercut.OpSyncDir, func(name string) bool { return name == "default/trash/nodes/000" }},
		{"the folders of the trash", powercut.OpSyncDir, func(name string) bool { return name == "default/trash" || name == "default/trash/nodes" }},
		{"the tombstones", powercut.OpSync, func(name string) bool { return strings.Contains(name, tombstonesName) }},
		{"the namespace", powercut.OpSyncDir, func(name string) bool { return name == "default" }},
		{"the data folder", powercut.OpSyncDir, func(name string) bool { return name == "." }},
	} {
		t.Run(c.what, func(t *testing.T) {
			t.Parallel()
			seenIn(t, func(t *testing.T, n int, lied func(step int)) (left cut, ok bool) {
				return runUntil(t, n, func(s powercut.Step) error {
					if s.Op == c.op && c.is(s.Name) {
						lied(s.N)
						return powercut.ErrPretend
					}
					return nil
				})
			})
		})
	}
}

// seenIn has work, in which an fsync is taken out, cut before each of its steps until that shows. run says of each call that it takes out which step
// it is: before the first of them all is as in TestPowerCutAtEveryStep, which is not done again.
func seenIn(t *testing.T, run func(t *testing.T, n int, lied func(step int)) (left cut, ok bool)) {
	t.Helper()
	first := math.MaxInt
	run(t, math.MaxInt, func(step int) { first = min(first, step) })
	if first == math.MaxInt {
		t.Fatal("there is no such fsync")
	}
	for n := first + 1; ; n++ {
		left, ok := run(t, n, func(int) {})
		if !ok {
			t.Fatal("the fsync was taken out, and no power cut showed it")
		}
		if !left.step.Op.Changes() {
			continue
		}
		if err := left.survives(t); err != nil {
			t.Logf("seen: %v", err)
			return
		}
	}
}
