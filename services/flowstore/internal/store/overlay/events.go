package overlay

import (
	"reflect"
	"slices"
	"time"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/node"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store"
)

// Events are what the writes mean to others, numbered after last: for each thing and kind one, at its first place. at is the
// time of the batch.
func (o *Overlay) Events(last int64, at time.Time) []store.Event {
	type key struct {
		of     store.Thing
		kind   store.EventKind
		origin string
	}
	seen := map[key]bool{}
	var events []store.Event
	for _, op := range o.ops {
		of, kinds := op.means()
		for _, kind := range kinds {
			if k := (key{of, kind, op.Origin}); !seen[k] {
				seen[k] = true
				last++
				events = append(events, store.Event{Seq: last, At: at, Kind: kind, Of: of, Origin: op.Origin})
			}
		}
	}
	return events
}

// means says what a write means to others.
func (op Op) means() (of store.Thing, kinds []store.EventKind) {
	switch {
	case op.Node != nil:
		return store.Thing{Kind: store.KindNode, ID: op.Node.ID}, []store.EventKind{store.NodeCreated}
	case op.Flow != nil:
		return store.Thing{Kind: store.KindFlow, ID: op.Flow.ID}, []store.EventKind{store.FlowCreated}
	case op.Change != nil:
		return store.Thing{Kind: store.KindFlow, ID: op.Change.Flow}, []store.EventKind{store.FlowUpdated}
	case op.Replace != nil:
		return store.Thing{Kind: store.KindNode, ID: op.Replace.Node.ID}, NodeChanges(op.Replace.Before, op.Replace.Node)
	}
	m := op.Move
	if op.Purge != nil {
		m = &Move{Thing: op.Purge.Thing, Drop: true}
	}
	kinds = []store.EventKind{store.FlowCreated, store.FlowDeleted}
	if m.Kind == store.KindNode {
		kinds = []store.EventKind{store.NodeCreated, store.NodeDeleted}
	}
	if m.Drop {
		return m.Thing, kinds[1:]
	}
	return m.Thing, kinds[:1]
}

// NodeChanges says what of a node changed.
func NodeChanges(before, after node.Node) (kinds []store.EventKind) {
	if !slices.Equal(before.Tags, after.Tags) {
		kinds = append(kinds, store.TagsUpdated)
	}
	if before.Summary != after.Summary {
		kinds = append(kinds, store.SummaryUpdated)
	}
	before.Tags, before.Summary, before.Warnings = after.Tags, after.Summary, after.Warnings
	if !reflect.DeepEqual(before, after) {
		kinds = append([]store.EventKind{store.NodeUpdated}, kinds...)
	}
	return kinds
}
