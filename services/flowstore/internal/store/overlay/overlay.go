// Package overlay holds what one Update wrote, over what was there before, until the engine decides to keep or drop it.
//
// An Overlay is a store.Tx, and reads like what lies below it. So overlays stack: an engine lays one over its batch for
// each function, and dropping that one is the savepoint.
package overlay

import (
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
	Node(id uuid.UUID) (node.Node, error)
	Flow(id uuid.UUID) (flow.Flow, error)
	Request(id uuid.UUID) (store.Request, bool, error)
	// Room is how many nodes and flows may still be made.
	Room() (nodes, flows int)
}

// Op is one write. Exactly one field is set.
type Op struct {
	Node   *node.Node
	Flow   *flow.Flow
	Change *Change
}

// Change is a change of a stored flow.
type Change struct {
	Flow uuid.UUID
	flow.Change
}

// Overlay is what was written. It is used by one goroutine.
type Overlay struct {
	base     Reader
	now      time.Time
	ops      []Op
	nodes    map[uuid.UUID]*node.Node
	flows    map[uuid.UUID]flow.Flow
	requests map[uuid.UUID]store.Request
	// madeNodes and madeFlows count what was made.
	madeNodes, madeFlows int
}

var (
	_ store.Tx = (*Overlay)(nil)
	_ Reader   = (*Overlay)(nil)
)

// New lays an empty overlay over base; now is the time of the transaction.
func New(base Reader, now time.Time) *Overlay {
	return &Overlay{
		base:     base,
		now:      now,
		nodes:    map[uuid.UUID]*node.Node{},
		flows:    map[uuid.UUID]flow.Flow{},
		requests: map[uuid.UUID]store.Request{},
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
	o.madeNodes += above.madeNodes
	o.madeFlows += above.madeFlows
	for id, n := range above.nodes {
		o.nodes[id] = n
	}
	for id, f := range above.flows {
		o.flows[id] = f
	}
	for id, r := range above.requests {
		o.requests[id] = r
	}
}

// Now implements store.Tx.
func (o *Overlay) Now() time.Time { return o.now }

// HasNode implements store.Tx and Reader.
func (o *Overlay) HasNode(id uuid.UUID) (bool, error) {
	if o.nodes[id] != nil {
		return true, nil
	}
	return o.base.HasNode(id)
}

// HasFlow implements Reader.
func (o *Overlay) HasFlow(id uuid.UUID) (bool, error) {
	if _, ok := o.flows[id]; ok {
		return true, nil
	}
	return o.base.HasFlow(id)
}

// Node implements store.Tx and Reader.
func (o *Overlay) Node(id uuid.UUID) (node.Node, error) {
	if n := o.nodes[id]; n != nil {
		return *n, nil
	}
	return o.base.Node(id)
}

// Flow implements store.Tx and Reader.
func (o *Overlay) Flow(id uuid.UUID) (flow.Flow, error) {
	if f, ok := o.flows[id]; ok {
		return f, nil
	}
	return o.base.Flow(id)
}

// Request implements store.Tx and Reader.
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

// CreateNode implements store.Tx.
func (o *Overlay) CreateNode(n node.Node) error {
	if taken, err := o.HasNode(n.ID); err != nil || taken {
		return takenOr(err)
	}
	if room, _ := o.Room(); room <= 0 {
		return store.ErrFull
	}
	o.madeNodes++
	o.nodes[n.ID] = &n
	o.ops = append(o.ops, Op{Node: &n})
	return nil
}

// CreateFlow implements store.Tx.
func (o *Overlay) CreateFlow(f flow.Flow) error {
	if taken, err := o.HasFlow(f.ID); err != nil || taken {
		return takenOr(err)
	}
	if _, room := o.Room(); room <= 0 {
		return store.ErrFull
	}
	o.madeFlows++
	o.flows[f.ID] = f
	o.ops = append(o.ops, Op{Flow: &f})
	return nil
}

func takenOr(err error) error {
	if err != nil {
		return err
	}
	return store.ErrTaken
}

// ChangeFlow implements store.Tx.
func (o *Overlay) ChangeFlow(id uuid.UUID, c flow.Change) error {
	f, err := o.Flow(id)
	if err != nil {
		return err
	}
	o.flows[id] = f.Apply(c)
	o.ops = append(o.ops, Op{Change: &Change{Flow: id, Change: c}})
	return nil
}

// PutRequest implements store.Tx.
func (o *Overlay) PutRequest(r store.Request) error {
	o.requests[r.ID] = r
	return nil
}
