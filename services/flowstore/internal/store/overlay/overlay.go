// Package overlay holds what one Update wrote, over what was there before, until the engine decides to keep or drop it.
//
// An Overlay reads like what lies below it. So overlays stack: an engine lays one over its batch for each function, which
// gets its Tx, and dropping that one is the savepoint.
package overlay

import (
	"maps"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/flow"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/node"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store"
)

// Reader is what lies below: committed state, or an Overlay.
type Reader interface {
	HasNode(id uuid.UUID) (bool, error)
	HasFlow(id uuid.UUID) (bool, error)
	// Node and Flow read what is in the trash, too.
	Node(id uuid.UUID) (node.Node, error)
	Flow(id uuid.UUID) (flow.Flow, error)
	// Check gives the error that reading a thing has, as Node and Flow do, and keeps nothing of a node that it reads.
	Check(t store.Thing) error
	// Dropped says since when a thing is in the trash, the zero time where it is not.
	Dropped(t store.Thing) time.Time
	// Purged gives the tombstone of a thing; ok is false where it was not purged.
	Purged(t store.Thing) (tomb store.Tombstone, ok bool)
	// Traces says whether anything is kept of a thing that no file holds any more.
	Traces(t store.Thing) (bool, error)
	// LastStep is the number of the last step of the namespace; Steps and Step are those of store.Tx.
	LastStep() int64
	Steps(flow uuid.UUID) ([]store.StepRef, error)
	Step(flow uuid.UUID, ref store.StepRef) (store.Step, error)
	// FlowsOf gives flows that may hold a node, in any order, also twice and from the trash.
	FlowsOf(node uuid.UUID) ([]uuid.UUID, error)
	Request(id uuid.UUID) (store.Request, bool, error)
	// Room is how many nodes and flows may still be made.
	Room() (nodes, flows int)
}

// Op is one write. Exactly one field is set.
type Op struct {
	// Node and Flow are new.
	Node    *node.Node
	Flow    *flow.Flow
	Replace *Replace
	Change  *Change
	Move    *Move
	Purge   *store.Tombstone
	// Erase was purged before.
	Erase *store.Tombstone
}

// Replace puts a node in place of another.
type Replace struct {
	Node, Before node.Node
	At           time.Time
}

// Move puts a thing into the trash, or takes it out.
type Move struct {
	store.Thing
	Drop bool
	At   time.Time
}

// Change is a change of a stored flow.
type Change struct {
	Flow uuid.UUID
	flow.Change
	// Step is the step that it is or moves, nil for none.
	Step *store.Step
	// New says that it is a new step, which cuts off those that were undone.
	New bool
}

// Overlay is what was written. It is used by one goroutine.
type Overlay struct {
	base   Reader
	now    time.Time
	origin string
	ops    []Op
	// events are what ops mean to others, without number and time. told are those of the function that writes here, not of
	// those that were taken.
	events   []store.Event
	told     map[store.Event]bool
	nodes    map[uuid.UUID]*node.Node
	flows    map[uuid.UUID]flow.Flow
	requests map[uuid.UUID]store.Request
	// dropped holds what went into the trash, with the time, and what came out of it, with the zero time.
	dropped map[store.Thing]time.Time
	purged  map[store.Thing]store.Tombstone
	// madeNodes, madeFlows and madeSteps count what was made.
	madeNodes, madeFlows, madeSteps int
}

var _ Reader = (*Overlay)(nil)

// New lays an empty overlay over base; now is the time of the transaction.
func New(base Reader, now time.Time) *Overlay {
	return &Overlay{
		base:     base,
		now:      now,
		told:     map[store.Event]bool{},
		nodes:    map[uuid.UUID]*node.Node{},
		flows:    map[uuid.UUID]flow.Flow{},
		requests: map[uuid.UUID]store.Request{},
		dropped:  map[store.Thing]time.Time{},
		purged:   map[store.Thing]store.Tombstone{},
	}
}

// Ops are the writes in their order, requests excepted.
func (o *Overlay) Ops() []Op { return o.ops }

// Requests are what PutRequest was given, by id.
func (o *Overlay) Requests() []store.Request {
	list := make([]store.Request, 0, len(o.requests))
	for _, r := range o.requests {
		list = append(list, r)
	}
	slices.SortFunc(list, func(a, b store.Request) int { return slices.Compare(a.ID[:], b.ID[:]) })
	return list
}

// Flows are the flows that were made or changed, as they are now. Callers do not write to the map.
func (o *Overlay) Flows() map[uuid.UUID]flow.Flow { return o.flows }

// Empty says that nothing was written.
func (o *Overlay) Empty() bool { return len(o.ops) == 0 && len(o.requests) == 0 }

// Take keeps what an overlay over this one wrote.
func (o *Overlay) Take(above *Overlay) {
	o.ops = append(o.ops, above.ops...)
	o.events = append(o.events, above.events...)
	o.madeNodes += above.madeNodes
	o.madeFlows += above.madeFlows
	o.madeSteps += above.madeSteps
	maps.Copy(o.nodes, above.nodes)
	maps.Copy(o.flows, above.flows)
	maps.Copy(o.requests, above.requests)
	maps.Copy(o.dropped, above.dropped)
	maps.Copy(o.purged, above.purged)
}

// HasNode implements Reader.
func (o *Overlay) HasNode(id uuid.UUID) (bool, error) {
	if _, purged := o.purged[store.Thing{Kind: store.KindNode, ID: id}]; purged {
		return false, nil
	}
	if at, moved := o.dropped[store.Thing{Kind: store.KindNode, ID: id}]; moved {
		return at.IsZero(), nil
	}
	if o.nodes[id] != nil {
		return true, nil
	}
	return o.base.HasNode(id)
}

// HasFlow implements Reader.
func (o *Overlay) HasFlow(id uuid.UUID) (bool, error) {
	if _, purged := o.purged[store.Thing{Kind: store.KindFlow, ID: id}]; purged {
		return false, nil
	}
	if at, moved := o.dropped[store.Thing{Kind: store.KindFlow, ID: id}]; moved {
		return at.IsZero(), nil
	}
	if _, ok := o.flows[id]; ok {
		return true, nil
	}
	return o.base.HasFlow(id)
}

// Node implements Reader.
func (o *Overlay) Node(id uuid.UUID) (node.Node, error) {
	if n := o.nodes[id]; n != nil {
		return *n, nil
	}
	return o.base.Node(id)
}

// Flow implements Reader.
func (o *Overlay) Flow(id uuid.UUID) (flow.Flow, error) {
	if f, ok := o.flows[id]; ok {
		return f, nil
	}
	return o.base.Flow(id)
}

// Check implements Reader.
func (o *Overlay) Check(t store.Thing) error {
	_, wrote := o.flows[t.ID]
	if t.Kind == store.KindNode {
		wrote = o.nodes[t.ID] != nil
	}
	if wrote {
		return nil
	}
	return o.base.Check(t)
}

// Dropped implements Reader.
func (o *Overlay) Dropped(t store.Thing) time.Time {
	if at, moved := o.dropped[t]; moved {
		return at
	}
	return o.base.Dropped(t)
}

// FlowsOf implements Reader.
func (o *Overlay) FlowsOf(node uuid.UUID) ([]uuid.UUID, error) {
	candidates, err := o.base.FlowsOf(node)
	for id := range o.flows {
		candidates = append(candidates, id)
	}
	return candidates, err
}

// Request implements Reader.
func (o *Overlay) Request(id uuid.UUID) (store.Request, bool, error) {
	if r, ok := o.requests[id]; ok {
		return r, true, nil
	}
	return o.base.Request(id)
}

// Room implements Reader.
func (o *Overlay) Room() (nodes, flows int) {
	nodes, flows = o.base.Room()
	return nodes - o.madeNodes, flows - o.madeFlows
}
