package store

import (
	"time"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/flow"
)

// MaxSteps is how many changes of a flow can be undone, and MaxStepBytes how much their records may take together, the last one
// excepted.
const (
	MaxSteps     = 200
	MaxStepBytes = 16 << 20
)

// StepRef is a change of a flow that can be undone, or done again.
type StepRef struct {
	// Number rises from step to step, over the whole namespace.
	Number int64
	// Undone says that it was undone: it is the next to be done again where it is the first of those.
	Undone bool
}

// Step is a StepRef with what it is.
type Step struct {
	StepRef
	// At is when the change was made.
	At time.Time
	// Done is the change, and Back what takes it back; for a step that was undone, Back is what was done last.
	Done, Back flow.Change
}
