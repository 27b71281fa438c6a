package overlay_test

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/node"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store/overlay"
)

// Each kind of change of a node is told, and no other: the warnings of a hand-made file, which a change clears, are none.
func TestNodeChanges(t *testing.T) {
	t.Parallel()
	// A time that was read twice has two zones that say the same.
	built := func() time.Time { return time.Date(2026, 1, 2, 3, 4, 5, 0, time.FixedZone("", 5*60*60+30*60)) }
	before := node.Node{Model: "m", Tags: []string{"a"}, Summary: node.Summary{Text: "s", Built: built()}, Warnings: []string{"the time has no zone"}}
	change := func(edit func(n *node.Node)) []store.EventKind {
		after := before
		after.Warnings, after.Summary.Built = nil, built()
		edit(&after)
		return overlay.NodeChanges(before, after)
	}
	for what, tt := range map[string]struct {
		edit func(n *node.Node)
		want []store.EventKind
	}{
		"nothing": {func(*node.Node) {}, nil},
		"tags":    {func(n *node.Node) { n.Tags = []string{"b"} }, []store.EventKind{store.TagsUpdated}},
		"built":   {func(n *node.Node) { n.Summary.Built = built().Add(time.Second) }, []store.EventKind{store.SummaryUpdated}},
		"summary": {func(n *node.Node) { n.Summary.Stale = true }, []store.EventKind{store.SummaryUpdated}},
		"a note":  {func(n *node.Node) { n.Note = "n" }, []store.EventKind{store.NodeUpdated}},
		"all": {func(n *node.Node) { n.Note, n.Tags, n.Summary.Text = "n", nil, "t" },
			[]store.EventKind{store.NodeUpdated, store.TagsUpdated, store.SummaryUpdated}},
	} {
		if got := change(tt.edit); !slices.Equal(got, tt.want) {
			t.Errorf("%s: %v, want %v", what, got, tt.want)
		}
	}
}

// empty holds nothing.
type empty struct{ overlay.Reader }

func (empty) HasNode(uuid.UUID) (bool, error)                    { return false, nil }
func (empty) Dropped(store.Thing) time.Time                      { return time.Time{} }
func (empty) Purged(store.Thing) (tomb store.Tombstone, ok bool) { return store.Tombstone{}, false }
func (empty) Room() (nodes, flows int)                           { return 10, 10 }

// Each function of a batch has its own origin, and numbers go on from one to the next.
func TestEventsSayWhoDidIt(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	batch := overlay.New(empty{}, now)
	var want []store.Event
	for i, origin := range []string{"desk 1", "", "desk 2"} {
		id := uuid.UUID{15: byte(i)}
		above := overlay.New(batch, now)
		if err := above.Tx(origin).CreateNode(node.Node{ID: id}); err != nil {
			t.Fatal(err)
		}
		batch.Take(above)
		want = append(want, store.Event{
			Seq: int64(8 + i), At: now, Kind: store.NodeCreated, Of: store.Thing{Kind: store.KindNode, ID: id}, Origin: origin,
		})
	}
	if diff := cmp.Diff(want, batch.Events(7, now)); diff != "" {
		t.Error(diff)
	}
}
