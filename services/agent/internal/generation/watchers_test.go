package generation_test

import (
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/tsumugi-dev/tsumugi/services/agent/internal/generation"
)

// TestAWatcherThatNeverReadsSlowsNobody is cases/gostyle.md 28: 50 watchers, of which one reads nothing until all is
// over, and 5,000 events. It is told that it lags and misses nothing.
func TestAWatcherThatNeverReadsSlowsNobody(t *testing.T) {
	t.Parallel()
	pieces := make([]string, 5000)
	for i := range pieces {
		pieces[i] = strconv.Itoa(i) + "行\n"
	}
	want := strings.Join(pieces, "")
	w := newWorld(t, says(pieces...))
	req := w.request("")
	idle := w.generate(req)
	var all sync.WaitGroup
	for i := range 49 {
		v, err := w.Watch(t.Context(), ns, generation.NodeID(req.ID), 0)
		if err != nil {
			t.Fatal(err)
		}
		all.Go(func() {
			if r := w.read(v, 0); r.text != want || r.stored == nil {
				t.Errorf("watcher %d: %d bytes of %d, %v", i, len(r.text), len(want), r.err)
			}
		})
	}
	all.Wait()
	if r := w.read(idle, 0); r.text != want || r.stored == nil || r.joined != 5000 || r.events != 4 {
		t.Errorf("the idle one: %d bytes, %d joined, %d events, %v", len(r.text), r.joined, r.events, r.err)
	}
}
