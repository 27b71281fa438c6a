package turn

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tsumugi-dev/tsumugi/services/agent/internal/audit"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/ledger"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/policy"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/session"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/store"
	"github.com/tsumugi-dev/tsumugi/services/internal/llm"
)

// meanwhile is a model while whose first answer something happens.
type meanwhile struct {
	*says
	happens func()
}

func (m *meanwhile) Generator(string) (llm.Generator, error) { return m, nil }

func (m *meanwhile) Generate(ctx context.Context, r llm.Request) (llm.Stream, error) {
	if m.happens != nil {
		m.happens()
		m.happens = nil
	}
	return m.says.Generate(ctx, r)
}

// TestAnAnswerToWhatIsNoMore: where a person changes the five items or the settings while the model answers, nothing of the answer is taken, its call is
// charged, and it is asked again with what is so now.
func TestAnAnswerToWhatIsNoMore(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(s *ledger.Session){
		"a constraint": func(s *ledger.Session) { s.Items.Constraints = []string{"b.md に触れない"} },
		"the goal":     func(s *ledger.Session) { s.Items.Goal = "港の話" },
		"the language": func(s *ledger.Session) { s.Locale = "en" },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			r.Models = &meanwhile{r.model, func() {
				_, err := r.Ledger.Update(t.Context(), ns, id, "", ann, func(s *ledger.Session) error {
					change(s)
					return nil
				})
				r.ok(err)
			}}
			s := r.send("書いて", say("PLANNING", "done", "state_delta", map[string]any{"goal": "昔の目標"}), say("PLANNING", "done"))
			want := r.now()
			change(&want)
			if len(r.model.asked) != 2 || s.Items.Goal != want.Items.Goal || s.State.Status != session.Success || s.State.Spent != 2 || s.Spent.ModelCalls != 2 {
				t.Errorf("asked %d times, %+v, %+v, %+v", len(r.model.asked), s.Items, s.State, s.Spent)
			}
			if rows := r.outdated(); rows != 1 {
				t.Errorf("%d rows tell of an answer that was not taken", rows)
			}
			if again := r.prompts.built[1].Session; again.Items.Goal != want.Items.Goal || again.Locale != want.Locale || len(again.Items.Constraints) != len(want.Items.Constraints) {
				t.Errorf("it was asked again about %+v", again)
			}
			r.sound()
		})
	}
}

// outdated counts the rows that tell of an answer that was not taken.
func (r *rig) outdated() (n int) {
	r.Helper()
	for row, err := range r.Ledger.Rows(r.Context(), ns, id, 1) {
		r.ok(err)
		if row.Verdict == AnswerOutdated && row.Kind == audit.Refusal && row.Turn != "" {
			n++
		}
	}
	return n
}

// restless is a model during each of whose answers something happens.
type restless struct {
	*says
	happens func()
}

func (m *restless) Generator(string) (llm.Generator, error) { return m, nil }

func (m *restless) Generate(ctx context.Context, r llm.Request) (llm.Stream, error) {
	m.happens()
	return m.says.Generate(ctx, r)
}

// saved has somebody save the five items, other ones each time.
func (r *rig) saved() func() {
	n := 0
	return func() {
		_, err := r.Ledger.Update(r.Context(), ns, id, "", ann, func(s *ledger.Session) error {
			n++
			s.Items.WhyNow = strings.Repeat("i", n)
			return nil
		})
		r.ok(err)
	}
}

// TestAnswersThatAreNeverTaken: a session that is changed during every answer costs its budget, and its turn ends with it and says why (C42). The next message
// finds all of its budget.
func TestAnswersThatAreNeverTaken(t *testing.T) {
	t.Parallel()
	const none = "message_model_calls: the budget of model calls is spent, %d of %[1]d; answers that were not taken, since the session was changed or its work stopped while the model gave them: %[1]d"
	for name, tt := range map[string]struct {
		budgets ledger.Budgets
		most    int
		why     string
	}{
		"of the service": {ledger.Budgets{}, 20, fmt.Sprintf(none, 20)},
		"of the message": {ledger.Budgets{MessageModelCalls: 3}, 3, fmt.Sprintf(none, 3)},
		"of the session": {ledger.Budgets{SessionModelCalls: 2}, 2, strings.Replace(fmt.Sprintf(none, 2), "message", "session", 1)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			r.budget(tt.budgets)
			r.model.script = []string{say("PLANNING", "done")}
			r.Models = &restless{r.model, r.saved()}
			s := r.send("書いて")
			r.overspent(s, tt.why)
			if len(r.model.asked) != tt.most || s.State.Spent != tt.most || s.Spent.ModelCalls != tt.most || r.outdated() != tt.most {
				t.Errorf("asked %d times, %d and %d charged, %d rows", len(r.model.asked), s.State.Spent, s.Spent.ModelCalls, r.outdated())
			}
			r.budget(ledger.Budgets{})
			r.Models = r.model
			if s := r.send("もう一度"); s.State.Reason != session.ReasonDone || s.State.Spent != 1 {
				t.Errorf("%+v", s.State)
			}
		})
	}
}

// TestAFirstAnswerThatIsNotTaken: the call of the answer to a message that opened no turn, since another one came first, is charged to the session alone.
func TestAFirstAnswerThatIsNotTaken(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.Limits.Together = time.Minute
	r.Models = &meanwhile{r.model, r.saved()}
	r.model.script = []string{say("PLANNING", "done")}
	var told error
	_, err := r.Converse(t.Context(), t.Context(), ns, id, r.message(approver("ann"), "書いて"), func(_ Receipt, err error) { told = err })
	r.ok(errors.Join(err, told))
	if s := r.now(); len(r.model.asked) != 2 || s.State.Reason != session.ReasonDone || s.State.Spent != 1 || s.Spent.ModelCalls != 2 || r.outdated() != 1 {
		t.Errorf("asked %d times, %+v, %+v, %d rows", len(r.model.asked), s.State, s.Spent, r.outdated())
	}
	r.sound()
}

// TestAMessageThatIsRefusedAfterTheCall: the model is paid for also where another message has taken the id while it answered.
func TestAMessageThatIsRefusedAfterTheCall(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.Limits.Together = time.Minute
	r.Prompts = &between{r.Prompts, sync.OnceFunc(func() {
		_, err := r.Send(t.Context(), ns, id, r.withID("m1", "別の話"))
		r.ok(err)
	})}
	r.model.lines = []string{enough}
	if _, err := r.conversed(r.withID("m1", "書いて")); !errors.Is(err, store.ErrTaken) {
		t.Fatal(err)
	}
	if s := r.now(); len(r.model.asked) != 1 || s.Spent.ModelCalls != 1 || s.State.Spent != 0 || r.outdated() != 1 || len(s.State.Queue) != 1 {
		t.Errorf("asked %d times, %+v, %+v, %d rows", len(r.model.asked), s.State, s.Spent, r.outdated())
	}
	r.sound()
}

// TestADutyThatIsRefused: a state in which what is to be done next is refused ends the session, and no model is called for ever without a charge.
func TestADutyThatIsRefused(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.send0("書いて")
	r.ok(r.open(t.Context(), ns, id))
	_, err := r.Ledger.Update(t.Context(), ns, id, "", ann, func(s *ledger.Session) error {
		s.State.Status = session.RequiresInput // No answer is waited for, and the model is to be called.
		return nil
	})
	r.ok(err)
	r.model.script = []string{say("PLANNING", "done")}
	_, err = r.Drive(t.Context(), ns, id)
	if err == nil || !strings.Contains(err.Error(), "CALL_MODEL was to be done next in step PLANNING, REQUIRES_USER_INPUT, and was refused 2 times") {
		t.Errorf("%v", err)
	}
	s := r.drive()
	if len(r.model.asked) != maxStill || s.State.Lifecycle != session.Failed || !strings.Contains(s.State.LastError, "does not fit together") || s.State.Turn.Running != session.NoTurn {
		t.Errorf("asked %d times, %+v", len(r.model.asked), s.State)
	}
	r.sound()
}

// TestAClockThatIsBehindBeginsNothing: an approval that was given, or a policy that allows, begins no call while the clock is far behind the last row;
// when it is right again, the call runs (S16).
func TestAClockThatIsBehindBeginsNothing(t *testing.T) {
	t.Parallel()
	for name, allowed := range map[string]bool{"approved": false, "allowed": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			was := r.clock.now
			if allowed {
				r.rules = []policy.Rule{{ID: "all", Effect: policy.EffectAllow, Tool: "create"}}
				r.Models = &meanwhile{r.model, func() { r.clock.now = was.Add(-2 * time.Minute) }}
			}
			r.model.lines = []string{say("EXECUTION", "continue", "actions", creates(1))}
			r.send0("書いて")
			_, err := r.Drive(t.Context(), ns, id)
			if !allowed {
				r.ok(err)
				r.ok(r.decide(r.pending()[0], session.Approve, ""))
				r.clock.now = was.Add(-2 * time.Minute)
				_, err = r.Drive(t.Context(), ns, id)
			}
			var behind *ledger.ClockBehindError
			if !errors.As(err, &behind) || r.file("f00.md") != "" || r.kinds()[audit.Intent] != 0 {
				t.Fatalf("%v, %q is written, rows %v", err, r.file("f00.md"), r.kinds())
			}
			r.clock.now = was
			r.model.lines = []string{say("EXECUTION", "done")}
			if s := r.drive(); s.State.Status != session.Success || r.file("f00.md") != "x" {
				t.Errorf("%+v, %q", s.State, r.file("f00.md"))
			}
			r.sound()
		})
	}
}
