package files

import (
	"encoding/json"
	"errors"

	"github.com/google/uuid"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store/files/commitlog"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store/overlay"
)

// LastStep implements overlay.Reader.
func (b *batch) LastStep() int64 { return b.lastStep }

// Steps implements overlay.Reader.
func (b *batch) Steps(flow uuid.UUID) ([]store.StepRef, error) {
	refs, err := b.local.Steps(flow)
	return refs[max(0, len(refs)-store.MaxSteps):], err // The oldest go now and then.
}

// Step implements overlay.Reader.
func (b *batch) Step(flow uuid.UUID, ref store.StepRef) (store.Step, error) {
	kept, ok, err := b.local.Step(flow, ref.Number)
	if err != nil {
		return store.Step{}, err
	}
	if !ok {
		return store.Step{}, store.ErrNoStep
	}
	s := store.Step{StepRef: store.StepRef{Number: kept.Number, Undone: kept.Undone}, At: kept.At}
	return s, errors.Join(json.Unmarshal(kept.Done, &s.Done), json.Unmarshal(kept.Back, &s.Back))
}

// step adds the step of a change to the transaction; body is the change.
func (r *recording) step(c overlay.Change, body []byte) {
	if c.Step == nil {
		return
	}
	done := body
	if !c.New {
		done, _ = json.Marshal(c.Step.Done) // Plain data, as it was when it was made.
	}
	back, _ := json.Marshal(c.Step.Back)
	r.changes.Steps = append(r.changes.Steps, commitlog.Step{
		Flow: c.Flow, Number: c.Step.Number, Undone: c.Step.Undone, At: c.Step.At, New: c.New, Done: done, Back: back,
	})
}
