package files

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store"
	"github.com/tsumugi-dev/tsumugi/services/internal/filesys"
	"github.com/tsumugi-dev/tsumugi/services/internal/filesys/powercut"
)

// stepping is a tree in which somebody does something before a step in a folder that is held.
type stepping struct {
	filesys.FS
	enter func(step, name string)
}

func (m stepping) Folder(name string) (filesys.Folder, error) {
	f, err := m.FS.Folder(name)
	return steppingFolder{f, name, m.enter}, err
}

type steppingFolder struct {
	heldOpen
	name  string
	enter func(step, name string)
}

func (f steppingFolder) Folder(name string) (filesys.Folder, error) {
	f.enter("hold", path.Join(f.name, name))
	return stepping{f.heldOpen, f.enter}.Folder(name)
}

func (f steppingFolder) Create(name string) (filesys.File, error) {
	f.enter("create", path.Join(f.name, name))
	return f.heldOpen.Create(name)
}

func (f steppingFolder) Rename(from, to string) error {
	f.enter("rename", path.Join(f.name, to))
	return f.heldOpen.Rename(from, to)
}

func (f steppingFolder) RenameNew(from, to string) error {
	f.enter("rename", path.Join(f.name, to))
	return f.heldOpen.RenameNew(from, to)
}

func (f steppingFolder) SyncDir(name string) error {
	f.enter("sync", path.Join(f.name, name))
	return f.heldOpen.SyncDir(name)
}

// A file that comes to stand in a place at the last moment, behind every look, stays, whether files are synced together or each by
// itself.
func TestAHandIsFasterThanARename(t *testing.T) {
	t.Parallel()
	const text = "<note>手で置いたもの</note>\n"
	for name, gate := range map[string]Gate{"together": together(), "each": byHand} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, nil)
			var once sync.Once
			tree := stepping{w.tree, func(step, name string) {
				if step == "rename" && strings.HasSuffix(name, "nodes/000/001.xml") {
					once.Do(func() { must(t, filesys.AppendSynced(w.tree, "default/nodes/000/001.xml", []byte(text))) })
				}
			}}
			s, err := open(Options{Data: w.local, Gate: gate}, tree)
			must(t, err)
			u := newUser(s)
			must(t, errors.Join(u.createNode("one"), u.createNode("two"), u.createNode("three"), u.flush()))
			if got, err := w.tree.ReadFile("default/nodes/000/001.xml", 100); err != nil || string(got) != text {
				t.Errorf("the hand's file is %q: %v", got, err)
			}
			if _, err := w.tree.Stat("default/nodes/000/003.xml"); err != nil {
				t.Errorf("the node has no other place: %v", err)
			}
			if n, err := s.Node(t.Context(), ns, idOf("two")); err != nil || n.ID != idOf("two") {
				t.Errorf("two: %v", err)
			}
			must(t, s.Close())
		})
	}
}

// A folder that a hand moves away while files are written into it does not take what was acknowledged with it, and keeps nobody from
// writing: be it held, since several files go there, or not.
func TestAHandMovesAFolderWhileItIsWritten(t *testing.T) {
	t.Parallel()
	for _, names := range [][]string{{"one", "two"}, {"one"}} {
		for _, kind := range []string{"nodes", "flows"} {
			for _, step := range []string{"hold", "create", "rename", "sync"} {
				if step == "hold" && len(names) == 1 {
					continue
				}
				t.Run(fmt.Sprintf("%s of %d %s", step, len(names), kind), func(t *testing.T) {
					t.Parallel()
					movesAFolder(t, names, kind, step)
				})
			}
		}
	}
}

func movesAFolder(t *testing.T, names []string, kind, when string) {
	data, away := t.TempDir(), filepath.Join(t.TempDir(), "away")
	dir, err := filesys.Open(data)
	must(t, err)
	t.Cleanup(func() { must(t, dir.Close()) })
	var once sync.Once
	tree := stepping{dir, func(step, name string) {
		if step == when && strings.Contains(name, kind+"/000") {
			once.Do(func() { must(t, os.Rename(filepath.Join(data, ns, kind, "000"), away)) })
		}
	}}
	for run := range 2 {
		s, err := open(Options{Data: data, Gate: byHand}, tree)
		must(t, err)
		u := newUser(s)
		for _, name := range names {
			if run == 0 {
				must(t, errors.Join(u.createNode(name), u.createFlow(name)))
			}
		}
		must(t, u.flush())
		if left, err := os.ReadDir(filepath.Join(data, ns, kind, "000")); err != nil || len(left) != len(names) {
			t.Errorf("in place stand %v: %v", left, err)
		}
		for _, name := range names {
			_, errNode := s.Node(t.Context(), ns, idOf(name))
			_, errFlow := s.Flow(t.Context(), ns, idOf(name))
			must(t, errors.Join(errNode, errFlow))
		}
		must(t, s.Close())
	}
	if _, err := os.Stat(away); err != nil {
		t.Errorf("nothing was moved: %v", err)
	}
}

// One that goes again each time ends in an error, not in trying for ever.
func TestAFolderThatNeverStays(t *testing.T) {
	t.Parallel()
	gone := true
	u := gated(t, byHand, func(s powercut.Step) error {
		if gone && s.Op == powercut.OpCreate && strings.Contains(s.Name, "nodes/000") {
			return fs.ErrNotExist
		}
		return nil
	})
	must(t, u.createNode("one"))
	if err := u.flush(); !errors.As(err, new(*store.ReadOnlyError)) {
		t.Errorf("the flush ended with %v", err)
	}
	gone = false
	must(t, errors.Join(u.flush(), u.finds(u.store)))
}
