package files

import (
	"context"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store"
)

// model gives what replaceNode changed.
func (d *desk) model(name string) string {
	d.Helper()
	n, err := d.store.Node(context.Background(), ns, idOf(name))
	d.must(err)
	return n.Model
}

// A node's file is replaced, and its row and place stay.
func TestANodeIsReplacedInItsPlace(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.must(errors.Join(d.createNode("one"), d.createNode("two")))
	d.flushed()
	d.must(d.replaceNode("one", "二"))
	d.flushed()
	d.must(d.replaceNode("one", "三"))
	d.crash(func() {})
	d.flushed()
	if file := d.read("nodes/000/000.xml"); !strings.Contains(file, "三") {
		t.Errorf("its file is\n%s", file)
	}
	d.restart()
	d.must(errors.Join(d.finds(d.store), d.findsInTree(filesysOf(d))))
}

// Both the hand's and the client's version stay where a hand edits the file of a node while a client's change is on its way.
func TestANodeThatAHandChangedWhileAChangeWasPending(t *testing.T) {
	t.Parallel()
	for name, running := range map[string]bool{"while the store runs": true, "after a crash": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newDesk(t)
			d.must(d.createNode("one"))
			d.flushed()
			d.must(d.replaceNode("one", "二"))
			var theirs string
			edit := func() { theirs = d.edit("nodes/000/000.xml", "春の夜", "秋の夜") }
			if running {
				edit()
			} else {
				d.crash(edit)
			}
			d.flushed()
			if d.read("nodes/000/000.xml") != theirs || !strings.Contains(d.read("nodes/000/001.xml"), "春の夜") {
				t.Error("theirs was changed, or ours is not beside it")
			}
			for range 2 {
				if got := d.model("one"); got != "二" {
					t.Errorf("the model is %q", got)
				}
				revisions, err := d.store.Revisions(context.Background(), ns, idOf("one"))
				d.must(err)
				if len(revisions) != 2 || revisions[0].Path != "nodes/000/000.xml" {
					t.Errorf("revisions %+v", revisions)
				}
				n, err := d.store.Revision(context.Background(), ns, idOf("one"), revisions[0])
				d.must(err)
				if !strings.Contains(n.Texts[0].Content, "秋の夜") {
					t.Errorf("their version is %+v", n)
				}
				d.restart()
			}
		})
	}
}

// The file of a node is taken away while a change is on its way: what was acknowledged is written all the same.
func TestANodeWhoseFileWentAwayWhileAChangeWasPending(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.must(d.createNode("one"))
	d.flushed()
	d.must(d.replaceNode("one", "二"))
	d.must(os.Remove(d.path("nodes/000/000.xml")))
	d.flushed()
	d.restart()
	d.must(errors.Join(d.finds(d.store), d.findsInTree(filesysOf(d))))
}

// cases/flowstore.md 17: three files have one id. The newest counts, the others are listed, nothing is rewritten or moved, and
// a change goes to the file that counts.
func TestFlowstore17SameUUID(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.must(d.createNode("one"))
	d.flushed()
	d.must(d.store.Close())
	first := d.read("nodes/000/000.xml")
	d.put("nodes/000/007.xml", strings.ReplaceAll(first, "春の夜", "夏の夜"))
	d.put("nodes/000/003.xml", strings.ReplaceAll(strings.ReplaceAll(first, "2026-04-01", "2026-05-01"), "春の夜", "秋の夜"))
	d.open()
	for range 2 {
		if got := d.text("one"); !strings.Contains(got, "秋の夜") {
			t.Errorf("the node is %q", got)
		}
		revisions, err := d.store.Revisions(context.Background(), ns, idOf("one"))
		d.must(err)
		var paths []string
		for _, r := range revisions {
			paths = append(paths, r.Path)
		}
		if want := []string{"nodes/000/007.xml", "nodes/000/000.xml"}; !slices.Equal(paths, want) {
			t.Errorf("others %q, want %q", paths, want)
		}
		d.wantProblems("nodes/000/000.xml", "nodes/000/007.xml")
		d.restart()
	}
	d.must(d.replaceNode("one", "二"))
	d.flushed()
	if d.read("nodes/000/000.xml") != first || !strings.Contains(d.read("nodes/000/003.xml"), "二") {
		t.Error("a change went elsewhere than to the file that counts")
	}
}

// What is dropped takes all files of its id along, so that none of them counts in its place, and brings them back.
func TestDroppingTakesEveryFileOfAnID(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.must(d.createNode("one"))
	d.flushed()
	d.must(d.store.Close())
	d.put("nodes/000/007.xml", strings.ReplaceAll(d.read("nodes/000/000.xml"), "春の夜", "夏の夜"))
	d.open()
	d.must(d.move(thing(store.KindNode, "one"), true))
	d.flushed()
	for range 2 {
		if d.exists("nodes/000/000.xml") || d.exists("nodes/000/007.xml") || !d.exists("trash/nodes/000/007.xml") {
			t.Error("the files did not move")
		}
		d.wantProblems()
		d.restart()
	}
	d.must(d.createNode("two"))
	d.must(d.move(thing(store.KindNode, "one"), false))
	d.flushed()
	if !strings.Contains(d.text("one"), "夏の夜") || !d.exists("nodes/000/008.xml") {
		t.Error("the head is another, or a slot of the trash was given again")
	}
	d.wantProblems("nodes/000/000.xml")
}

// A hand put another file where one was to be taken away: that one stays.
func TestWhatAHandPutThereDoesNotGoToTheTrash(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.must(errors.Join(d.createNode("one"), d.createNode("two")))
	d.flushed()
	d.must(d.move(thing(store.KindNode, "one"), true))
	other := strings.ReplaceAll(d.read("nodes/000/001.xml"), idOf("two").String(), idOf("three").String())
	d.put("nodes/000/000.xml", other)
	d.flushed()
	if d.read("nodes/000/000.xml") != other || d.exists("trash/nodes/000/000.xml") {
		t.Error("a file of somebody else was taken away")
	}
	d.wantProblems("nodes/000/000.xml")
}

// A checkout brought back what was dropped: it is there again, and the copy in the trash is told.
func TestWhatIsInTheTreeAndTheTrashIsThere(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.must(errors.Join(d.createNode("one"), d.createFlow("novel")))
	d.flushed()
	file := d.read("nodes/000/000.xml")
	d.must(errors.Join(d.move(thing(store.KindNode, "one"), true), d.move(thing(store.KindFlow, "novel"), true)))
	d.flushed()
	d.must(d.store.Close())
	d.put("nodes/000/000.xml", file)
	d.open()
	d.text("one")
	d.wantProblems("trash/nodes/000/000.xml")
	dropped, err := d.store.Dropped(context.Background(), ns, store.KindFlow, store.Entry{}, 10)
	if err != nil || len(dropped) != 1 || dropped[0].ID != idOf("novel") {
		t.Errorf("the trash has %v, %v", dropped, err)
	}
}

// Without local.db the trash is still the trash.
func TestTheTrashOutlivesLocalDB(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.must(errors.Join(d.createNode("one"), d.createFlow("novel"), d.addNode("novel", "two")))
	d.must(d.move(thing(store.KindNode, "one"), true))
	d.must(d.store.Close())
	d.must(os.RemoveAll(d.path(".flowstore")))
	d.open()
	d.must(d.finds(d.store))
	d.must(d.move(thing(store.KindNode, "one"), false))
	d.must(d.finds(d.store))
	d.must(d.store.Update(context.Background(), ns, func(tx store.Tx) error {
		flows, err := tx.FlowsOf(idOf("two"))
		if len(flows) != 1 {
			t.Errorf("flows of the node: %v", flows)
		}
		return err
	}))
}

// A new node changes while its file is being written, and the log is not told of the file: no hand was there.
func TestANodeThatChangedWhileItsFirstFileWasWritten(t *testing.T) {
	t.Parallel()
	for name, running := range map[string]bool{"while the store runs": true, "after a crash": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for written := range 2 {
				d := newDesk(t)
				d.must(d.createNode("one"))
				bodies := []string{string(d.store.spaces[ns].space.pending.nodes[idOf("one")].body)}
				for _, model := range []string{"二", "三"} {
					d.must(d.replaceNode("one", model))
					bodies = append(bodies, string(d.store.spaces[ns].space.pending.nodes[idOf("one")].body))
				}
				write := func() { d.put("nodes/000/000.xml", bodies[written]) }
				if running {
					write()
				} else {
					d.crash(write)
				}
				d.flushed()
				if file := d.read("nodes/000/000.xml"); file != bodies[2] {
					t.Errorf("its file is\n%s", file)
				}
				if d.exists("nodes/000/001.xml") {
					t.Error("it is in two files")
				}
				d.wantProblems()
			}
		})
	}
}
