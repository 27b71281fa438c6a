package files

import (
	"context"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/flow"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/node"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store"
)

const ofOurs = "of ours"

// comesBackAndChanges takes a flow, and a node, out of the trash, and changes them.
func (d *desk) comesBackAndChanges() {
	d.Helper()
	words := ofOurs
	node, novel := thing(store.KindNode, "one"), thing(store.KindFlow, "novel")
	d.must(errors.Join(d.move(node, false), d.move(novel, false), d.replaceNode("one", ofOurs)))
	d.must(d.store.Update(context.Background(), ns, func(tx store.Tx) error {
		return tx.ChangeFlow(novel.ID, flow.Change{At: tx.Now(), Description: &words})
	}))
}

// inTrash is a desk with a flow and a node in the trash, beside others in the tree.
func inTrash(t *testing.T) *desk {
	t.Helper()
	d := newDesk(t)
	d.must(errors.Join(d.createNode("one"), d.createNode("two"), d.createFlow("novel"), d.createFlow("other"),
		d.move(thing(store.KindNode, "one"), true), d.move(thing(store.KindFlow, "novel"), true)))
	d.flushed()
	return d
}

// theirs are files of somebody else for the places where what is in the trash stood.
func (d *desk) theirs() map[string]string {
	d.Helper()
	return map[string]string{
		"nodes/000/000.xml":  strings.ReplaceAll(d.read("nodes/000/001.xml"), idOf("two").String(), idOf("theirs").String()),
		"flows/000/000.yaml": strings.ReplaceAll(d.read("flows/000/001.yaml"), idOf("other").String(), idOf("their flow").String()),
	}
}

// filesOf lists the files of a folder and of its trash that hold one of things.
func (d *desk) filesOf(folder string, of store.Thing) (files []string) {
	d.Helper()
	tree := filesysOf(d)
	for _, dir := range []string{folder, trashPath(folder)} {
		entries, err := tree.List(ns + "/" + dir)
		d.must(err)
		for _, e := range entries {
			if file := dir + "/" + e.Name; e.Name != "index.tsv" && strings.Contains(d.read(file), of.ID.String()) {
				files = append(files, file)
			}
		}
	}
	return files
}

// wantInOneFile wants what came back as it was changed, each in one file.
func (d *desk) wantInOneFile() {
	d.Helper()
	if n := d.modelOf("one"); n != ofOurs || d.flowOf("novel").Description != ofOurs {
		d.Errorf("what was acknowledged is gone: %q, %q", n, d.flowOf("novel").Description)
	}
	if files := d.filesOf("nodes/000", thing(store.KindNode, "one")); len(files) != 1 {
		d.Errorf("the node is in %q", files)
	}
	if files := d.filesOf("flows/000", thing(store.KindFlow, "novel")); len(files) != 1 {
		d.Errorf("the flow is in %q", files)
	}
}

func (d *desk) modelOf(name string) string {
	d.Helper()
	var n node.Node
	n, err := d.store.Node(context.Background(), ns, idOf(name))
	d.must(err)
	return n.Model
}

// What comes out of the trash, changes and finds its place taken has one file, also where the process is killed before anything is
// written, while somebody takes the place.
func TestWhatGivesWayAndChangesHasOneFile(t *testing.T) {
	t.Parallel()
	for name, how := range map[string]struct{ notes, crash, late bool }{
		"another thing":                   {},
		"notes":                           {notes: true},
		"another thing, killed":           {crash: true},
		"notes, killed":                   {notes: true, crash: true},
		"notes, killed, put there then":   {notes: true, crash: true, late: true},
		"another, killed, put there then": {crash: true, late: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := inTrash(t)
			theirs := d.theirs()
			if how.notes {
				theirs["flows/000/000.yaml"] = "notes: [of mine"
			}
			takes := func() {
				for file, text := range theirs {
					d.put(file, text)
				}
			}
			if !how.late {
				takes()
			}
			d.comesBackAndChanges()
			if how.crash {
				d.crash(takes)
			}
			d.flushed()
			d.handsDo()
			for range 2 {
				d.wantInOneFile()
				d.text("theirs")
				for file, text := range theirs {
					if d.read(file) != text {
						t.Errorf("%s of somebody else is gone", file)
					}
				}
				d.restart()
			}
		})
	}
}

// The process is killed when the file moved to another slot, and before it was written as it changed.
func TestWhatGaveWayIsFoundThere(t *testing.T) {
	t.Parallel()
	d := inTrash(t)
	for file, text := range d.theirs() {
		d.put(file, text)
	}
	d.comesBackAndChanges()
	sp := d.store.spaces[ns].space
	d.must(sp.onGate(context.Background(), func() error {
		_, _, err := sp.writeChunk(sp.lastSeq())
		return err
	}))
	if d.exists("trash/nodes/000/000.xml") || d.exists("trash/flows/000/000.yaml") || !d.exists("nodes/000/002.xml") || !d.exists("flows/000/002.yaml") {
		t.Fatal("they did not move first")
	}
	d.crash(func() {})
	d.flushed()
	d.wantInOneFile()
}

// A person edits the copy in the trash while the process is down: theirs comes to where it stood, ours beside it, and both go to the
// trash where it went there again.
func TestAFlowIsEditedInTheTrashOnItsWayBack(t *testing.T) {
	t.Parallel()
	for _, how := range []struct {
		taken, again bool
		want         []string
	}{
		{false, false, []string{"flows/000/000.yaml", "flows/000/002.yaml"}},
		{true, false, []string{"flows/000/002.yaml", "flows/000/003.yaml"}},
		{false, true, []string{"trash/flows/000/000.yaml", "trash/flows/000/002.yaml"}},
	} {
		d := inTrash(t)
		d.comesBackAndChanges()
		if how.again {
			d.must(d.move(thing(store.KindFlow, "novel"), true))
		}
		d.crash(func() {
			d.edit("trash/flows/000/000.yaml", "name: ", "# a comment of mine\nname: ")
			if how.taken {
				d.put("flows/000/000.yaml", "notes: [of mine")
			}
		})
		d.flushed()
		for range 2 {
			files := d.filesOf("flows/000", thing(store.KindFlow, "novel"))
			if !slices.Equal(files, how.want) {
				t.Fatalf("%+v: the flow is in %q", how, files)
			}
			commented := slices.DeleteFunc(files, func(file string) bool { return !strings.Contains(d.read(file), "# a comment of mine") })
			if len(commented) != 1 {
				t.Errorf("%+v: the comment is in %q", how, commented)
			}
			if how.again {
				_, _, err := d.store.DroppedFlow(context.Background(), ns, idOf("novel"))
				d.must(err)
			} else if d.flowOf("novel").Description != ofOurs {
				t.Errorf("%+v: what was acknowledged does not count", how)
			}
			d.restart()
		}
	}
}

// The copy in the trash cannot be read any more: the namespace opens, the change waits for the file.
func TestAFlowIsBrokenInTheTrashOnItsWayBack(t *testing.T) {
	t.Parallel()
	d := inTrash(t)
	before := d.read("trash/flows/000/000.yaml")
	d.comesBackAndChanges()
	d.crash(func() {
		d.put("trash/flows/000/000.yaml", "notes: [of mine")
		d.put("flows/000/000.yaml", "notes: [of mine, too")
	})
	d.text("two")
	if !slices.Contains(d.problemPaths(), "flows/000/000.yaml") {
		t.Errorf("nobody is told: %q", d.problemPaths())
	}
	d.crash(func() { d.put("trash/flows/000/000.yaml", before) })
	if d.flowOf("novel").Description != ofOurs {
		t.Error("what was acknowledged is gone")
	}
}

// A hand throws a flow away, and edits it, while changes of it wait and the process is down: what was acknowledged counts.
func TestAFlowIsThrownAwayAndEditedWhileChangesWait(t *testing.T) {
	t.Parallel()
	d := inTrash(t)
	words := ofOurs
	d.must(d.store.Update(context.Background(), ns, func(tx store.Tx) error {
		return tx.ChangeFlow(idOf("other"), flow.Change{At: tx.Now(), Description: &words})
	}))
	d.crash(func() {
		d.put("trash/flows/000/001.yaml", strings.Replace(d.read("flows/000/001.yaml"), "name: ", "# a comment of mine\nname: ", 1))
		d.must(os.Remove(d.path("flows/000/001.yaml")))
	})
	for range 2 {
		d.flushed()
		if d.flowOf("other").Description != ofOurs || !strings.Contains(d.read("trash/flows/000/001.yaml"), "# a comment of mine") {
			t.Error("one of the versions is gone")
		}
		d.restart()
	}
}
