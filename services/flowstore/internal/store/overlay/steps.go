package overlay

import (
	"slices"

	"github.com/google/uuid"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store"
)

// LastStep implements Reader.
func (o *Overlay) LastStep() int64 { return o.base.LastStep() + int64(o.madeSteps) }

// Steps implements Reader.
func (o *Overlay) Steps(flow uuid.UUID) ([]store.StepRef, error) {
	refs, err := o.base.Steps(flow)
	for _, op := range o.ops {
		if op.Change != nil && op.Change.Flow == flow && op.Change.Step != nil {
			refs = op.Change.steps(refs)
		}
	}
	return refs, err
}

// steps gives the steps of a flow after a change of it.
func (c *Change) steps(before []store.StepRef) []store.StepRef {
	if !c.New {
		after := slices.Clone(before)
		if at := slices.IndexFunc(after, func(r store.StepRef) bool { return r.Number == c.Step.Number }); at >= 0 {
			after[at] = c.Step.StepRef
		}
		return after
	}
	after := slices.DeleteFunc(slices.Clone(before), func(r store.StepRef) bool { return r.Undone })
	return append(after, c.Step.StepRef)
}

// Step implements Reader.
func (o *Overlay) Step(flow uuid.UUID, ref store.StepRef) (store.Step, error) {
	for _, op := range slices.Backward(o.ops) {
		if c := op.Change; c != nil && c.Flow == flow && c.Step != nil && c.Step.Number == ref.Number {
			return *c.Step, nil
		}
	}
	return o.base.Step(flow, ref)
}
