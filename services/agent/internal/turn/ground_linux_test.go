package turn

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/tsumugi-dev/tsumugi/services/agent/internal/audit"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/ledger"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/policy"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/session"
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

// TestAnAnswerToWhatIsNoMore: where a person changes the five items or the settings while the model answers, nothing of the answer is taken, and it
// is asked again with what is so now.
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
			if len(r.model.asked) != 2 || s.Items.Goal != want.Items.Goal || s.State.Status != session.Success || s.State.Spent != 1 {
				t.Errorf("asked %d times, %+v, %+v", len(r.model.asked), s.Items, s.State)
			}
			if again := r.prompts.built[1].Session; again.Items.Goal != want.Items.Goal || again.Locale != want.Locale || len(again.Items.Constraints) != len(want.Items.Constraints) {
				t.Errorf("it was asked again about %+v", again)
			}
			r.sound()
		})
	}
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
