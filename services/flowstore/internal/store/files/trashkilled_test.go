package files

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/node"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store/format"
	"github.com/tsumugi-dev/tsumugi/services/internal/filesys"
	"github.com/tsumugi-dev/tsumugi/services/internal/filesys/powercut"
	"github.com/tsumugi-dev/tsumugi/services/internal/testkit"
)

// fewStrides is what strides is, where there are only some dozens of steps.
var fewStrides = map[bool]int{false: 1, true: 7}

// The process is killed at each step while something goes to another slot, since its own one was taken: it is in one file then, and
// nobody is told that it is gone.
func TestWhatGivesWayIsKilledOnItsWay(t *testing.T) {
	t.Parallel()
	stride := fewStrides[testkit.Race]
	for _, drop := range []bool{true, false} {
		t.Run(fmt.Sprintf("drop %v", drop), func(t *testing.T) {
			t.Parallel()
			n := 1
			for killedOnItsWay(t, drop, n) {
				n += stride
			}
			if n < 10 {
				t.Errorf("only %d steps", n)
			}
		})
	}
}

// The disk fails once at each of these steps, and the store tries again.
func TestTheDiskFailsWhileSomethingGivesWay(t *testing.T) {
	t.Parallel()
	stride := fewStrides[testkit.Race]
	for _, drop := range []bool{true, false} {
		t.Run(fmt.Sprintf("drop %v", drop), func(t *testing.T) {
			t.Parallel()
			n := 1
			for failsOnItsWay(t, drop, n) {
				n += stride
			}
			if n < 10 {
				t.Errorf("only %d steps", n)
			}
		})
	}
}

// failsOnItsWay has the disk fail at the n-th step of a flush, and says whether there was one. At some steps nobody needs to know.
func failsOnItsWay(t *testing.T, drop bool, n int) (failed bool) {
	t.Helper()
	w, u, taken := onItsWay(t, drop, world.open)
	defer func() { must(t, u.store.Close()) }()
	first := w.tree.Steps()
	w.tree.SetHook(func(step powercut.Step) error {
		if step.N == first+n {
			failed = true
			return syscall.EIO
		}
		return nil
	})
	if err := u.flush(); err != nil && !failed {
		t.Fatalf("step %d: %v", n, err)
	}
	w.tree.SetHook(nil)
	wantOnce(t, w, u, taken, n)
	return failed
}

// killedOnItsWay kills the process before the n-th step of a flush, and says whether there was one.
func killedOnItsWay(t *testing.T, drop bool, n int) (killed bool) {
	t.Helper()
	w, u, taken := onItsWay(t, drop, world.open)
	first := w.tree.Steps()
	w.tree.SetHook(func(step powercut.Step) error {
		if killed = killed || step.N == first+n; killed {
			return powercut.ErrKilled
		}
		return nil
	})
	if err := u.flush(); err != nil && !killed { // Where only a node could not be read for what is derived, it has done its work.
		t.Fatalf("step %d: %v", n, err)
	}
	if err := u.store.Close(); (err != nil) != killed {
		t.Fatalf("step %d: %v", n, err)
	}
	w.tree.SetHook(nil)
	s, err := w.open()
	must(t, err)
	defer func() { must(t, s.Close()) }()
	u.store = s
	wantOnce(t, w, u, taken, n)
	return killed
}

// onItsWay is a node that is to go to the trash, or to come from there, where another file has taken its place.
func onItsWay(t *testing.T, drop bool, open func(world) (*Store, error)) (w world, u *user, taken string) {
	t.Helper()
	w = newWorld(t, nil)
	s, err := open(w)
	must(t, err)
	u, one := newUser(s), thing(store.KindNode, "one")
	must(t, errors.Join(u.createNode("one"), u.createNode("two"), u.flush()))
	taken = "default/trash/nodes/000/000.xml"
	if !drop {
		must(t, errors.Join(u.move(one, true), u.flush()))
		taken = "default/nodes/000/000.xml"
	}
	for _, dir := range []string{"default/trash", "default/trash/nodes", "default/trash/nodes/000"} {
		must(t, filesys.EnsureDir(w.tree, dir))
	}
	theirs := u.nodes[idOf("two")]
	theirs.ID = idOf("theirs")
	must(t, errors.Join(filesys.Replace(w.tree, taken, format.EncodeNode(theirs)), u.move(one, drop)))
	return w, u, taken
}

// wantOnce wants the node in one file beside the one that took its place, and nobody told anything but that.
func wantOnce(t *testing.T, w world, u *user, taken string, n int) {
	t.Helper()
	must(t, errors.Join(u.flush(), u.flush()))
	if files := holdingOne(t, w, u.nodes[idOf("one")]); len(files) != 1 || slices.Contains(files, taken) {
		t.Errorf("step %d: it is in %q", n, files)
	}
	problems, err := u.store.Problems(context.Background(), ns)
	must(t, err)
	for _, p := range problems {
		if !strings.Contains(p.Reason, "another file came to stand here") {
			t.Errorf("step %d: %+v", n, p)
		}
	}
}

// holdingOne lists the files that hold a node.
func holdingOne(t *testing.T, w world, n node.Node) (files []string) {
	t.Helper()
	for _, dir := range []string{"default/nodes/000", "default/trash/nodes/000"} {
		entries, err := w.tree.List(dir)
		must(t, err)
		for _, e := range entries {
			data, err := w.tree.ReadFile(dir+"/"+e.Name, 1<<20)
			must(t, err)
			if bytes.Contains(data, []byte(n.ID.String())) && e.Name != "index.tsv" {
				files = append(files, dir+"/"+e.Name)
			}
		}
	}
	return files
}
