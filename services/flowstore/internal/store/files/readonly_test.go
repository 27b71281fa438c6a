package files

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store"
	"github.com/tsumugi-dev/tsumugi/services/internal/testkit"
)

// Where nothing can be written the store is read, with what a killed process had acknowledged and not put into the tree; each write is
// told why not, nothing is changed, and where it can write again the next one goes on.
func TestAVolumeThatIsReadOnlyAtStart(t *testing.T) {
	t.Parallel()
	for name, leave := range map[string]func(d *desk){
		"killed": func(d *desk) {
			d.must(errors.Join(d.createNode("theirs"), d.replaceNode("one", "二"), d.addNode("novel", "essay"), d.move(thing(store.KindNode, "theirs"), true)))
			left := copied(d, d.data)
			d.must(d.store.Close())
			d.data = left
		},
		"stopped": func(d *desk) { d.must(d.store.Close()) },
		"a clone": func(d *desk) { d.must(errors.Join(d.store.Close(), os.RemoveAll(d.path(localFolder)))) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newDesk(t)
			d.must(errors.Join(d.createNode("one"), d.createFlow("novel"), d.addNode("novel", "two")))
			d.flushed()
			leave(d)
			before := d.everyFile()
			release := testkit.ReadOnly(t, d.data)
			d.open()
			d.must(d.finds(d.store))
			d.must(d.refused())
			if _, err := d.store.Flush(context.Background(), ns); !errors.As(err, new(*store.ReadOnlyError)) {
				t.Errorf("Flush says %v", err)
			}
			if told := d.handsDo(); len(told) > 0 {
				t.Errorf("told %q", told)
			}
			if n := d.store.Stats().ReadOnly; n != 1 {
				t.Errorf("%d namespaces say that they cannot write", n)
			}
			d.must(d.store.Close())
			if diff := cmp.Diff(before, d.everyFile()); diff != "" {
				t.Errorf("files changed:\n%s", diff)
			}
			release()
			d.open()
			d.must(errors.Join(d.createNode("afterwards"), d.finds(d.store), d.flush()))
		})
	}
}

// everyFile gives the contents of all files, those of the store's own too.
func (d *desk) everyFile() map[string]string {
	d.Helper()
	all := map[string]string{}
	d.must(filepath.WalkDir(d.data, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		all[path] = string(data)
		return err
	}))
	return all
}

// A folder without a namespace serves nothing, and says why nothing can be made there.
func TestAnEmptyVolumeThatIsReadOnlyAtStart(t *testing.T) {
	t.Parallel()
	d := &desk{TB: t, user: newUser(nil), data: t.TempDir()}
	testkit.ReadOnly(t, d.data)
	d.open()
	defer func() { d.must(d.store.Close()) }()
	if list, err := d.store.Nodes(context.Background(), ns, store.NewestFirst, store.Entry{}, 10); err != nil || len(list) > 0 {
		t.Errorf("%v %v", list, err)
	}
	d.must(d.refused())
}

// A disk that is full at start is read, also where it has no room to remember what hands changed meanwhile.
func TestADiskThatIsFullAtStart(t *testing.T) {
	t.Parallel()
	for name, edit := range map[string]bool{"as it was left": false, "changed by a hand": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for room := range 24 { // pages: with fewer local.db cannot be opened, with more it cannot take in the change
				d := &desk{TB: t, user: newUser(nil), data: t.TempDir()}
				testkit.SmallDisk(t, d.data, 3<<20)
				d.open()
				d.must(errors.Join(d.createNode("one"), d.createNode("two"), d.flush(), d.store.Close()))
				if edit {
					d.edit("nodes/000/000.xml", "one", "ONE")
				}
				fillDisk(d, filepath.Join(d.data, "fill"), int64(room)*4096)
				d.open()
				d.text("two")
				if one := d.text("one"); edit != strings.HasPrefix(one, "ONE") {
					t.Errorf("what the hand changed is %q", one)
				}
				if err := d.store.Close(); err != nil && !errors.As(err, new(*store.ReadOnlyError)) {
					t.Errorf("room for %d pages: %v", room, err)
				}
			}
		})
	}
}

// fillDisk makes a file that leaves a disk so many bytes.
func fillDisk(d *desk, name string, room int64) {
	d.Helper()
	f, err := os.Create(name)
	d.must(err)
	for err == nil {
		_, err = f.Write(make([]byte, 4096))
	}
	info, err := f.Stat()
	d.must(err)
	d.must(errors.Join(f.Truncate(info.Size()-room), f.Close()))
}
