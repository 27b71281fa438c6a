package storetest

import (
	"errors"
	"slices"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/flow"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store"
)

func stepCases() []testCase {
	return []testCase{
		{Steps, "a change is kept with what takes it back, one of the place alone is not", func(e *env) {
			before := e.createFlow("f", "a", "b")
			current := 1
			e.change(flow.Change{Current: &current})
			after := e.change(flow.Change{Connect: []flow.Edge{{From: 1, To: 2, Name: "n"}}})
			steps := e.steps()
			e.same(1, len(steps))
			e.same(before.Edges, after.Apply(steps[0].Back).Edges)
			e.same(after.Edges, before.Apply(steps[0].Done).Edges)
			e.same(after.Updated.UnixMicro(), steps[0].At.UnixMicro())
		}},
		{Steps, "undone, done again, and cut off by a new change", movesSteps},
		{Steps, "steps of another flow, and of one that is not there, are others", func(e *env) {
			e.createFlow("f", "a")
			e.createFlow("g", "b")
			e.change(flow.Change{Add: []flow.Member{{Index: 2, Node: id("b")}}})
			e.must(e.update(func(tx store.Tx) error {
				mine, err := tx.Steps(id("f"))
				e.must(err)
				theirs, err := tx.Steps(id("g"))
				e.same([]int{1, 0}, []int{len(mine), len(theirs)})
				_, errStep := tx.Step(id("g"), mine[0])
				e.is(errStep, store.ErrNoStep)
				e.is(tx.MoveStep(id("none"), store.Step{}, flow.Change{}), store.ErrFlowNotFound)
				return err
			}))
		}},
		{Steps, "the last ones are kept", func(e *env) {
			e.createFlow("f", "a", "b")
			for range store.MaxSteps/2 + 2 {
				e.change(flow.Change{Connect: []flow.Edge{{From: 1, To: 2}}})
				e.change(flow.Change{Disconnect: []flow.Edge{{From: 1, To: 2}}})
			}
			e.same(store.MaxSteps, len(e.steps()))
		}},
		{Steps, "the function sees the step that it made, and a refused one is none", func(e *env) {
			e.createFlow("f", "a", "b")
			connect := flow.Change{At: start, Connect: []flow.Edge{{From: 1, To: 2}}}
			e.is(e.update(func(tx store.Tx) error { return errors.Join(tx.ChangeFlow(id("f"), connect), errRefused) }), errRefused)
			e.must(e.update(func(tx store.Tx) error {
				e.must(tx.ChangeFlow(id("f"), connect))
				refs, err := tx.Steps(id("f"))
				e.same(1, len(refs))
				s, errStep := tx.Step(id("f"), refs[0])
				return errors.Join(err, errStep, tx.MoveStep(id("f"), undone(s), s.Back))
			}))
			e.same(0, len(e.flow("f").Edges))
			e.same(true, e.steps()[0].Undone)
		}},
	}
}

// steps reads all steps of the flow f.
func (e *env) steps() (steps []store.Step) {
	e.Helper()
	e.must(e.update(func(tx store.Tx) error {
		refs, err := tx.Steps(id("f"))
		steps = nil
		for _, ref := range refs {
			s, errStep := tx.Step(id("f"), ref)
			steps = append(steps, s)
			err = errors.Join(err, errStep)
		}
		return err
	}))
	return steps
}

func undone(s store.Step) store.Step {
	s.Undone = true
	return s
}

func movesSteps(e *env) {
	e.createFlow("f", "a", "b")
	e.change(flow.Change{Connect: []flow.Edge{{From: 1, To: 2, Name: "n"}}})
	e.change(flow.Change{Disconnect: []flow.Edge{{From: 1, To: 2}}})
	move := func(i int, undone bool) {
		s := e.steps()[i]
		c := s.Done
		if undone {
			c = s.Back
		}
		e.must(e.update(func(tx store.Tx) error {
			s.Undone, c.At = undone, tx.Now()
			return tx.MoveStep(id("f"), s, c)
		}))
	}
	isUndone := func() (list []bool) {
		for _, s := range e.steps() {
			list = append(list, s.Undone)
		}
		return list
	}
	move(1, true)
	e.same([]bool{false, true}, isUndone())
	e.same([]flow.Edge{{From: 1, To: 2, Name: "n"}}, e.flow("f").Edges)
	move(0, true)
	e.same([]bool{true, true}, isUndone())
	e.same(0, len(e.flow("f").Edges))
	move(0, false)
	if e.engine.Persists {
		e.reopen()
	}
	e.same([]bool{false, true}, isUndone())
	first := e.steps()[0].Number
	e.change(flow.Change{Connect: []flow.Edge{{From: 1, To: 2, Name: "m"}}})
	e.same([]bool{false, false}, isUndone())
	if !slices.IsSortedFunc(e.steps(), func(a, b store.Step) int { return int(a.Number - b.Number) }) || e.steps()[0].Number != first {
		e.Errorf("steps %+v", e.steps())
	}
}
