package library_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/google/uuid"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/flow"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/library"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store/memory"
	"github.com/tsumugi-dev/tsumugi/services/internal/etag"
)

// butUndone leaves out what undoing does not bring back.
var butUndone = cmp.Options{cmpopts.IgnoreFields(flow.Flow{}, "Updated", "Next"), cmpopts.EquateEmpty()}

func (w drawn) undo(t *testing.T, redo bool) library.Undone {
	t.Helper()
	u, err := w.l.Undo(t.Context(), ns, w.op(), redo)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(w.read(t), u.Flow); diff != "" {
		t.Errorf("the answer is not what is stored: %s", diff)
	}
	return u
}

// Every change goes back to the empty flow and comes again, whatever the operation.
func TestUndoAndRedo(t *testing.T) {
	t.Parallel()
	w := draw(t, open())
	ctx := t.Context()
	steps := []func() (flow.Flow, error){
		func() (flow.Flow, error) { return w.l.Connect(ctx, ns, w.joined(w.c, w.d, "雨")) },
		func() (flow.Flow, error) {
			return w.l.Branch(ctx, ns, library.Branching{Operation: w.op(), Node: w.d, Name: "雨"})
		},
		func() (flow.Flow, error) {
			return w.l.Remove(ctx, ns, library.Removal{Operation: w.op(), Node: w.b, Mode: flow.Splice})
		},
		func() (flow.Flow, error) {
			return w.l.Rebuild(ctx, ns, library.Rebuilding{Operation: w.op(), Nodes: []uuid.UUID{w.e, w.x, w.a}})
		},
		func() (flow.Flow, error) {
			return w.l.Remove(ctx, ns, library.Removal{Operation: w.op(), Node: w.a, Mode: flow.Subtree})
		},
		func() (flow.Flow, error) {
			return w.l.UpdateFlow(ctx, ns, library.Update{Flow: w.flow, Words: flow.Flow{Name: "other"}, Fields: []string{"display_name"}})
		},
	}
	states := []flow.Flow{w.read(t)}
	for _, step := range steps {
		f, err := step()
		if err != nil {
			t.Fatal(err)
		}
		states = append(states, f)
	}
	drawnSteps := 5 // The nodes of draw.
	for i := len(steps) - 1; i >= 0; i-- {
		u := w.undo(t, false)
		if diff := cmp.Diff(states[i], u.Flow, butUndone); diff != "" {
			t.Errorf("step %d: %s", i, diff)
		}
		if u.Undoable != drawnSteps+i || u.Redoable != len(steps)-i {
			t.Errorf("%d and %d steps are left behind %d", u.Undoable, u.Redoable, i)
		}
	}
	for range drawnSteps {
		w.undo(t, false)
	}
	if f := w.read(t); len(f.Members) > 0 || f.Current != 0 {
		t.Errorf("of the flow is left %+v", f)
	}
	_, err := w.l.Undo(ctx, ns, w.op(), false)
	expect(t, &library.NoStepError{Flow: w.flow}, err)
	for range drawnSteps {
		w.undo(t, true)
	}
	for i := range steps {
		u := w.undo(t, true)
		if diff := cmp.Diff(states[i+1], u.Flow, butUndone); diff != "" {
			t.Errorf("step %d, done again: %s", i, diff)
		}
	}
	_, err = w.l.Undo(ctx, ns, w.op(), true)
	expect(t, &library.NoStepError{Flow: w.flow, Redo: true}, err)
	if got := w.undo(t, false).Step.Done.Told(); got != "name changed" {
		t.Errorf("undone was %q", got)
	}
}

// A new change takes away what could be done again; moving the reader's place is none.
func TestNewChangeCutsRedo(t *testing.T) {
	t.Parallel()
	w := draw(t, open())
	w.undo(t, false)
	if _, err := w.l.SetCurrent(t.Context(), ns, w.flow, w.a); err != nil {
		t.Fatal(err)
	}
	if u := w.undo(t, true); u.Redoable != 0 || u.Undoable != 5 || u.Flow.Current != 1 {
		t.Errorf("%+v", u)
	}
	w.undo(t, false)
	add(t, w.l, w.flow, "new")
	_, err := w.l.Undo(t.Context(), ns, w.op(), true)
	expect(t, &library.NoStepError{Flow: w.flow, Redo: true}, err)
}

func TestUndoOnceAndWithAnEtag(t *testing.T) {
	t.Parallel()
	w := draw(t, open())
	ctx := t.Context()
	op := library.Operation{Flow: w.flow, Etag: "old", Request: id(5000)}
	_, err := w.l.Undo(ctx, ns, op, false)
	expect(t, &etag.StaleError{Name: flow.Name(w.flow), Given: "old", Current: w.read(t).Etag()}, err)
	op.Etag = w.read(t).Etag()
	for range 2 {
		u, err := w.l.Undo(ctx, ns, op, false)
		if err != nil || u.Undoable != 4 || u.Redoable != 1 || len(u.Flow.Members) != 4 {
			t.Errorf("%+v %v", u, err)
		}
	}
	_, err = w.l.Undo(ctx, ns, op, true)
	expect(t, &library.RequestReusedError{Request: op.Request}, err)
	_, err = w.l.Undo(ctx, ns, library.Operation{Flow: id(901)}, false)
	expect(t, &library.NotFoundError{Kind: store.KindFlow, ID: id(901)}, err)
}

// An edit by hand that stands in the way refuses, with what differs; one elsewhere does not, and stays.
func TestUndoBesideHands(t *testing.T) {
	t.Parallel()
	s := memory.New(clock)
	w := draw(t, library.New(s, &counting{}))
	rename := func(name string) {
		t.Helper()
		if _, err := w.l.UpdateFlow(t.Context(), ns, library.Update{Flow: w.flow, Words: flow.Flow{Name: name}, Fields: []string{"display_name"}}); err != nil {
			t.Fatal(err)
		}
	}
	// hand changes the flow and is no step, as an edit of its file is not.
	hand := func(c flow.Change) {
		t.Helper()
		err := s.Update(t.Context(), ns, func(tx store.Tx) error { return tx.MoveStep(w.flow, store.Step{}, c) })
		if err != nil {
			t.Fatal(err)
		}
	}
	rename("雨")
	text := "by hand"
	hand(flow.Change{Description: &text})
	if u := w.undo(t, false); u.Flow.Name != "n" || u.Flow.Description != text {
		t.Errorf("%+v", u.Flow)
	}
	w.undo(t, true)
	hand(flow.Change{Name: &text})
	before := w.read(t)
	_, err := w.l.Undo(t.Context(), ns, w.op(), false)
	refused, cause := (*library.UndoRefusedError)(nil), (*flow.UndoError)(nil)
	if !errors.As(err, &refused) || !errors.As(refused.Cause, &cause) {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]flow.Moved{{Key: "the name", Left: `"雨"`, Now: `"by hand"`}}, cause.Moved); diff != "" {
		t.Error(diff)
	}
	const says = `the change of 2025-05-09 06:48:06 +00:00 (name changed) cannot be undone: ` +
		`flows/00000000-0000-7000-8000-0000000003e8 was edited since, which cannot be kept: the name was left "雨" and is "by hand" now`
	if err.Error() != says {
		t.Errorf("it says %s", err)
	}
	if diff := cmp.Diff(before, w.read(t)); diff != "" {
		t.Error(diff)
	}
}

// A node that was deleted since does not come back into a flow as a name of nothing.
func TestUndoNeedsTheNodes(t *testing.T) {
	t.Parallel()
	w := draw(t, open())
	ctx := t.Context()
	if _, err := w.l.Remove(ctx, ns, library.Removal{Operation: w.op(), Node: w.b, Mode: flow.Splice}); err != nil {
		t.Fatal(err)
	}
	if got := edges(w.read(t)); got != "1-3" {
		t.Errorf("edges %s", got)
	}
	if _, err := w.l.Delete(ctx, ns, library.Deletion{Node: w.b}); err != nil {
		t.Fatal(err)
	}
	_, err := w.l.Undo(ctx, ns, w.op(), false)
	if missing := (*library.NotFoundError)(nil); !errors.As(err, &missing) || missing.ID != w.b || missing.Deleted.IsZero() {
		t.Fatal(err)
	}
	if _, err := w.l.UndeleteNode(ctx, ns, library.Return{ID: w.b}); err != nil {
		t.Fatal(err)
	}
	w.undo(t, false)
	if got := edges(w.read(t)); got != "1-2 2-3" {
		t.Errorf("edges %s", got)
	}
	// The other way round: what was taken back cannot come again when it was deleted meanwhile.
	w.undo(t, false) // e
	if _, err := w.l.Delete(ctx, ns, library.Deletion{Node: w.e}); err != nil {
		t.Fatal(err)
	}
	_, err = w.l.Undo(ctx, ns, w.op(), true)
	if missing := (*library.NotFoundError)(nil); !errors.As(err, &missing) || missing.ID != w.e {
		t.Error(err)
	}
}

// The steps of a flow come back with it from the trash.
func TestUndoOfADeletedFlow(t *testing.T) {
	t.Parallel()
	w := draw(t, open())
	ctx := t.Context()
	if _, err := w.l.DeleteFlow(ctx, ns, w.op()); err != nil {
		t.Fatal(err)
	}
	_, err := w.l.Undo(ctx, ns, w.op(), false)
	if missing := (*library.NotFoundError)(nil); !errors.As(err, &missing) || missing.Deleted.IsZero() {
		t.Error(err)
	}
	if _, err := w.l.UndeleteFlow(ctx, ns, library.Return{ID: w.flow}); err != nil {
		t.Fatal(err)
	}
	if u := w.undo(t, false); u.Undoable != 4 {
		t.Errorf("%+v", u)
	}
}
