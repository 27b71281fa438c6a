package files

import (
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store"
)

// The power fails while a record of the log, a row and two node files are being written: every start succeeds, what was acknowledged
// is there, in its place, of the rest nothing (cases/flowstore.md 31).
func TestFlowstore31CutLog(t *testing.T) {
	t.Parallel()
	zeros := strings.Repeat("\x00", 2000)
	d := newDesk(t)
	d.must(d.createNode("one"))
	d.flushed()
	d.must(errors.Join(d.createNode("two"), d.createNode("never acknowledged")))
	d.crash(func() {
		log := d.path(localFolder + "/local.db-wal")
		info, err := os.Stat(log)
		d.must(err)
		d.must(os.Truncate(log, info.Size()-100))
		d.put("nodes/index.tsv", d.read("nodes/index.tsv")+"000/009.xml\t0190")
		d.put("nodes/000/001.xml", zeros)
		d.put("nodes/000/005.xml", zeros)
	})
	d.must(d.createNode("theirs"))
	for range 2 {
		d.crash(func() {})
		for _, name := range []string{"one", "two", "theirs"} {
			if got := d.text(name); !strings.HasPrefix(got, name+" 春の夜") {
				t.Errorf("%s is %q", name, got)
			}
		}
		if _, err := d.store.Node(t.Context(), ns, idOf("never acknowledged")); !errors.Is(err, store.ErrNodeNotFound) {
			t.Errorf("what was cut: %v", err)
		}
	}
	d.flushed()
	if !strings.Contains(d.read("nodes/000/001.xml"), "two 春の夜") || d.read("nodes/000/005.xml") != zeros {
		t.Error("a torn file is not restored from the log, or one was changed of which that has nothing")
	}
	d.wantProblems("nodes/000/005.xml")
	d.soundIndex()
}

// So it is with a file that was replaced, and with that of a flow: while the store runs, and when it starts.
func TestTornFilesAreRestoredFromTheLog(t *testing.T) {
	t.Parallel()
	zeros := strings.Repeat("\x00", 300)
	for name, crash := range map[string]bool{"while it runs": false, "when it starts": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newDesk(t)
			d.must(d.createNode("one"))
			d.flushed()
			d.must(errors.Join(d.replaceNode("one", "二"), d.createFlow("novel")))
			tear := func() {
				d.put("nodes/000/000.xml", zeros)
				d.put("flows/000/000.yaml", zeros)
			}
			if crash {
				d.crash(tear)
			} else {
				tear()
			}
			d.flushed()
			for range 2 {
				d.wantProblems()
				d.must(errors.Join(d.finds(d.store), d.findsInTree(filesysOf(d))))
				d.restart()
			}
		})
	}
}

// The log has changes of a flow, and not what they were made to: they wait for its file, which stays as it is.
func TestATornFileOfWhichTheLogHasChangesAlone(t *testing.T) {
	t.Parallel()
	zeros := strings.Repeat("\x00", 300)
	d := newDesk(t)
	d.must(errors.Join(d.createNode("one"), d.createFlow("novel")))
	d.flushed()
	whole := d.read("flows/000/000.yaml")
	d.must(d.addNode("novel", "two"))
	d.crash(func() { d.put("flows/000/000.yaml", zeros) })
	d.flushed()
	if d.read("flows/000/000.yaml") != zeros {
		t.Error("the torn file was changed")
	}
	d.wantProblems("flows/000/000.yaml", "flows/000/000.yaml")
	d.crash(func() { d.put("flows/000/000.yaml", whole) })
	d.must(errors.Join(d.finds(d.store), d.flush()))
}

// What was restored is not listed by what it was, once it is in the trash.
func TestWhatWasTornGoesToTheTrash(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.must(d.createNode("one"))
	d.flushed()
	d.must(d.replaceNode("one", "二"))
	d.crash(func() { d.put("nodes/000/000.xml", strings.Repeat("\x00", 300)) })
	d.flushed()
	d.must(d.move(thing(store.KindNode, "one"), true))
	if nodes, err := d.store.Nodes(t.Context(), ns, store.NewestFirst, store.Entry{}, 10); err != nil || len(nodes) > 0 {
		t.Errorf("listed %v: %v", nodes, err)
	}
	d.must(d.flush())
}
