package overlay

import (
	"reflect"
	"slices"
	"time"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/node"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store"
)

// Events are what the writes mean to others, numbered after last: of each function one for each thing and kind, at its first
// place. Another function's are never the same ones: between the two the thing may have changed back. at is the time of the batch.
func (o *Overlay) Events(last int64, at time.Time) []store.Event {
	events := slices.Clone(o.events)
	for i := range events {
		events[i].Seq, events[i].At = last+1+int64(i), at
	}
	return events
}

// tell notes what a write of the function means to others, unless that was noted before.
func (o *Overlay) tell(op Op) {
	of, kinds := op.means()
	for _, kind := range kinds {
		if e := (store.Event{Kind: kind, Of: of, Origin: o.origin}); !o.told[e] {
			o.told[e] = true
			o.events = append(o.events, e)
		}
	}
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
	if op.Erase != nil {
		return op.Erase.Thing, nil // It was told when it was purged.
	}
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
	if b, a := before.Summary, after.Summary; b.Text != a.Text || b.Stale != a.Stale || !b.Built.Equal(a.Built) {
		kinds = append(kinds, store.SummaryUpdated)
	}
	before.Tags, before.Summary, before.Warnings = after.Tags, after.Summary, after.Warnings
	if !reflect.DeepEqual(before, after) {
		kinds = append([]store.EventKind{store.NodeUpdated}, kinds...)
	}
	return kinds
}
