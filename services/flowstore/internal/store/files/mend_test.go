package files

import (
	"context"
	"errors"
	"path"
	"strings"
	"testing"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/flow"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store"
)

func (d *desk) mend(o store.MendOptions) store.Mended {
	d.Helper()
	m, err := d.store.Mend(context.Background(), ns, o, func(int, int) {})
	d.must(err)
	return m
}

// A store that is open mends what hands did to it, keeps what was there, and goes on.
func TestMendingAnOpenStore(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.must(errors.Join(d.createNode("one"), d.createFlow("novel"), d.addNode("novel", "a"), d.addNode("novel", "b")))
	d.flushed()
	d.put("nodes/index.tsv", "000/007.xml\tnobody\n")
	d.put("nodes/000/.009.xml.tmp", "half")
	d.put("flows/000/000.yaml", strings.ReplaceAll(d.read("flows/000/000.yaml"), "\n", "\r\n"))
	would := d.mend(store.MendOptions{})
	if len(would.Steps) != 3 || would.Folder != "" || !d.exists("nodes/000/.009.xml.tmp") {
		t.Errorf("it would do %+v", would)
	}
	did := d.mend(store.MendOptions{Apply: true})
	for _, s := range did.Steps {
		if s.Left != "" || !d.exists(path.Join(did.Folder, s.Path)) {
			t.Errorf("%+v was left, or not kept", s)
		}
	}
	if d.exists("nodes/000/.009.xml.tmp") || strings.Contains(d.read("flows/000/000.yaml"), "\r") {
		t.Error("something was not mended")
	}
	d.must(d.change("novel", flow.Change{Disconnect: []flow.Edge{{From: 1, To: 2}}}))
	d.flushed()
	d.must(errors.Join(d.finds(d.store), d.findsInTree(filesysOf(d))))
	d.restart()
	d.must(errors.Join(d.finds(d.store), d.findsInTree(filesysOf(d))))
	if again := d.mend(store.MendOptions{Apply: true}); len(again.Steps) != 0 {
		t.Errorf("the second time it does %+v", again)
	}
}

// A file for which a change is on its way is left: rewritten, it would be taken for a hand's.
func TestMendingLeavesWhatIsOnItsWay(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.must(errors.Join(d.createFlow("novel"), d.addNode("novel", "a"), d.addNode("novel", "b")))
	d.flushed()
	d.put("flows/000/000.yaml", strings.ReplaceAll(d.read("flows/000/000.yaml"), "\n", "\r\n"))
	changed := false
	m, err := d.store.Mend(context.Background(), ns, store.MendOptions{Apply: true}, func(int, int) {
		if !changed {
			changed = true
			d.must(d.change("novel", flow.Change{Disconnect: []flow.Edge{{From: 1, To: 2}}}))
		}
	})
	d.must(err)
	if len(m.Steps) != 1 || m.Steps[0].Left == "" {
		t.Errorf("it did %+v", m.Steps)
	}
	d.flushed()
	d.must(d.finds(d.store))
}

// Two branches gave one name to a node in the tree and to one in the trash: the latter gets another one, is there, and comes back.
func TestMendingTheNameOfATrashedFile(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.must(errors.Join(d.createNode("one"), d.createNode("two"), d.createNode("three")))
	d.must(d.move(thing(store.KindNode, "two"), true))
	d.flushed()
	d.crash(func() { d.rename("trash/nodes/000/001.xml", "trash/nodes/000/000.xml") })
	looks := 0
	m, err := d.store.Mend(context.Background(), ns, store.MendOptions{Apply: true}, func(read, files int) {
		if read == files {
			looks++
		}
		if looks == 2 { // It takes the name that the plan is about to give.
			looks++
			d.must(d.createNode("four"))
		}
	})
	d.must(err)
	if len(m.Steps) != 1 || m.Steps[0].Path != "trash/nodes/000/000.xml" || m.Steps[0].Text != "moves to trash/nodes/000/004.xml" || m.Steps[0].Left != "" {
		t.Errorf("it did %+v", m.Steps)
	}
	d.must(d.createNode("five"))
	d.must(d.move(thing(store.KindNode, "two"), false))
	d.flushed()
	if !d.exists("nodes/000/004.xml") || d.exists("trash/nodes/000/004.xml") || !d.exists("nodes/000/005.xml") {
		t.Errorf("it did not come back to the name that it got")
	}
	d.must(errors.Join(d.finds(d.store), d.findsInTree(filesysOf(d))))
	d.restart()
	d.must(errors.Join(d.finds(d.store), d.findsInTree(filesysOf(d))))
}
