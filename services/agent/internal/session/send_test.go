package session

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestAMessageThatNamesItsQuestion: it answers that question or is refused, and comes before what waits, which would close the question (C32).
func TestAMessageThatNamesItsQuestion(t *testing.T) {
	t.Parallel()
	asked := New()
	asked.Question = Question{ID: "q2", Expires: time.Unix(1, 0)}
	asked.Queue = []string{"older"}
	m := Machine{Limits: DefaultLimits()}
	got, _, err := m.Apply(asked, Sent{ID: "m", Mode: Queue, Question: "q2"})
	if err != nil || !slices.Equal(got.Queue, []string{"m", "older"}) {
		t.Errorf("%v, %v", got.Queue, err)
	}
	if got, _, err = m.Apply(got, TurnOpened{Turn: "t", Utterance: "u"}); err != nil || got.Question.ID != "" || got.Turn.Running != Working {
		t.Errorf("%+v, %v", got, err)
	}
	if got, _, err := m.Apply(asked, Sent{ID: "m", Mode: Queue}); err != nil || !slices.Equal(got.Queue, []string{"older", "m"}) {
		t.Errorf("without it: %v, %v", got.Queue, err)
	}
	working := New()
	working.Status, working.Turn = InProgress, Turn{Running: Working, ID: "t", Utterance: "u"}
	for name, tt := range map[string]struct {
		state State
		sent  Sent
		says  string
	}{
		"another one is open": {asked, Sent{ID: "m", Mode: Queue, Question: "q1"}, `"q2" is`},
		"none is":             {New(), Sent{ID: "m", Mode: Queue, Question: "q2"}, "no other one is: the session is REQUIRES_USER_INPUT in PLANNING"},
		"it works":            {working, Sent{ID: "m", Mode: Interrupt, TurnID: "t", Question: "q2"}, "the session is IN_PROGRESS"},
	} {
		after, notes, err := m.Apply(tt.state, tt.sent)
		var refused *RefusedError
		if !errors.As(err, &refused) || refused.Code != RefusedQuestion || !strings.Contains(refused.Why, tt.says) {
			t.Errorf("%s: %v", name, err)
		}
		if len(notes) > 0 || len(after.Queue) != len(tt.state.Queue) || after.Question != tt.state.Question {
			t.Errorf("%s: %+v", name, after)
		}
	}
}
