package library_test

import (
	"fmt"
	"runtime"
	"testing"

	"github.com/google/uuid"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/flow"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/library"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store/memory"
)

// An edit of a large flow copies at most once what it changes of it, and nothing of the rest (field/perf.md row 28). Not parallel:
// it counts what the process allocates.
func TestEditsOfALargeFlowCopyOnce(t *testing.T) { //nolint:paralleltest // see above
	const (
		size    = 10_000
		members = size * 24
		edges   = size * 32
		other   = 64 << 10
	)
	s := memory.New(clock)
	l := library.New(s, &counting{})
	f := newFlow(t, l)
	first, beside := add(t, l, f, "first"), add(t, l, f, "beside")
	var c flow.Change
	for i := 3; i <= size; i++ {
		c.Add = append(c.Add, flow.Member{Index: i, Node: id(uint32(100_000 + i))})
		c.Connect = append(c.Connect, flow.Edge{From: max(i-1, 1), To: i})
	}
	c.Connect[0].From = 1 // the first one is before all that follow, and the second is beside them
	if err := s.Update(t.Context(), ns, func(tx store.Tx) error { return tx.ChangeFlow(f, c) }); err != nil {
		t.Fatal(err)
	}
	const rounds = 8 // the least counts: under the race detector a sync.Pool drops a part of what it is given
	edge := library.Connection{Operation: library.Operation{Flow: f}, Parent: beside, Child: first}
	now, next := first, beside
	edits := []struct {
		name string
		most uint64
		do   func() error
	}{
		{"Connect", edges, func() error { _, err := l.Connect(t.Context(), ns, edge); return err }},
		{"Disconnect", edges, func() error { _, err := l.Disconnect(t.Context(), ns, edge); return err }},
		{"AddNode", members + edges, func() error {
			n := said("last")
			_, err := l.AddNode(t.Context(), ns, library.Addition{Flow: f, New: &n, Parents: []uuid.UUID{beside}})
			return err
		}},
		{"SetCurrent", 0, func() error {
			now, next = next, now
			_, err := l.SetCurrent(t.Context(), ns, f, now)
			return err
		}},
	}
	least := map[string]uint64{}
	for range rounds {
		for _, edit := range edits {
			took, err := allocated(edit.do)
			if err != nil {
				t.Fatalf("%s: %v", edit.name, err)
			}
			if before, ok := least[edit.name]; !ok || took < before {
				least[edit.name] = took
			}
		}
	}
	for _, edit := range edits {
		if took, most := least[edit.name], edit.most+edit.most/4+other; took > most {
			t.Errorf("%s allocated %s, at most %s", edit.name, kib(took), kib(most))
		} else {
			t.Logf("%s allocated %s", edit.name, kib(took))
		}
	}
}

func kib(bytes uint64) string { return fmt.Sprintf("%d KiB", bytes>>10) }

// allocated gives the bytes that a call allocates.
func allocated(do func() error) (uint64, error) {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	err := do()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc, err
}
