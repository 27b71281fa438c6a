package files

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/node"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store"
	"github.com/tsumugi-dev/tsumugi/services/internal/filesys"
	"github.com/tsumugi-dev/tsumugi/services/internal/filesys/powercut"
)

// What was purged is in no snapshot of the search index and in no metadata file, also where these are not written any more.
func TestNothingDerivedIsLeftOfWhatWasPurged(t *testing.T) {
	t.Parallel()
	for name, metadata := range map[string]bool{"written": true, "switched off": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newDesk(t)
			d.must(d.createNode("other"))
			n := node.Node{
				ID: idOf("one"), Tags: []string{"zettelsecret"}, Summary: node.Summary{Text: "zettelsecret"}, Texts: []node.Text{{Role: "user", Content: "zettelsecret"}},
			}
			d.must(d.store.Update(t.Context(), ns, func(tx store.Tx) error {
				n.Created = tx.Now()
				return tx.CreateNode(n)
			}))
			d.restart()
			if files := d.holding("zettelsecret"); len(files) < 4 { // the node, the snapshot, and two of metadata
				t.Fatalf("the word is in %q alone: this test proves nothing", files)
			}
			if !metadata {
				d.must(d.store.Close())
				d.put(configName, d.read(configName)+"settings:\n  metadata: false\n")
				d.open()
			}
			d.must(d.store.Update(t.Context(), ns, func(tx store.Tx) error { return tx.Drop(thing(store.KindNode, "one")) }))
			d.must(d.store.Update(t.Context(), ns, func(tx store.Tx) error { return tx.Purge(thing(store.KindNode, "one"), "asked for") }))
			d.flushed()
			if files := d.holding("zettelsecret"); len(files) > 0 {
				t.Errorf("the word is left in %q", files)
			}
			if r := look(t, d.store, "zettelsecret"); r.Total != 0 {
				t.Errorf("%+v", r)
			}
		})
	}
}

// What keeps the metadata files from being made keeps nobody from writing, and no purge from its end: it takes away what would name what
// was purged. They are made when they can be again.
func TestAPurgeWhereMetadataCannotBeMade(t *testing.T) {
	t.Parallel()
	unreadable := func(s powercut.Step) bool {
		return s.Op == powercut.OpRead && strings.HasSuffix(s.Name, "/nodes/000/000.xml")
	}
	for name, c := range map[string]struct {
		before  func(w world) error
		refused func(s powercut.Step) bool
		// toldBy is what tells: a problem of the node, or Flush, which cannot write what it is to write.
		toldBy string
	}{
		"a node that the index lacks": {
			func(w world) error { return os.Remove(filepath.Join(w.local, ns, localFolder, snapshotName)) }, unreadable, "nodes/000/000.xml",
		},
		"a node that index.yaml lacks": {
			func(w world) error { return w.tree.Remove(ns + "/" + nodeIndexPath) }, unreadable, "nodes/000/000.xml",
		},
		"a disk that is full": {
			func(world) error { return nil },
			func(s powercut.Step) bool {
				return s.Op == powercut.OpWrite && strings.Contains(s.Name, metadataFolder)
			}, "",
		},
		"a fault behind the writing": {
			func(world) error { return nil },
			func(s powercut.Step) bool {
				return s.Op == powercut.OpRename && strings.HasSuffix(s.Name, "."+filepath.Base(tagsPath)+".tmp")
			}, "",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, nil)
			s, err := w.open()
			must(t, err)
			u, two := newUser(s), thing(store.KindNode, "two")
			must(t, errors.Join(u.createNode("one"), u.createNode("two"), u.flush(), u.move(two, true), s.Close(), c.before(w)))
			// A hand brings back what names it.
			must(t, filesys.AppendSynced(w.tree, ns+"/"+tagsPath, []byte("# "+two.ID.String()+"\n")))
			w.tree.SetHook(func(s powercut.Step) error {
				if c.refused(s) {
					return syscall.EIO
				}
				return nil
			})
			u.store, err = w.open()
			must(t, err)
			must(t, u.purge(two))
			for range 2 {
				if err := u.flush(); (err != nil) != (c.toldBy == "") || errors.As(err, new(*store.ReadOnlyError)) {
					t.Errorf("Flush says %v", err)
				}
			}
			for _, file := range []string{tagsPath, nodeIndexPath} {
				if bytes.Contains(w.file(t, file), []byte(two.ID.String())) {
					t.Errorf("%s names what was purged", file)
				}
			}
			problems, err := u.store.Problems(t.Context(), ns)
			if must(t, err); c.toldBy != "" && (len(problems) != 1 || problems[0].Path != c.toldBy) {
				t.Errorf("problems: %v", problems)
			}
			must(t, u.createNode("three"))
			w.tree.SetHook(nil)
			must(t, errors.Join(u.flush(), u.finds(u.store)))
			for _, name := range []string{"one", "three"} {
				if _, ok := w.indexed(t, name); !ok {
					t.Errorf("index.yaml lacks %s", name)
				}
			}
			must(t, u.store.Close())
		})
	}
}
