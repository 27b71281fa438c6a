package files

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/flow"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store/format"
)

// purge takes a thing away for good.
func (u *user) purge(t store.Thing) error {
	err := u.store.Update(context.Background(), ns, func(tx store.Tx) error { return tx.Purge(t, "asked for") })
	if err != nil {
		return err
	}
	u.purged[t] = true
	delete(u.trash, t)
	if t.Kind == store.KindNode {
		delete(u.nodes, t.ID)
	} else {
		delete(u.flows, t.ID)
	}
	return nil
}

// findsPurged looks for what was purged.
func (u *user) findsPurged(s *Store) error {
	for t := range u.purged {
		_, err := s.Node(context.Background(), ns, t.ID)
		if t.Kind == store.KindFlow {
			_, err = s.Flow(context.Background(), ns, t.ID)
		}
		var purged *store.PurgedError
		if !errors.As(err, &purged) || purged.Reason != "asked for" {
			return fmt.Errorf("%s was purged, and reading it says %w", t.Kind.Name(t.ID), err)
		}
	}
	return nil
}

// findsTombstones wants a row for each thing that was purged, and no file of it.
func (u *user) findsTombstones(tree interface {
	ReadFile(name string, limit int64) ([]byte, error)
}) error {
	data, err := tree.ReadFile(ns+"/"+tombstonesName, format.MaxMetadata)
	if errors.Is(err, fs.ErrNotExist) && len(u.purged) == 0 {
		return nil
	}
	rows, problems := format.ReadTombstones(data)
	if err != nil || len(rows) != len(u.purged) || len(problems) > 0 {
		return errors.Join(fmt.Errorf("tombstones %v, %q; %d were purged", rows, problems, len(u.purged)), err)
	}
	for _, r := range rows {
		if !u.purged[tombstoneOf(r).Thing] {
			return fmt.Errorf("a tombstone of %v", r)
		}
	}
	return nil
}

// holds says which files below the data folder hold a text.
func (d *desk) holding(text string) (names []string) {
	d.Helper()
	d.must(filepath.WalkDir(d.data, func(name string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		data, err := os.ReadFile(name)
		if bytes.Contains(data, []byte(text)) {
			names = append(names, name)
		}
		return err
	}))
	return names
}

// Seen true 9: after a purge no byte of the text is found in the data folder, whatever way it went before: rewritten, dropped,
// restored, pending or written, in another file by hand, as a left-over of a crash, as a copy of repair.
func TestNoByteIsLeftOfWhatWasPurged(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	secrets := []string{"the first secret", "the second secret", "the third secret", "the fourth secret"}
	node := thing(store.KindNode, "one")
	for i := range 40 {
		d.must(d.createNode(fmt.Sprint("other ", i)))
	}
	d.must(errors.Join(d.createNode("one"), d.createFlow("novel")))
	rewrite := func(secret string) {
		d.must(d.replaceNode("one", strings.Repeat(secret+" ", 500)))
		name := secret
		d.must(d.change("novel", flow.Change{Name: &name}))
	}
	rewrite(secrets[0])
	d.flushed()
	rewrite(secrets[1])
	d.must(errors.Join(d.move(node, true), d.move(thing(store.KindFlow, "novel"), true)))
	d.flushed()
	d.must(errors.Join(d.move(node, false), d.move(thing(store.KindFlow, "novel"), false)))
	rewrite(secrets[2])
	d.flushed()
	d.must(d.store.Close())
	file := d.read("nodes/000/040.xml")
	d.put("nodes/000/077.xml", strings.ReplaceAll(file, "2026-04-01", "2025-01-01"))
	d.put("nodes/000/.040.xml.tmp", file)
	d.put("trash/nodes/000/.040.xml.tmp", file)
	d.put(".flowstore/repair/20260401T000000Z/nodes/000/040.xml", file)
	d.open()
	rewrite(secrets[3])
	if len(d.holding(secrets[3])) == 0 || len(d.holding(secrets[2])) < 6 {
		t.Fatal("the texts were in no file before the purge: this test proves nothing")
	}
	d.must(errors.Join(d.purge(node), d.purge(thing(store.KindFlow, "novel"))))
	d.flushed()
	for range 2 {
		for _, secret := range secrets {
			if files := d.holding(secret); len(files) > 0 {
				t.Errorf("%q is left in %q", secret, files)
			}
		}
		d.must(errors.Join(d.finds(d.store), d.findsPurged(d.store)))
		d.wantProblems()
		d.restart()
	}
	d.must(d.createNode("two"))
	d.flushed()
	if !d.exists("nodes/000/078.xml") {
		t.Error("a slot of what was purged was given again")
	}
}

// Without local.db the tombstones are known, and slots of what was purged stay taken.
func TestTombstonesOutliveLocalDB(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.must(errors.Join(d.createNode("one"), d.purge(thing(store.KindNode, "one"))))
	d.must(d.store.Close())
	d.must(os.RemoveAll(d.path(".flowstore")))
	d.open()
	d.must(d.findsPurged(d.store))
	d.must(d.createNode("two"))
	d.flushed()
	if d.exists("nodes/000/000.xml") || !d.exists("nodes/000/001.xml") {
		t.Error("the slot was given again")
	}
}

// A checkout brings back what was purged: it is told, and not served, also from the trash; taking its row away brings it back.
func TestWhatWasPurgedAndCameBackIsToldAndNotServed(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.must(errors.Join(d.createNode("one"), d.createNode("two")))
	d.flushed()
	one, two := d.read("nodes/000/000.xml"), d.read("nodes/000/001.xml")
	d.must(errors.Join(d.purge(thing(store.KindNode, "one")), d.purge(thing(store.KindNode, "two"))))
	d.must(d.store.Close())
	d.put("nodes/000/000.xml", one)
	d.put("trash/nodes/000/001.xml", two)
	d.open()
	d.must(d.findsPurged(d.store))
	d.wantProblems("nodes/000/000.xml", "trash/nodes/000/001.xml")
	d.must(d.store.Close())
	if d.read("nodes/000/000.xml") != one {
		t.Error("it was touched")
	}
	d.must(os.Remove(d.path(tombstonesName)))
	d.open()
	d.text("one")
}

// What stands in the place of a purged node and cannot be read may be a person's: it stays, is told, and the answer says so.
func TestAFileThatCannotBeReadIsNotErased(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.must(d.createNode("one"))
	d.flushed()
	d.must(d.purge(thing(store.KindNode, "one")))
	d.put("nodes/000/000.xml", "a hand was here")
	d.flushed()
	if d.read("nodes/000/000.xml") != "a hand was here" {
		t.Error("it was touched")
	}
	told, err := d.store.Purged(context.Background(), ns, thing(store.KindNode, "one"))
	if err != nil || len(told.Remains) != 1 || !strings.Contains(told.Remains[0], "nodes/000/000.xml") {
		t.Errorf("left %q, %v", told.Remains, err)
	}
	d.wantProblems("nodes/000/000.xml")
}

// laggingLog cannot be rewritten.
type laggingLog struct {
	commitLog
	err error
}

func (l *laggingLog) Rewrite() error { return l.err }

// A purge is not done before local.db is rewritten: flushing says so, and after a crash the next one who opens it does it.
func TestAPurgeIsDoneWhenLocalDBIsRewritten(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.must(errors.Join(d.createNode("one"), d.replaceNode("one", "the secret")))
	sp := d.store.spaces[ns].space
	refuse := errors.New("no room")
	d.must(sp.onWriter(func() error { sp.local = &laggingLog{sp.local, refuse}; return nil }))
	d.must(d.purge(thing(store.KindNode, "one")))
	if err := d.flush(); !errors.Is(err, refuse) {
		t.Errorf("flushed: %v", err)
	}
	left := copied(d, d.data)
	d.must(sp.onWriter(func() error { sp.local = sp.local.(*laggingLog).commitLog; return nil }))
	d.must(d.store.Close())
	d.data = left
	if len(d.holding("the secret")) == 0 {
		t.Fatal("nothing was left by the crash: this test proves nothing")
	}
	d.open()
	d.flushed()
	if files := d.holding("the secret"); len(files) > 0 {
		t.Errorf("left in %q", files)
	}
	d.must(d.findsPurged(d.store))
}
