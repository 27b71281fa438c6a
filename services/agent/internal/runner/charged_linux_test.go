package runner

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/tsumugi-dev/tsumugi/services/agent/internal/ledger"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/session"
)

// budget lets the model be called so often in the session.
func (r *rig) budget(id string, calls int) {
	r.Helper()
	_, err := r.Engine.Ledger.Update(r.Context(), ns, id, "", ann, func(s *ledger.Session) error { s.Budgets.SessionModelCalls = calls; return nil })
	r.ok(err)
}

// slow is a runner with a session, "s", whose model answers when it is told to.
func slow(t *testing.T, together time.Duration, budget int) (*rig, *gated) {
	t.Helper()
	g := newGated()
	r := newRig(t, g.ask)
	r.Engine.Limits.Together = together
	r.create("s")
	r.budget("s", budget)
	r.start(r.process)
	return r, g
}

// overspent: the session rests, since its budget is spent, and the model was asked as often as that allows.
func (r *rig) overspent(g *gated, calls int) {
	r.Helper()
	r.until("the budget stops the turn", func() bool { return r.get("s").State.Reason == session.ReasonBudget })
	s := r.rests("s")
	if s.Spent.ModelCalls != calls || g.stopped.Load() != int64(calls) || len(g.calls) != 0 || r.rows("s")["refusal ANSWER_OUTDATED"] != calls ||
		!strings.HasPrefix(s.State.LastError, "session_model_calls: ") {
		r.Errorf("%+v, %q, asked %d times, %v", s.Spent, s.State.LastError, g.stopped.Load(), r.rows("s"))
	}
	r.sound("s")
}

// TestInterruptedCallsAreCharged: whoever interrupts the model again and again pays for each call, and it is not asked more often than the session
// allows (C42).
func TestInterruptedCallsAreCharged(t *testing.T) {
	t.Parallel()
	r, g := slow(t, time.Millisecond, 5)
	_, err := r.Send(t.Context(), ns, "s", text("書いて"))
	r.ok(err)
	for range 5 {
		<-g.calls
		m := text("待って")
		m.Mode, m.TurnID = session.Interrupt, r.get("s").State.Turn.ID
		_, err := r.Send(t.Context(), ns, "s", m)
		r.ok(err)
	}
	r.overspent(g, 5)
}

// TestACanceledCallIsCharged once.
func TestACanceledCallIsCharged(t *testing.T) {
	t.Parallel()
	r, g := slow(t, time.Millisecond, 0)
	s, err := r.Send(t.Context(), ns, "s", text("書いて"))
	r.ok(err)
	<-g.calls
	_, err = r.Engine.Cancel(t.Context(), ns, "s", s.State.Turn.ID, ann)
	r.ok(err)
	r.Wake(t.Context(), ns, "s")
	r.until("canceled", func() bool { return r.get("s").State.Lifecycle == session.Canceled })
	if s := r.rests("s"); s.Spent.ModelCalls != 1 || r.rows("s")["refusal ANSWER_OUTDATED"] != 1 {
		t.Errorf("%+v, %+v, %v", s.Spent, s.State, r.rows("s"))
	}
	r.sound("s")
}

// TestCallsOfSendersWhoLeaveAreCharged, though their messages are not stored.
func TestCallsOfSendersWhoLeaveAreCharged(t *testing.T) {
	t.Parallel()
	r, g := slow(t, time.Hour, 3)
	for range 3 {
		ctx, leave := context.WithCancel(t.Context())
		go func() { <-g.calls; leave() }()
		if _, err := r.Send(ctx, ns, "s", text("書いて")); !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
		r.until("nobody drives it", func() bool { return r.atWork() == 0 })
	}
	if s := r.get("s"); s.Turns != 0 || s.Nodes != 0 {
		t.Errorf("a message is stored: %+v", s)
	}
	_, err := r.Send(t.Context(), ns, "s", text("書いて"))
	r.ok(err)
	r.overspent(g, 3)
}

// TestAStopChargesTheCall: a process that is stopped in order while the model answers leaves the charge, and the next one asks anew.
func TestAStopChargesTheCall(t *testing.T) {
	t.Parallel()
	g := newGated()
	r := newRig(t, g.ask)
	r.Engine.Limits.Together = time.Millisecond
	r.create("s")
	stop := r.start(r.process)
	_, err := r.Send(t.Context(), ns, "s", text("書いて"))
	r.ok(err)
	<-g.calls
	stop()
	if s := r.get("s"); s.Spent.ModelCalls != 1 || s.State.Turn.Running != session.Working || r.lease("s").Owner != "" {
		t.Errorf("%+v, %+v, %+v", s.Spent, s.State, r.lease("s"))
	}
	p := r.another(g.ask)
	r.start(p)
	(<-g.calls) <- done
	if s := r.rests("s"); s.State.Status != session.Success || s.Spent.ModelCalls != 2 || s.State.PickUps != 0 {
		t.Errorf("%+v, %+v", s.Spent, s.State)
	}
	r.sound("s")
}
