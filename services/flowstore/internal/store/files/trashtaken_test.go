package files

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/flow"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store"
	"github.com/tsumugi-dev/tsumugi/services/internal/filesys"
	"github.com/tsumugi-dev/tsumugi/services/internal/filesys/powercut"
)

// A hand copied another thing, or wrote notes, to where something in the trash stood: both are read, and what comes back goes beside it.
func TestAnotherThingStandsWhereOneInTheTrashStood(t *testing.T) {
	t.Parallel()
	for name, seen := range map[string]bool{"seen before it comes back": true, "not seen": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newDesk(t)
			words := "of ours"
			node, novel := thing(store.KindNode, "one"), thing(store.KindFlow, "novel")
			d.must(errors.Join(d.createNode("one"), d.createNode("two"), d.createFlow("novel"), d.move(node, true), d.move(novel, true)))
			d.flushed()
			d.put("nodes/000/000.xml", strings.ReplaceAll(d.read("nodes/000/001.xml"), idOf("two").String(), idOf("theirs").String()))
			d.put("flows/000/000.yaml", "notes: [of mine")
			if seen {
				d.handsDo()
			}
			d.must(d.readsDropped())
			d.must(d.store.Update(context.Background(), ns, func(tx store.Tx) error {
				if err := errors.Join(tx.Restore(node), tx.Restore(novel)); err != nil {
					return err
				}
				return errors.Join(node.Read(tx), novel.Read(tx), tx.ChangeFlow(novel.ID, flow.Change{At: tx.Now(), Description: &words}))
			}))
			d.text("one")
			d.flushed()
			for range 2 {
				d.handsDo()
				d.text("one")
				d.text("two")
				d.text("theirs")
				if d.flowOf("novel").Description != words {
					t.Error("a change of what came back is gone")
				}
				if d.read("flows/000/000.yaml") != "notes: [of mine" {
					t.Error("what the hand wrote is gone")
				}
				d.restart()
			}
			if d.exists("trash/nodes/000/000.xml") || d.exists("trash/flows/000/000.yaml") {
				t.Error("a copy is left in the trash")
			}
		})
	}
}

// readsDropped reads what lies in the trash.
func (d *desk) readsDropped() error {
	_, _, noNode := d.store.DroppedNode(context.Background(), ns, idOf("one"))
	_, _, noFlow := d.store.DroppedFlow(context.Background(), ns, idOf("novel"))
	return errors.Join(noNode, noFlow)
}

// watched is a tree of which something is read before and after each step.
type watched struct {
	filesys.FS
	look func(step string)
}

func (w *watched) step(name string, do func() error) error {
	w.look("before " + name)
	defer w.look("after " + name)
	return do()
}

func (w *watched) Rename(from, to string) error {
	return w.step("renaming "+from, func() error { return w.FS.Rename(from, to) })
}

func (w *watched) Remove(name string) error {
	return w.step("removing "+name, func() error { return w.FS.Remove(name) })
}

// It can be read at each step on its way to another place, in either direction.
func TestWhatGivesWayIsReadAllTheTime(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	tree := &watched{FS: w.tree, look: func(string) {}}
	s, err := open(Options{Data: w.local, Gate: byHand, Clock: func() time.Time { return time.Date(2026, 4, 1, 9, 30, 0, 0, time.UTC) }}, tree)
	must(t, err)
	t.Cleanup(func() { _ = s.Close() })
	u, one := newUser(s), thing(store.KindNode, "one")
	must(t, errors.Join(u.createNode("one"), u.createNode("two"), u.flush()))
	for _, way := range []struct {
		drop  bool
		taken string
	}{{true, "default/trash/nodes/000/000.xml"}, {false, "default/nodes/000/002.xml"}} {
		theirs, err := w.tree.ReadFile("default/nodes/000/001.xml", 1<<20)
		must(t, err)
		for _, dir := range []string{"default/trash", "default/trash/nodes", "default/trash/nodes/000"} {
			must(t, filesys.EnsureDir(w.tree, dir))
		}
		must(t, errors.Join(filesys.Replace(w.tree, way.taken, theirs), u.move(one, way.drop)))
		steps := 0
		tree.look = func(step string) {
			steps++
			_, err := s.Node(context.Background(), ns, one.ID)
			if way.drop {
				_, _, err = s.DroppedNode(context.Background(), ns, one.ID)
			}
			if err != nil {
				t.Errorf("%s: %v", step, err)
			}
		}
		must(t, u.flush())
		tree.look("at the end")
		tree.look = func(string) {}
		if still, err := w.tree.ReadFile(way.taken, 1<<20); err != nil || !bytes.Equal(still, theirs) || steps < 4 {
			t.Errorf("what stood at %s is gone, or nothing moved (%d): %v", way.taken, steps, err)
		}
	}
}

// Something is taken back, or purged, before and after each change of a file while it goes to the trash, where its place is taken: it stands in one file then,
// where it is read, or in none.
func TestWhatGivesWayIsCalledOffOnItsWay(t *testing.T) {
	t.Parallel()
	for name, how := range map[string]struct{ purge, fails bool }{
		"taken back": {}, "purged": {purge: true}, "purged, and the disk fails": {purge: true, fails: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n := 1
			for calledOff(t, how.purge, how.fails, n) {
				n++
			}
			if n < 4 {
				t.Errorf("only %d looks", n)
			}
		})
	}
}

// calledOff calls a move off at the n-th look at the tree in a flush, and says whether there was one. The disk may fail behind that,
// once.
func calledOff(t *testing.T, purge, fails bool, n int) (there bool) {
	t.Helper()
	tree := &watched{look: func(string) {}}
	w, u, taken := onItsWay(t, true, func(w world) (*Store, error) {
		tree.FS = w.tree
		return open(Options{Data: w.local, Gate: byHand, Clock: func() time.Time { return time.Date(2026, 4, 1, 9, 30, 0, 0, time.UTC) }}, tree)
	})
	defer func() { must(t, u.store.Close()) }()
	one, looks := thing(store.KindNode, "one"), 0
	node := u.nodes[one.ID]
	tree.look = func(step string) {
		if !strings.Contains(step, "nodes/000/0") && !strings.Contains(step, "nodes/000/.0") {
			return
		}
		if looks++; looks != n {
			return
		}
		there = true
		if purge {
			must(t, u.purge(one))
		} else {
			must(t, u.move(one, false))
		}
		first := w.tree.Steps()
		w.tree.SetHook(func(step powercut.Step) error {
			if fails && step.N == first+2 {
				return syscall.EIO
			}
			return nil
		})
	}
	if err := u.flush(); err != nil && !fails {
		t.Fatal(err)
	}
	tree.look = func(string) {}
	if !there {
		return false
	}
	must(t, u.flush())
	files := holdingOne(t, w, node)
	if purge && len(files) > 0 || !purge && (len(files) != 1 || !strings.HasPrefix(files[0], "default/nodes/") || files[0] == taken) {
		t.Errorf("look %d: it is in %q", n, files)
	}
	if _, err := u.store.Node(context.Background(), ns, one.ID); !purge {
		must(t, err)
	}
	return true
}

// A hand takes away one of two files that go to the trash before it could move: a scan knows no more of it than a start does.
func TestOneOfTwoFilesIsGoneBeforeItMoves(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.must(errors.Join(d.createNode("one"), d.createNode("two")))
	d.flushed()
	d.handsDo(func() { d.copy("nodes/000/001.xml", "nodes/000/005.xml") })
	d.must(d.move(thing(store.KindNode, "two"), true))
	d.remove("nodes/000/005.xml")
	d.flushed()
	d.handsDo()
	before := d.known()
	if strings.Contains(before, "005.xml") {
		t.Errorf("a file that is gone is known:\n%s", before)
	}
	d.must(d.store.Close())
	d.remove(".flowstore")
	d.open()
	if after := d.known(); before != after {
		t.Errorf("a scan knows\n%s\na start finds\n%s", before, after)
	}
}
