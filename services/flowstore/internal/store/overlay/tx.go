package overlay

import (
	"errors"
	"time"

	"github.com/google/uuid"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/flow"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/node"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store"
)

// Tx is what a function of Update sees of an Overlay: the trash is out of sight, and what breaks a rule is refused.
type Tx struct{ o *Overlay }

var _ store.Tx = Tx{}

// Tx gives the view of a function that writes for origin.
func (o *Overlay) Tx(origin string) Tx {
	o.origin = origin
	return Tx{o}
}

// wrote adds a write.
func (tx Tx) wrote(op Op) {
	tx.o.ops = append(tx.o.ops, op)
	tx.o.tell(op)
}

// Now implements store.Tx.
func (tx Tx) Now() time.Time { return tx.o.now }

// HasNode implements store.Tx.
func (tx Tx) HasNode(id uuid.UUID) (bool, error) { return tx.o.HasNode(id) }

// Node implements store.Tx.
func (tx Tx) Node(id uuid.UUID) (node.Node, error) {
	if err := tx.dropped(store.KindNode, id); err != nil {
		return node.Node{}, err
	}
	return tx.o.Node(id)
}

// Flow implements store.Tx.
func (tx Tx) Flow(id uuid.UUID) (flow.Flow, error) {
	if err := tx.dropped(store.KindFlow, id); err != nil {
		return flow.Flow{}, err
	}
	return tx.o.Flow(id)
}

// dropped is the error of a thing that is in the trash or was purged, nil for another.
func (tx Tx) dropped(kind store.Kind, id uuid.UUID) error {
	if err := everything(tx).purged(kind, id); err != nil {
		return err
	}
	t := store.Thing{Kind: kind, ID: id}
	if at := tx.o.Dropped(t); !at.IsZero() {
		return &store.DroppedError{Thing: t, At: at}
	}
	return nil
}

// FlowsOf implements store.Tx.
func (tx Tx) FlowsOf(node uuid.UUID) ([]uuid.UUID, error) { return tx.o.holding(node, tx.Flow) }

// CreateNode implements store.Tx.
func (tx Tx) CreateNode(n node.Node) error {
	taken, err := tx.o.HasNode(n.ID)
	if err := tx.free(store.KindNode, n.ID, taken, err); err != nil {
		return err
	}
	if room, _ := tx.o.Room(); room <= 0 {
		return store.ErrFull
	}
	tx.o.madeNodes++
	tx.o.nodes[n.ID] = &n
	tx.wrote(Op{Node: &n})
	return nil
}

// CreateFlow implements store.Tx.
func (tx Tx) CreateFlow(f flow.Flow) error {
	taken, err := tx.o.HasFlow(f.ID)
	if err := tx.free(store.KindFlow, f.ID, taken, err); err != nil {
		return err
	}
	if _, room := tx.o.Room(); room <= 0 {
		return store.ErrFull
	}
	tx.o.madeFlows++
	tx.o.flows[f.ID] = f
	tx.wrote(Op{Flow: &f})
	return nil
}

// free says whether something new may have an id; taken and err are what Has said.
func (tx Tx) free(kind store.Kind, id uuid.UUID, taken bool, err error) error {
	if err != nil {
		return err
	}
	if err := everything(tx).purged(kind, id); err != nil {
		return err
	}
	if dropped := tx.dropped(kind, id); dropped != nil {
		return errors.Join(store.ErrTaken, dropped)
	}
	if taken {
		return store.ErrTaken
	}
	return nil
}

// ReplaceNode implements store.Tx.
func (tx Tx) ReplaceNode(n node.Node) error {
	before, err := tx.Node(n.ID)
	if err != nil {
		return err
	}
	tx.o.nodes[n.ID] = &n
	tx.wrote(Op{Replace: &Replace{Node: n, Before: before, At: tx.o.now}})
	return nil
}

// ChangeFlow implements store.Tx.
func (tx Tx) ChangeFlow(id uuid.UUID, c flow.Change) error {
	f, err := tx.Flow(id)
	if err != nil {
		return err
	}
	change := Change{Flow: id, Change: c}
	if c.Step() {
		tx.o.madeSteps++
		change.New = true
		change.Step = &store.Step{
			StepRef: store.StepRef{Number: tx.o.LastStep()}, At: tx.o.now, Done: c, Back: flow.Invert(f, c),
		}
	}
	tx.o.flows[id] = f.Apply(c)
	tx.wrote(Op{Change: &change})
	return nil
}

// Steps implements store.Tx.
func (tx Tx) Steps(flow uuid.UUID) ([]store.StepRef, error) { return tx.o.Steps(flow) }

// Step implements store.Tx.
func (tx Tx) Step(flow uuid.UUID, ref store.StepRef) (store.Step, error) { return tx.o.Step(flow, ref) }

// MoveStep implements store.Tx.
func (tx Tx) MoveStep(id uuid.UUID, s store.Step, c flow.Change) error {
	f, err := tx.Flow(id)
	if err != nil {
		return err
	}
	tx.o.flows[id] = f.Apply(c)
	tx.wrote(Op{Change: &Change{Flow: id, Change: c, Step: &s}})
	return nil
}

// Drop implements store.Tx.
func (tx Tx) Drop(t store.Thing) error {
	if err := tx.dropped(t.Kind, t.ID); err != nil {
		return err
	}
	if err := tx.o.Check(t); err != nil {
		return err
	}
	tx.o.dropped[t] = tx.o.now
	tx.wrote(Op{Move: &Move{Thing: t, Drop: true, At: tx.o.now}})
	return nil
}

// Restore implements store.Tx.
func (tx Tx) Restore(t store.Thing) error {
	if tx.o.Dropped(t).IsZero() {
		return store.ErrNotDropped
	}
	if err := tx.o.Check(t); err != nil {
		return err
	}
	tx.o.dropped[t] = time.Time{}
	tx.wrote(Op{Move: &Move{Thing: t, At: tx.o.now}})
	return nil
}

// Request implements store.Tx.
func (tx Tx) Request(id uuid.UUID) (store.Request, bool, error) { return tx.o.Request(id) }

// PutRequest implements store.Tx.
func (tx Tx) PutRequest(r store.Request) error {
	tx.o.requests[r.ID] = r
	return nil
}
