package library

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/google/uuid"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/flow"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store"
	"github.com/tsumugi-dev/tsumugi/services/internal/etag"
)

// Undone is a flow after a change of it was undone, or done again.
type Undone struct {
	Flow flow.Flow
	// Step is the change that was; zero where the request was answered before.
	Step store.Step
	// Undoable and Redoable are how many changes can be undone, and done again, from here.
	Undoable, Redoable int
}

// NoStepError says that there is nothing to undo, or to do again.
type NoStepError struct {
	Flow uuid.UUID
	Redo bool
}

func (e *NoStepError) Error() string {
	if e.Redo {
		return fmt.Sprintf("nothing of %s was undone since it changed last", flow.Name(e.Flow))
	}
	return fmt.Sprintf("%s has no change that can be undone; the last %d are kept", flow.Name(e.Flow), store.MaxSteps)
}

// UndoRefusedError says why a change cannot be undone, or done again.
type UndoRefusedError struct {
	Flow uuid.UUID
	Redo bool
	Step store.Step
	// Cause is a *flow.UndoError, what flow.Flow.Check refuses, or a *store.PurgedError. It is no error of the request, and so not
	// unwrapped.
	Cause error
}

func (e *UndoRefusedError) Error() string {
	ever := ""
	if errors.As(e.Cause, new(*store.PurgedError)) {
		ever = " any more, nor any " + beyond(e.Redo)
	}
	return fmt.Sprintf("the change of %s (%s) cannot be %s%s: %v", e.Step.At.Format("2006-01-02 15:04:05 -07:00"), e.Step.Done.Told(), done(e.Redo), ever, e.Cause)
}

func done(again bool) string {
	if again {
		return "done again"
	}
	return "undone"
}

// beyond says where the changes are that are reached only through a change.
func beyond(again bool) string {
	if again {
		return "after it"
	}
	return "before it"
}

// Undo takes back the last change of a flow that stands, or, with redo, does again the one that was undone last. The reader's
// place alone is no change. What a deletion took to the trash comes out of it, and goes there again when the deletion is done again,
// unless a flow holds it then. Other nodes that come back into the flow must be stored. *NotFoundError, *UnreadableError,
// *store.PurgedError for the flow, *RequestReusedError, *etag.StaleError, *NoStepError, *UndoRefusedError.
func (l *Library) Undo(ctx context.Context, ns string, op Operation, redo bool) (Undone, error) {
	call := "Undo"
	if redo {
		call = "Redo"
	}
	var undone Undone
	before, err := l.once(ctx, ns, asked{call, op.Request, op}, op.Flow, func(tx store.Tx) error {
		f, err := tx.Flow(op.Flow)
		if err != nil {
			return named(store.KindFlow, op.Flow, err)
		}
		if err := etag.Check(flow.Name(f.ID), op.Etag, f.Etag); err != nil {
			return err
		}
		s, err := nextStep(tx, f.ID, redo)
		if err != nil {
			return err
		}
		undone, err = moveStep(tx, f, s)
		return err
	})
	if err == nil && before != nil {
		return l.steps(ctx, ns, op.Flow)
	}
	return undone, err
}

// nextStep gives the step that is next to be undone, or done again.
func nextStep(tx store.Tx, id uuid.UUID, redo bool) (store.Step, error) {
	refs, err := tx.Steps(id)
	if err != nil {
		return store.Step{}, err
	}
	next := slices.IndexFunc(refs, func(r store.StepRef) bool { return r.Undone })
	switch {
	case !redo && next < 0:
		next = len(refs) - 1
	case !redo:
		next--
	}
	if next < 0 {
		return store.Step{}, &NoStepError{Flow: id, Redo: redo}
	}
	s, err := tx.Step(id, refs[next])
	if errors.Is(err, store.ErrNoStep) {
		return s, &NoStepError{Flow: id, Redo: redo}
	}
	return s, err
}

// moveStep undoes a step, or does again one that was undone.
func moveStep(tx store.Tx, f flow.Flow, s store.Step) (Undone, error) {
	redo, before := s.Undone, s
	left, back := s.Done, s.Back
	if redo {
		left, back = s.Back, s.Done
	}
	refused := func(cause error) error { return &UndoRefusedError{Flow: f.ID, Redo: redo, Step: before, Cause: cause} }
	c, err := f.TakingBack(left, back)
	if err != nil {
		return Undone{}, refused(err)
	}
	if err := bringBack(tx, flow.NodesOf(slices.Concat(c.Restore, c.Add)), left.Trashed, refused); err != nil {
		return Undone{}, err
	}
	c.At = tx.Now()
	inverse := flow.Invert(f, c)
	if redo {
		s.Done, s.Back = c, inverse
	} else {
		inverse.Trashed = left.Trashed
		s.Done, s.Back = inverse, c
	}
	s.Undone = !redo
	if err := tx.MoveStep(f.ID, s, c); err != nil {
		return Undone{}, named(store.KindFlow, f.ID, err)
	}
	if err := trashAgain(tx, c.Trashed); err != nil {
		return Undone{}, err
	}
	undone, err := countSteps(tx, f.ID)
	if err != nil {
		return Undone{}, err
	}
	undone.Flow, err = tx.Flow(f.ID)
	undone.Step = before
	if redo {
		undone.Step = s
	}
	return undone, err
}

// bringBack takes those nodes out of the trash that a deletion put there, and tells which of all are not stored; which of them
// were purged in the words of gone.
func bringBack(tx store.Tx, nodes, trashed []uuid.UUID, gone func(error) error) error {
	goes := setOf(trashed)
	var refused []error
	for _, id := range nodes {
		err := store.ErrNotDropped
		if goes[id] {
			err = tx.Restore(store.Thing{Kind: store.KindNode, ID: id})
		}
		if errors.Is(err, store.ErrNotDropped) {
			err = allStored(tx, []uuid.UUID{id})
		}
		err = named(store.KindNode, id, err)
		if _, _, one := problemOf(err); err != nil && !one {
			return err
		}
		if errors.As(err, new(*store.PurgedError)) {
			err = gone(err)
		}
		refused = append(refused, err)
	}
	return together(refused...)
}

// trashAgain puts those nodes into the trash that are stored and that no flow holds.
func trashAgain(tx store.Tx, nodes []uuid.UUID) error {
	var loose []uuid.UUID
	for _, id := range nodes {
		there, err := tx.HasNode(id)
		if err != nil {
			return err
		}
		if !there {
			continue
		}
		holding, err := tx.FlowsOf(id)
		if err != nil {
			return err
		}
		if len(holding) == 0 {
			loose = append(loose, id)
		}
	}
	return drop(tx, loose)
}

// countSteps counts the steps each way.
func countSteps(tx store.Tx, id uuid.UUID) (u Undone, err error) {
	refs, err := tx.Steps(id)
	for _, r := range refs {
		if r.Undone {
			u.Redoable++
		} else {
			u.Undoable++
		}
	}
	return u, err
}

// steps gives a flow as it is now, and the steps each way.
func (l *Library) steps(ctx context.Context, ns string, id uuid.UUID) (u Undone, err error) {
	err = l.store.Update(ctx, ns, func(tx store.Tx) error {
		f, err := tx.Flow(id)
		if err != nil {
			return named(store.KindFlow, id, err)
		}
		u, err = countSteps(tx, id)
		u.Flow = f
		return err
	})
	return u, err
}
