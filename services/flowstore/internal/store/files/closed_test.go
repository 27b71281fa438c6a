package files

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store"
)

// lastEvent is the number of the last event there was.
func (d *desk) lastEvent() int64 {
	d.Helper()
	last, err := d.store.LastEvent(context.Background(), ns)
	d.must(err)
	return last
}

// What hands do while the store is closed is told when it starts, as it would have been while it ran, once: to whoever comes with
// the last number that he knew. What was acknowledged and not in the tree when the process ended is not told again.
func TestWhatHandsDoWhileClosed(t *testing.T) {
	t.Parallel()
	for name, c := range handCases() {
		want := c.closed
		if len(c.do) == 1 {
			want = cmp.Or(c.closed, c.told)
		}
		for end, start := range map[string]func(d *desk, meanwhile func()){
			"stopped": func(d *desk, meanwhile func()) {
				d.must(d.store.Close())
				meanwhile()
				d.open()
			},
			"killed": func(d *desk, meanwhile func()) {
				d.must(errors.Join(d.createNode("pending"), d.addNode("essay", "pending too")))
				d.crash(meanwhile)
			},
		} {
			t.Run(name+", "+end, func(t *testing.T) {
				t.Parallel()
				d := newDesk(t)
				d.must(errors.Join(d.createNode("one"), d.createNode("two"), d.createFlow("novel"), d.createFlow("essay")))
				d.flushed()
				last := d.lastEvent()
				start(d, func() {
					for _, do := range c.do {
						do(d)
					}
				})
				var told []string
				for _, e := range d.toldSince(last) {
					if !strings.HasPrefix(e, "ours: ") {
						told = append(told, e)
					}
				}
				if got := strings.Join(told, ", "); got != want {
					t.Errorf("told %q, want %q", got, want)
				}
				if name != "a double alone" { // A scan had seen the double.
					d.knows(c.nodes, c.problems)
				}
				last = d.lastEvent()
				d.flushed() // A copy of what is being written is no state that a kill leaves.
				d.crash(func() {})
				again := d.toldSince(last)
				if again = append(again, d.handsDo()...); len(again) > 0 {
					t.Errorf("told once more: %q", again)
				}
				d.restart()
				if again := d.toldSince(last); len(again) > 0 {
					t.Errorf("told once more: %q", again)
				}
			})
		}
	}
}

// A change that was on its way and a hand that changed the same file: both stay, and the hand's is told by the scan that follows.
func TestAHandAndAWriteOnItsWayWhileClosed(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.must(d.createNode("one"))
	d.flushed()
	d.must(d.replaceNode("one", "二"))
	last := d.lastEvent()
	d.crash(func() { d.edit("nodes/000/000.xml", "春の夜", "夏の夜") })
	if told := d.toldSince(last); len(told) > 0 {
		t.Errorf("told at the start %q", told)
	}
	d.flushed()
	if told := strings.Join(d.handsDo(), ", "); told != "external_change nodes/000/000.xml" {
		t.Errorf("told %q", told)
	}
}

// Nobody knows a number of a tree that the store never saw: it tells no event of each file, and that everything must be read.
func TestATreeThatIsNewIsNotTold(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.must(errors.Join(d.createNode("one"), d.createFlow("novel")))
	d.flushed()
	before := d.lastEvent()
	d.must(d.store.Close())
	d.must(os.RemoveAll(filepath.Join(d.data, ns, localFolder)))
	d.edit("nodes/000/000.xml", "春の夜", "夏の夜")
	d.later = time.Second
	d.open()
	last := d.lastEvent()
	if told := d.handsDo(); len(told) > 0 || d.lastEvent() != last {
		t.Errorf("told %q", told)
	}
	if _, err := d.store.Events(context.Background(), ns, before-1, 10); !errors.Is(err, store.ErrPruned) {
		t.Errorf("a number of the local.db that went away: %v", err)
	}
	// Also when more has happened since than the old one ever told.
	for i := range 10 {
		d.must(d.createNode(fmt.Sprint("more ", i)))
	}
	if _, err := d.store.Events(context.Background(), ns, before-1, 10); !errors.Is(err, store.ErrPruned) {
		t.Errorf("and later: %v", err)
	}
}
