package files

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/flow"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store"
)

// What a purge takes away it looks for itself: a copy that a hand made a moment ago, what a crash left half written under any name, and
// a damaged copy of repair.
func TestAPurgeFindsWhatNobodyHasSeen(t *testing.T) {
	t.Parallel()
	for _, of := range []store.Thing{thing(store.KindNode, "one"), thing(store.KindFlow, "one")} {
		t.Run(string(of.Kind), func(t *testing.T) {
			t.Parallel()
			const secret = "the secret"
			d, name, folder := secretDesk(t, of, secret)
			file := d.read(folder + name)
			half := file[:strings.Index(file, secret)+len(secret)]
			d.put(folder+strings.Replace(name, "000.", "400.", 1), file)
			d.put("trash/"+folder+strings.Replace(name, "000.", "401.", 1), file)
			d.put(folder+strings.Replace(name, "000.", ".007.", 1)+".tmp", half)
			d.put(".flowstore/repair/20260401T000000Z/"+folder+strings.Replace(name, "000.", ".008.", 1)+".tmp", half)
			if n := len(d.holding(secret)); n < 5 {
				t.Fatalf("the text is in %d files alone: this test proves nothing", n)
			}
			d.must(errors.Join(d.move(of, true), d.purge(of)))
			d.flushed()
			if files := d.holding(secret); len(files) > 0 {
				t.Errorf("left in %q", files)
			}
			d.wantRemains(of)
			d.must(d.store.Rescan(t.Context(), ns))
			d.wantProblems()
			d.must(errors.Join(d.createNode("two"), d.createFlow("two")))
			d.flushed()
			if !d.exists(folder + strings.Replace(name, "000.", "402.", 1)) {
				t.Error("the name of a copy was given again")
			}
		})
	}
}

// secretDesk has one thing with a secret, and one other, both in files. name is that of the file in its folder.
func secretDesk(t *testing.T, of store.Thing, secret string) (d *desk, name, folder string) {
	t.Helper()
	d, name, folder = newDesk(t), "000.xml", "nodes/000/"
	if of.Kind == store.KindNode {
		d.must(errors.Join(d.createNode("one"), d.replaceNode("one", secret)))
	} else {
		name, folder = "000.yaml", "flows/000/"
		d.must(errors.Join(d.createFlow("one"), d.change("one", flow.Change{Name: &secret})))
	}
	d.must(errors.Join(d.createNode("other"), d.createFlow("other")))
	d.flushed()
	return d, name, folder
}

// wantRemains wants the answer to a purge to name these files, in this order, and no others.
func (d *desk) wantRemains(of store.Thing, files ...string) {
	d.Helper()
	told, err := d.store.Purged(context.Background(), ns, of)
	d.must(err)
	if len(told.Remains) != len(files) {
		d.Errorf("remains %q, want %q", told.Remains, files)
		return
	}
	for i, file := range files {
		if !strings.HasPrefix(told.Remains[i], file+": ") {
			d.Errorf("remains %q, want %q", told.Remains, files)
		}
	}
}

// What may be a person's stays, and the answer names it: a file that cannot be read and names the id, and one with another name than
// ours. When they are gone, asking again answers that nothing is left.
func TestAPurgeNamesWhatItLeaves(t *testing.T) {
	t.Parallel()
	for _, of := range []store.Thing{thing(store.KindNode, "one"), thing(store.KindFlow, "one")} {
		t.Run(string(of.Kind), func(t *testing.T) {
			t.Parallel()
			d, name, folder := secretDesk(t, of, "the secret")
			file := d.read(folder + name)
			left := []string{
				folder + "000 (copy)" + name[3:], folder + name + ".bak", folder + "401" + name[3:], folder + "deep/er/" + name,
				"trash/" + folder + ".notes",
			}
			for _, one := range left {
				d.put(one, file)
			}
			d.put(left[2], "<<<<<<< HEAD\n"+strings.ToUpper(file))
			d.put(folder+"402"+name[3:], "nothing of it\x00")
			d.must(errors.Join(d.move(of, true), d.purge(of)))
			d.flushed()
			d.wantRemains(of, left...)
			for _, one := range left {
				if !d.exists(one) {
					t.Errorf("%s was taken away", one)
				}
				d.must(os.Remove(d.path(one)))
			}
			d.must(d.erase(of))
			d.flushed()
			d.wantRemains(of)
		})
	}
}

// erase erases once more what was purged.
func (u *user) erase(t store.Thing) error {
	return u.store.Update(context.Background(), ns, func(tx store.Tx) error { return tx.Erase(t) })
}

// What came back behind a purge, with a checkout or from a backup, goes when it is asked for once more; the tombstone stays as it was.
func TestWhatCameBackIsErasedOnceMore(t *testing.T) {
	t.Parallel()
	for _, of := range []store.Thing{thing(store.KindNode, "one"), thing(store.KindFlow, "one")} {
		t.Run(string(of.Kind), func(t *testing.T) {
			t.Parallel()
			const secret = "the secret"
			d, name, folder := secretDesk(t, of, secret)
			file := d.read(folder + name)
			d.must(errors.Join(d.move(of, true), d.purge(of)))
			d.flushed()
			before, err := d.store.Purged(t.Context(), ns, of)
			d.must(err)
			d.put(folder+name, file)
			d.put("trash/"+folder+name, file)
			d.restart()
			d.put(folder+"222"+name[3:], file)
			d.later++
			d.must(errors.Join(d.erase(of), d.erase(of)))
			d.flushed()
			if files := d.holding(secret); len(files) > 0 {
				t.Errorf("left in %q", files)
			}
			after, err := d.store.Purged(t.Context(), ns, of)
			d.must(err)
			if diff := cmp.Diff(before, after); diff != "" {
				t.Error(diff)
			}
			d.must(d.store.Rescan(t.Context(), ns))
			d.wantProblems()
			d.restart()
			d.wantProblems()
			d.must(d.findsPurged(d.store))
		})
	}
}

// What a hand removed is purged by its id, with what local.db has of it: earlier versions, steps, and what its write-ahead log has not let
// go of. An id that nobody ever had is not.
func TestWhatNoFileHoldsIsPurgedByItsID(t *testing.T) {
	t.Parallel()
	for _, of := range []store.Thing{thing(store.KindNode, "one"), thing(store.KindFlow, "one")} {
		for name, changed := range map[string]bool{"changed": true, "as it was made": false} {
			t.Run(string(of.Kind)+" "+name, func(t *testing.T) {
				t.Parallel()
				of, secret := of, "the secret"
				d, name, folder := secretDesk(t, of, secret)
				if !changed {
					of.ID, secret, name = idOf("other"), "other", "001"+name[3:]
				} else if of.Kind == store.KindNode {
					d.must(d.replaceNode("one", "another"))
				}
				d.flushed()
				d.must(os.Remove(d.path(folder + name)))
				if err := d.purge(of); !errors.Is(err, of.Kind.NotFound()) {
					t.Errorf("before it was seen that the file is gone: %v", err)
				}
				d.must(d.store.Rescan(t.Context(), ns))
				if files := d.holding(secret); len(files) == 0 {
					t.Fatal("the text is in no file: this test proves nothing")
				}
				d.must(d.purge(of))
				d.flushed()
				for _, file := range d.holding(secret) {
					if strings.Contains(file, localFolder) {
						t.Errorf("left in %q", file)
					}
				}
				d.must(d.findsPurged(d.store))
				d.restart()
				d.must(d.findsPurged(d.store))
				unknown := store.Thing{Kind: of.Kind, ID: idOf("unknown")}
				if err := d.purge(unknown); !errors.Is(err, of.Kind.NotFound()) {
					t.Errorf("an id that nobody had: %v", err)
				}
			})
		}
	}
}
