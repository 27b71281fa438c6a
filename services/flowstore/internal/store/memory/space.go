package memory

import (
	"maps"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/flow"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/node"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store/newest"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store/overlay"
)

// HasNode implements overlay.Reader. Readers hold the lock of the store or its turn.
func (sp *space) HasNode(id uuid.UUID) (bool, error) {
	_, ok := sp.nodes[id]
	return ok && sp.Dropped(store.Thing{Kind: store.KindNode, ID: id}).IsZero(), nil
}

// HasFlow implements overlay.Reader.
func (sp *space) HasFlow(id uuid.UUID) (bool, error) {
	_, ok := sp.flows[id]
	return ok && sp.Dropped(store.Thing{Kind: store.KindFlow, ID: id}).IsZero(), nil
}

// Dropped implements overlay.Reader.
func (sp *space) Dropped(t store.Thing) time.Time { return sp.dropped[t] }

// FlowsOf implements overlay.Reader.
func (sp *space) FlowsOf(uuid.UUID) ([]uuid.UUID, error) {
	return slices.Collect(maps.Keys(sp.flows)), nil
}

// Node implements overlay.Reader.
func (sp *space) Node(id uuid.UUID) (node.Node, error) {
	n, ok := sp.nodes[id]
	if !ok {
		return node.Node{}, store.ErrNodeNotFound
	}
	return n, nil
}

// Check implements overlay.Reader.
func (sp *space) Check(t store.Thing) error { return t.Read(sp) }

// Flow implements overlay.Reader.
func (sp *space) Flow(id uuid.UUID) (flow.Flow, error) {
	f, ok := sp.flows[id]
	if !ok {
		return flow.Flow{}, store.ErrFlowNotFound
	}
	return f, nil
}

// Request implements overlay.Reader.
func (sp *space) Request(id uuid.UUID) (store.Request, bool, error) {
	r, ok := sp.requests[id]
	if !ok || sp.now.Sub(r.at) >= store.RequestLifetime {
		return store.Request{}, false, nil
	}
	return r.Request, true, nil
}

// Room implements overlay.Reader: as much as there are slots in a tree of files.
func (sp *space) Room() (nodes, flows int) {
	return store.MaxFiles - len(sp.nodes), store.MaxFiles - len(sp.flows)
}

// write does one write, but that what changed in a flow is put in with all of it. The caller holds mu.
func (sp *space) write(op overlay.Op) {
	switch {
	case op.Node != nil:
		sp.nodes[op.Node.ID] = *op.Node
		sp.nodeList.Put(store.Entry{Created: op.Node.Created, ID: op.Node.ID})
	case op.Flow != nil:
		sp.flows[op.Flow.ID] = *op.Flow
		sp.flowList.Put(store.Entry{Created: op.Flow.Created, ID: op.Flow.ID})
	case op.Replace != nil:
		sp.replace(*op.Replace)
	case op.Move != nil:
		sp.move(*op.Move)
	case op.Purge != nil:
		sp.purged[op.Purge.Thing] = *op.Purge
	case op.Erase != nil: // It is gone.
	case op.Change.Step != nil:
		sp.step(*op.Change)
	}
}

func (sp *space) replace(r overlay.Replace) {
	sp.replaced++
	before := revision{store.Revision{Number: sp.replaced, At: r.At}, r.Before}
	id := r.Node.ID
	sp.nodes[id] = r.Node
	sp.revisions[id] = slices.Insert(sp.revisions[id], 0, before)
	size := 0
	for i, old := range sp.revisions[id] {
		if size += old.node.Size(); i > 0 && (i == store.MaxRevisions || size > store.MaxRevisionBytes) {
			sp.revisions[id] = sp.revisions[id][:i]
			break
		}
	}
}

func (sp *space) move(m overlay.Move) {
	list, place := &sp.flowList, store.Entry{Created: sp.flows[m.ID].Created, ID: m.ID}
	if m.Kind == store.KindNode {
		list, place = &sp.nodeList, store.Entry{Created: sp.nodes[m.ID].Created, ID: m.ID}
	}
	trash := sp.trash(m.Kind)
	if m.Drop {
		list.Drop(place)
		trash.Put(store.Entry{Created: m.At, ID: m.ID})
		sp.dropped[m.Thing] = m.At
		return
	}
	trash.Drop(store.Entry{Created: sp.dropped[m.Thing], ID: m.ID})
	delete(sp.dropped, m.Thing)
	list.Put(place)
}

// trash lists what is in the trash.
func (sp *space) trash(kind store.Kind) *newest.List {
	if kind == store.KindNode {
		return &sp.droppedNodes
	}
	return &sp.droppedFlows
}

// happen keeps events and tells who waits for them.
func (sp *space) happen(events []store.Event) {
	if len(events) == 0 {
		return
	}
	sp.events = append(sp.events, events...)
	if len(sp.events) > 2*store.MaxEvents {
		sp.events = slices.Clone(sp.events[len(sp.events)-store.MaxEvents:])
	}
	sp.lastEvent += int64(len(events))
	close(sp.happened)
	sp.happened = make(chan struct{})
}

// LastStep implements overlay.Reader.
func (sp *space) LastStep() int64 { return sp.lastStep }

// Steps implements overlay.Reader.
func (sp *space) Steps(flow uuid.UUID) (refs []store.StepRef, err error) {
	for _, s := range sp.steps[flow] {
		refs = append(refs, s.StepRef)
	}
	return refs, nil
}

// Step implements overlay.Reader.
func (sp *space) Step(flow uuid.UUID, ref store.StepRef) (store.Step, error) {
	at := slices.IndexFunc(sp.steps[flow], func(s store.Step) bool { return s.Number == ref.Number })
	if at < 0 {
		return store.Step{}, store.ErrNoStep
	}
	return sp.steps[flow][at], nil
}

// step keeps a new step, or one that moved.
func (sp *space) step(c overlay.Change) {
	all := sp.steps[c.Flow]
	if !c.New {
		for i, s := range all {
			if s.Number == c.Step.Number {
				all[i] = *c.Step
			}
		}
		return
	}
	all = append(slices.DeleteFunc(all, func(s store.Step) bool { return s.Undone }), *c.Step)
	sp.steps[c.Flow] = slices.Clone(all[max(0, len(all)-store.MaxSteps):])
	sp.lastStep = c.Step.Number
}
