package session

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestAnsweredAside: whatever the session does, an answer beside it moves nothing, and charges only the turn that it was asked in (C79).
func TestAnsweredAside(t *testing.T) {
	t.Parallel()
	working := Turn{Running: Working, ID: "t1", Utterance: "u1", ModelCalls: 5}
	with := func(change func(*State)) State {
		s := New()
		s.Status, s.Turn = InProgress, working
		change(&s)
		return s
	}
	for name, tt := range map[string]struct {
		state   State
		turn    string
		charged int
	}{
		"a turn":             {with(func(*State) {}), "t1", 1},
		"asked in another":   {with(func(*State) {}), "t0", 0},
		"asked in none":      {with(func(*State) {}), "", 0},
		"the last call":      {with(func(s *State) { s.Turn.ModelCalls = 1 }), "t1", 0},
		"nothing left":       {with(func(s *State) { s.Turn.ModelCalls = 0 }), "t1", 0},
		"no turn any more":   {New(), "t1", 0},
		"an approval waits":  {with(func(s *State) { s.Step, s.Calls = Awaiting, []Call{{ID: "c", Progress: Pending, Approval: "a"}} }), "t1", 1},
		"a question is open": {with(func(s *State) { s.Turn, s.Question = Turn{}, Question{ID: "q", Expires: time.Unix(1, 0)} }), "", 0},
		"messages wait":      {with(func(s *State) { s.Queue = []string{"m"} }), "t1", 1},
		"canceling":          {with(func(s *State) { s.Lifecycle, s.Turn = Canceling, Turn{} }), "t1", 0},
	} {
		want := tt.state
		want.Turn.ModelCalls -= tt.charged
		want.Spent += tt.charged
		got, notes, err := Machine{Limits: DefaultLimits()}.Apply(tt.state, AnsweredAside{Turn: tt.turn})
		if err != nil || len(notes) != 0 {
			t.Errorf("%s: %v, %+v", name, err, notes)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
	var refused *RefusedError
	if _, _, err := (Machine{}).Apply(with(func(s *State) { s.Lifecycle = Failed }), AnsweredAside{}); !errors.As(err, &refused) {
		t.Errorf("a broken record: %v", err)
	}
}

// TestDiscarded: an answer that is not taken moves nothing, and charges the turn that it was asked in, its last call too (C42).
func TestDiscarded(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		turn             Turn
		asked            string
		charged, stopped bool
	}{
		"its turn":         {turn: Turn{Running: Working, ID: "t1", Utterance: "u1", ModelCalls: 5}, asked: "t1", charged: true},
		"its last call":    {turn: Turn{Running: Working, ID: "t1", Utterance: "u1", ModelCalls: 1}, asked: "t1", charged: true, stopped: true},
		"nothing left":     {turn: Turn{Running: Working, ID: "t1", Utterance: "u1"}, asked: "t1", stopped: true},
		"another turn":     {turn: Turn{Running: Working, ID: "t2", Utterance: "u1", ModelCalls: 5}, asked: "t1"},
		"no turn any more": {asked: "t1"},
		"never a turn":     {},
	} {
		s := New()
		if s.Turn = tt.turn; s.Turn.ID != "" {
			s.Status = InProgress
		}
		want := s
		if tt.charged {
			want.Turn.ModelCalls, want.Turn.Discarded, want.Spent = s.Turn.ModelCalls-1, 1, 1
		}
		m := Machine{Limits: DefaultLimits()}
		got, notes, err := m.Apply(s, Discarded{Turn: tt.asked})
		if err != nil || len(notes) != 0 {
			t.Errorf("%s: %v, %+v", name, err, notes)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		if stops := m.Next(got, time.Unix(1, 0)).Duty == StopBudget; stops != tt.stopped {
			t.Errorf("%s: it stops: %v", name, stops)
		}
	}
}
