package files

import (
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store"
)

// The power fails while a record of the log, a row and two node files are being written: every start succeeds, what was acknowledged
// is there, of the rest nothing (cases/flowstore.md 31).
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
		d.put("nodes/000/001.xml", zeros) // what belongs there is in the log, and goes into another file
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
	if d.read("nodes/000/001.xml") != zeros || d.read("nodes/000/005.xml") != zeros {
		t.Error("a torn file was changed")
	}
	d.wantProblems("nodes/000/001.xml", "nodes/000/005.xml")
	d.soundIndex()
}
