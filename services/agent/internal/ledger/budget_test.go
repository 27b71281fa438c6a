package ledger

import (
	"testing"
	"time"

	"github.com/tsumugi-dev/tsumugi/services/agent/internal/session"
)

// TestWorkedUntil: a session works while its turn does, and not while it waits for a person, for a folder, for its client, or is being stopped.
func TestWorkedUntil(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	begun := []session.Call{{ID: "c", Progress: session.Intent}}
	for name, tt := range map[string]struct {
		s    Session
		want time.Duration
	}{
		"no turn":          {Session{}, time.Minute},
		"a turn":           {Session{State: session.State{Turn: session.Turn{Running: session.Working}}}, 3 * time.Minute},
		"a decision":       {Session{State: session.State{Turn: session.Turn{Running: session.Waiting}}}, time.Minute},
		"a folder":         {Session{State: session.State{Turn: session.Turn{Running: session.Parked}}}, time.Minute},
		"an interrupt":     {Session{State: session.State{Turn: session.Turn{Running: session.Stopping}}}, time.Minute},
		"a call of ours":   {Session{State: session.State{Turn: session.Turn{Running: session.Working}, Calls: begun}, Calls: map[string]Call{"c": {Tool: "write"}}}, 3 * time.Minute},
		"a client's call":  {Session{State: session.State{Turn: session.Turn{Running: session.Working}, Calls: begun}, Calls: map[string]Call{"c": {Tool: "sky", Client: at.Add(time.Minute)}}}, time.Minute},
		"a clock gone bad": {Session{State: session.State{Turn: session.Turn{Running: session.Working}}, Updated: at.Add(time.Hour)}, time.Minute},
	} {
		s := tt.s
		s.State.Lifecycle, s.Talk.Worked = session.Open, time.Minute
		if s.Updated.IsZero() {
			s.Updated = at.Add(-2 * time.Minute)
		}
		if got := s.WorkedUntil(at); got != tt.want {
			t.Errorf("%s: %s, want %s", name, got, tt.want)
		}
	}
}

// TestLeft: the narrowest budget counts, and nothing is ever less than none.
func TestLeft(t *testing.T) {
	t.Parallel()
	s := Session{State: session.State{Spent: 3, Turn: session.Turn{Running: session.Working, ModelCalls: 17}}, Talk: Talk{ToolCalls: 4}, Spent: Spent{ModelCalls: 8, ToolCalls: 9}}
	for _, tt := range []struct {
		b            Budgets
		model, tools int
	}{
		{Budgets{}, 17, 60}, {Budgets{MessageModelCalls: 5, MessageToolCalls: 6}, 2, 2}, {Budgets{SessionModelCalls: 9, SessionToolCalls: 12}, 1, 3},
		{Budgets{MessageModelCalls: 2, SessionToolCalls: 1}, 0, 0},
	} {
		if s.Budgets = tt.b; s.ModelCallsLeft() != tt.model || s.ToolCallsLeft(64) != tt.tools {
			t.Errorf("%+v: %d and %d", tt.b, s.ModelCallsLeft(), s.ToolCallsLeft(64))
		}
	}
}
