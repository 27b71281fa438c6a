package files

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store"
	"github.com/tsumugi-dev/tsumugi/services/internal/filesys/powercut"
)

// A file that somebody removed is a node that is not there (field/flowstore.md row 15).
func TestAFileThatWentAwayIsNotThere(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.must(errors.Join(d.createNode("one"), d.createNode("two"), d.createFlow("novel")))
	d.flushed()
	d.must(os.Remove(d.path("nodes/000/001.xml")))
	d.must(os.Remove(d.path("flows/000/000.yaml")))
	gone := func(when string) {
		_, errNode := d.store.Node(t.Context(), ns, idOf("two"))
		_, errFlow := d.store.Flow(t.Context(), ns, idOf("novel"))
		if !errors.Is(errNode, store.ErrNodeNotFound) || !errors.Is(errFlow, store.ErrFlowNotFound) {
			t.Errorf("%s: %v, %v", when, errNode, errFlow)
		}
	}
	gone("at once")
	d.restart()
	gone("after a restart")
	d.must(d.createNode("three"))
	d.flushed()
	if d.exists("nodes/000/001.xml") || !d.exists("nodes/000/002.xml") {
		t.Error("the slot was given to another node")
	}
	if got := d.read("nodes/index.tsv"); strings.Contains(got, "001.xml") || !strings.Contains(got, "002.xml") {
		t.Errorf("the index is\n%s", got)
	}
}

// Half a file is told and not touched (cases/flowstore.md 14 and 31; field/flowstore.md row 14).
func TestAnUnreadableFileIsToldAndLeftAlone(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.must(errors.Join(d.createNode("one"), d.createNode("two"), d.createNode("three"), d.createFlow("novel")))
	d.flushed()
	whole := d.read("nodes/000/001.xml")
	d.put("nodes/000/000.xml", "\ufeff"+d.read("nodes/000/000.xml"))
	d.put("nodes/000/001.xml", whole[:100])
	d.put("nodes/000/002.xml", strings.Repeat("\x00", 2000))
	d.put("flows/000/000.yaml", "<<<<<<< ours\nid: 1\n")
	for range 2 {
		d.restart()
		d.wantProblems("flows/000/000.yaml", "nodes/000/001.xml", "nodes/000/002.xml")
		d.text("one")
		d.wantUnreadable("nodes/000/001.xml", func() error { _, err := d.store.Node(t.Context(), ns, idOf("two")); return err })
		d.wantUnreadable("nodes/000/002.xml", func() error { _, err := d.store.Node(t.Context(), ns, idOf("three")); return err })
		d.wantUnreadable("flows/000/000.yaml", func() error { return d.addNode("novel", "a") })
		if err := d.createNode("two"); !errors.Is(err, store.ErrTaken) {
			t.Errorf("the id of the torn node was given away: %v", err)
		}
	}
	d.must(errors.Join(d.createNode("four"), d.createFlow("other")))
	d.flushed()
	if !d.exists("nodes/000/003.xml") || !d.exists("flows/000/001.yaml") || d.read("nodes/000/001.xml") != whole[:100] {
		t.Error("a slot was given away, or a file changed")
	}
	d.put("nodes/000/001.xml", whole)
	d.restart()
	d.text("two")
	d.wantProblems("flows/000/000.yaml", "nodes/000/002.xml")
}

// The slot of a file that nobody can read is not given to something new, also where the files are all that is known: in a fresh clone.
func TestFlowstore14TheSlotOfAnUnreadableFileIsKept(t *testing.T) {
	t.Parallel()
	for name, rest := range map[string]string{"half": "", "NULs": strings.Repeat("\x00", 2000)} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newDesk(t)
			d.must(errors.Join(d.createNode("one"), d.createNode("two"), d.createFlow("novel")))
			d.flushed()
			broken := map[string]string{"nodes/000/001.xml": rest, "flows/000/000.yaml": rest}
			for file, text := range broken {
				if text == "" {
					broken[file] = d.read(file)[:40]
				}
			}
			d.must(d.store.Close())
			d.must(os.RemoveAll(filepath.Join(d.data, ns, localFolder)))
			d.must(errors.Join(os.Remove(d.path("nodes/index.tsv")), os.Remove(d.path("flows/index.tsv"))))
			for file, text := range broken {
				d.put(file, text)
			}
			d.open()
			d.must(errors.Join(d.createNode("three"), d.createFlow("other")))
			d.flushed()
			for file, text := range broken {
				if d.read(file) != text {
					t.Errorf("%s was written over", file)
				}
			}
			if !d.exists("nodes/000/002.xml") || !d.exists("flows/000/001.yaml") {
				t.Error("what is new has no file of its own")
			}
		})
	}
}

// While the store runs, a file that became unreadable is an error that names it.
func TestAFileThatBecameUnreadable(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.must(errors.Join(d.createNode("one"), d.createFlow("novel"), d.createNode("two")))
	d.flushed()
	d.put("nodes/000/000.xml", d.read("nodes/000/001.xml"))
	d.put("flows/000/000.yaml", ":")
	// A file that holds another node, one that is no flow, and a change of it.
	d.wantUnreadable("nodes/000/000.xml", func() error { _, err := d.store.Node(t.Context(), ns, idOf("one")); return err })
	d.wantUnreadable("flows/000/000.yaml", func() error { _, err := d.store.Flow(t.Context(), ns, idOf("novel")); return err })
	d.wantUnreadable("flows/000/000.yaml", func() error { return d.addNode("novel", "a") })
}

// A file that may not be read is told; when it may be, it is there, though neither its size nor its time changed.
func TestAFileThatMayNotBeRead(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	s, err := w.open()
	must(t, err)
	u := newUser(s)
	must(t, errors.Join(u.createNode("one"), u.createNode("two"), s.Close()))
	must(t, os.RemoveAll(filepath.Join(w.local, ns))) // So that files are read.
	w.tree.SetHook(func(s powercut.Step) error {
		if s.Op == powercut.OpRead && strings.HasSuffix(s.Name, "nodes/000/001.xml") {
			return fs.ErrPermission
		}
		return nil
	})
	s, err = w.open()
	must(t, err)
	problems, err := s.Problems(t.Context(), ns)
	if err != nil || len(problems) != 1 || problems[0].Path != "nodes/000/001.xml" {
		t.Errorf("problems %v: %v", problems, err)
	}
	must(t, s.Close())
	w.tree.SetHook(nil)
	s, err = w.open()
	must(t, err)
	must(t, errors.Join(u.finds(s), s.Close()))
}

// A file that goes away while the tree is looked through is not there.
func TestAFileThatGoesAwayWhileItIsListed(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	s, err := w.open()
	must(t, err)
	u := newUser(s)
	must(t, errors.Join(u.createNode("one"), u.createNode("two"), s.Close()))
	must(t, os.RemoveAll(filepath.Join(w.local, ns)))
	w.tree.SetHook(func(s powercut.Step) error {
		if s.Op == powercut.OpRead && strings.HasSuffix(s.Name, "nodes/000/001.xml") {
			return fs.ErrNotExist
		}
		return nil
	})
	s, err = w.open()
	must(t, err)
	if _, err := s.Node(t.Context(), ns, idOf("two")); !errors.Is(err, store.ErrNodeNotFound) {
		t.Errorf("error %v", err)
	}
	problems, err := s.Problems(t.Context(), ns)
	if err != nil || len(problems) != 0 {
		t.Errorf("problems %v: %v", problems, err)
	}
	must(t, s.Close())
}

// A folder that a hand took away is made again.
func TestAFolderThatWentAway(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.must(errors.Join(d.createNode("one"), d.createFlow("novel"), d.addNode("novel", "a")))
	d.flushed()
	d.must(errors.Join(d.addNode("novel", "b"), os.RemoveAll(d.path("nodes")), os.RemoveAll(d.path("flows"))))
	d.flushed()
	d.text("b")
	if f := d.flowOf("novel"); len(f.Members) != 2 {
		t.Errorf("the flow is %+v", f)
	}
	d.must(d.addNode("novel", "c"))
	d.flushed()
}
