package files

import (
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/flow"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store"
)

// pulled gives a desk that has what another clone purges, with all that a machine keeps: earlier versions and steps, the search index, a
// copy of repair, and a version that is in no file yet. Its tree is then as git makes it from the other clone's commit.
func pulled(t *testing.T, secret string, meanwhile func(d *desk)) *desk {
	t.Helper()
	d := newDesk(t)
	name := secret
	d.must(errors.Join(d.createNode("other"), d.createNode("one"), d.createNode("gone"), d.createFlow("novel")))
	d.must(errors.Join(d.replaceNode("one", secret), d.replaceNode("gone", secret), d.change("novel", flow.Change{Name: &name})))
	d.flushed()
	name = "another name"
	d.must(errors.Join(d.replaceNode("one", "another"), d.replaceNode("gone", "another"), d.change("novel", flow.Change{Name: &name})))
	d.must(d.move(thing(store.KindNode, "gone"), true))
	d.flushed()
	d.put(".flowstore/repair/20260401T000000Z/nodes/000/001.xml", strings.ReplaceAll(d.read("nodes/000/001.xml"), "another", secret))
	d.must(d.replaceNode("one", secret))
	theirs := &desk{TB: t, data: copied(t, d.data), user: newUser(nil)}
	theirs.open()
	all := []store.Thing{thing(store.KindNode, "one"), thing(store.KindNode, "gone"), thing(store.KindFlow, "novel")}
	for _, of := range all {
		theirs.must(theirs.purge(of))
	}
	theirs.must(errors.Join(theirs.flush(), theirs.store.Close()))
	if len(d.holding(secret)) < 2 {
		t.Fatalf("the text is in %q alone: this test proves nothing", d.holding(secret))
	}
	meanwhile(d)
	for _, file := range []string{"nodes/000/001.xml", "flows/000/000.yaml"} {
		d.must(os.Remove(d.path(file)))
	}
	d.put(tombstonesName, theirs.read(tombstonesName))
	for _, of := range all {
		d.purged[of] = true
		delete(d.nodes, of.ID)
		delete(d.flows, of.ID)
	}
	return d
}

// A purge that comes by git is carried out on this machine, too, at the start and while the store runs: no byte of the text is left in
// .flowstore or the trash, nothing is served, and readers are told once.
func TestAPurgeThatComesByGitIsCarriedOut(t *testing.T) {
	t.Parallel()
	const secret = "the secret"
	for name, running := range map[string]bool{"at the start": false, "while it runs": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := pulled(t, secret, func(d *desk) {
				if !running {
					d.must(d.store.Close())
				}
			})
			if !running {
				d.open()
			} else {
				last, err := d.store.LastEvent(t.Context(), ns)
				d.must(err)
				d.must(d.store.Rescan(t.Context(), ns))
				events, err := d.store.Events(t.Context(), ns, last, 100)
				d.must(err)
				told := map[store.Thing]int{}
				for _, e := range events {
					if e.Kind == store.NodeDeleted || e.Kind == store.FlowDeleted {
						told[e.Of]++
					}
				}
				if len(told) != 2 || told[thing(store.KindNode, "one")] != 1 || told[thing(store.KindFlow, "novel")] != 1 {
					t.Errorf("told %v", events)
				}
			}
			for range 2 {
				d.flushed()
				if files := d.holding(secret); len(files) > 0 {
					t.Errorf("left in %q", files)
				}
				d.must(errors.Join(d.store.Rescan(t.Context(), ns), d.findsPurged(d.store), d.finds(d.store)))
				d.wantProblems()
				d.restart()
			}
		})
	}
}

// What was purged elsewhere and is in the tree all the same stays there and is told: it goes when the purge is asked for here.
func TestAPurgeThatComesByGitLeavesTheTree(t *testing.T) {
	t.Parallel()
	const secret = "the secret"
	for name, running := range map[string]bool{"at the start": false, "while it runs": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := pulled(t, secret, func(d *desk) {
				d.flushed()
				d.put("nodes/000/077.xml", d.read("nodes/000/001.xml"))
				d.must(d.store.Rescan(t.Context(), ns))
				if !running {
					d.must(d.store.Close())
				}
			})
			if !running {
				d.open()
			}
			d.must(d.store.Rescan(t.Context(), ns))
			d.flushed()
			d.must(d.findsPurged(d.store))
			d.wantProblems("nodes/000/077.xml")
			if files := d.holding(secret); len(files) != 1 || !strings.HasSuffix(files[0], "077.xml") {
				t.Errorf("it is in %q", files)
			}
			d.must(d.erase(thing(store.KindNode, "one")))
			d.flushed()
			d.wantProblems()
			if files := d.holding(secret); len(files) > 0 {
				t.Errorf("left in %q", files)
			}
		})
	}
}

// While it runs, a tombstones.tsv that a merge has torn or that cannot be read is told once, and keeps nobody from seeing what hands do; its
// whole rows count.
func TestATombstonesFileThatIsTornWhileItRuns(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.must(errors.Join(d.createNode("one"), d.createNode("two"), d.flush()))
	theirs := &desk{TB: t, data: copied(t, d.data), user: newUser(nil)}
	theirs.open()
	theirs.must(errors.Join(theirs.purge(thing(store.KindNode, "one")), theirs.flush(), theirs.store.Close()))
	d.put(tombstonesName, theirs.read(tombstonesName)+"<<<<<<< HEAD\n")
	d.edit("nodes/000/001.xml", "two", "of mine")
	for range 2 {
		d.must(d.store.Rescan(t.Context(), ns))
		d.wantProblems("nodes/000/000.xml", tombstonesName)
	}
	d.must(errors.Join(os.Remove(d.path(tombstonesName)), os.Mkdir(d.path(tombstonesName), 0o700)))
	d.edit("nodes/000/001.xml", "of mine", "of mine again")
	for range 2 {
		d.must(d.store.Rescan(t.Context(), ns))
		d.wantProblems("nodes/000/000.xml", tombstonesName, tombstonesName)
	}
	if got := d.text("two"); !strings.Contains(got, "of mine again") {
		t.Errorf("what a hand wrote is not read: %s", got)
	}
	d.must(os.Remove(d.path(tombstonesName)))
	d.put(tombstonesName, theirs.read(tombstonesName))
	d.purged[thing(store.KindNode, "one")] = true
	d.must(d.findsPurged(d.store))
}
