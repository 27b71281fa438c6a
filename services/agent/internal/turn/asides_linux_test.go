package turn

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/tsumugi-dev/tsumugi/services/agent/internal/ledger"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/session"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/store"
	"github.com/tsumugi-dev/tsumugi/services/internal/llm"
)

// patient is a model that counts how often it is asked aside, and answers that when it is let, or says that its caller has left.
type patient struct {
	*says
	aside         atomic.Int64
	asked, answer chan struct{}
}

func newPatient(m *says) *patient {
	return &patient{says: m, asked: make(chan struct{}, 100), answer: make(chan struct{})}
}

func (s *patient) Generator(string) (llm.Generator, error) { return s, nil }
func (s *patient) Generate(ctx context.Context, r llm.Request) (llm.Stream, error) {
	if r.Schema != "" {
		return s.says.Generate(ctx, r)
	}
	s.aside.Add(1)
	s.asked <- struct{}{}
	select {
	case <-s.answer:
		return &spoken{"はい。"}, nil
	case <-ctx.Done():
		return nil, &llm.Error{Fault: llm.FaultUnreachable, Message: ctx.Err().Error()}
	}
}

// TestAsidesOfWhoLeaves: whoever asks aside and leaves pays for it, one after the other and several at once: the model is asked as often as the
// session may have it asked, and no more (C79).
func TestAsidesOfWhoLeaves(t *testing.T) {
	t.Parallel()
	for name, atOnce := range map[string]int{"one by one": 1, "at once": MaxAsides} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			r.budget(ledger.Budgets{SessionModelCalls: 5})
			model := newPatient(r.model)
			r.Models = model
			var refused atomic.Int64
			for i := 0; i < 40; i += atOnce {
				ctx, leave := context.WithCancel(t.Context())
				var all sync.WaitGroup
				for j := range atOnce {
					all.Go(func() {
						_, err := r.Aside(ctx, ns, id, ann, fmt.Sprint("m", i+j), "問い")
						switch {
						case isRefused(err, session.RefusedFull):
							refused.Add(1)
							model.asked <- struct{}{}
						case err == nil:
							t.Error("it was answered")
						}
					})
				}
				for range atOnce {
					<-model.asked
				}
				leave()
				all.Wait()
			}
			if s := r.now(); model.aside.Load() != 5 || s.Spent.ModelCalls != 5 || len(r.asided()) != 5 || refused.Load() != 35 {
				t.Errorf("asked %d times, %+v, %d rows, %d refused", model.aside.Load(), s.Spent, len(r.asided()), refused.Load())
			}
			r.sound()
		})
	}
}

// TestAsideThatIsSentSeveralTimesAtOnce: each call of the model is charged, and all get the same answer.
func TestAsideThatIsSentSeveralTimesAtOnce(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	model := newPatient(r.model)
	r.Models = model
	var all sync.WaitGroup
	var replayed atomic.Int64
	for i := range MaxAsides {
		all.Go(func() {
			text := "問い"
			if i == 0 {
				text = "別の問い"
			}
			got, err := r.Aside(t.Context(), ns, id, ann, "m", text)
			if got.Replayed || errors.Is(err, store.ErrTaken) {
				replayed.Add(1)
			}
			if got.Text != "はい。" && !errors.Is(err, store.ErrTaken) {
				t.Errorf("%+v, %v", got, err)
			}
		})
		<-model.asked
	}
	close(model.answer)
	all.Wait()
	if s := r.now(); replayed.Load() != MaxAsides-1 || s.Spent.ModelCalls != MaxAsides || len(r.asided()) != MaxAsides {
		t.Errorf("%d were replayed or refused, %+v, %d rows", replayed.Load(), s.Spent, len(r.asided()))
	}
	r.sound()
}

// hasty is a model whose caller leaves just when it has answered.
type hasty struct {
	*says
	leave context.CancelFunc
}

func (l *hasty) Generator(string) (llm.Generator, error) { return l, nil }
func (l *hasty) Generate(context.Context, llm.Request) (llm.Stream, error) {
	l.leave()
	return &spoken{"はい。"}, nil
}

// TestAnAnswerOfWhoHasLeft is kept: it is paid for, and the message that is sent again gets it.
func TestAnAnswerOfWhoHasLeft(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	ctx, leave := context.WithCancel(t.Context())
	r.Models = &hasty{r.model, leave}
	if _, err := r.Aside(ctx, ns, id, ann, "m", "問い"); err != nil {
		t.Fatal(err)
	}
	got, err := r.Aside(t.Context(), ns, id, ann, "m", "問い")
	if s := r.now(); err != nil || got != (Answer{Text: "はい。", Replayed: true}) || s.Spent.ModelCalls != 1 {
		t.Errorf("%+v, %v, %+v", got, err, s.Spent)
	}
	r.sound()
}

// TestATurnSpendsNoCallThatIsAskedAside: a call that is under way aside is spent already for the turn, by the budget of the session and that of
// the message.
func TestATurnSpendsNoCallThatIsAskedAside(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		budgets ledger.Budgets
		says    string
	}{
		"of the session": {ledger.Budgets{SessionModelCalls: 4}, "session_model_calls: the budget of model calls is spent, 4 of 4"},
		"of the message": {ledger.Budgets{MessageModelCalls: 4}, "message_model_calls: the budget of model calls is spent, 4 of 4"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			r.budget(tt.budgets)
			model := newPatient(r.model)
			r.Models = model
			var all sync.WaitGroup
			r.Prompts = &between{r.Prompts, sync.OnceFunc(func() {
				all.Go(func() {
					if _, err := r.Aside(t.Context(), ns, id, ann, "m", "進んでる？"); err != nil {
						t.Error(err)
					}
				})
				<-model.asked
			})}
			r.overspent(r.send("書いて", goOn, goOn+" ", goOn+"  ", goOn+"   "), tt.says)
			close(model.answer)
			all.Wait()
			if s := r.now(); len(r.model.asked) != 3 || model.aside.Load() != 1 || s.Spent.ModelCalls != 4 {
				t.Errorf("the turn asked %d times, %d were aside, %+v", len(r.model.asked), model.aside.Load(), s.Spent)
			}
			r.sound()
		})
	}
}

// TestTheLastCallOfATurnIsItsOwn: a call that is under way aside does not keep the turn from its last one, since it will not be charged to it.
func TestTheLastCallOfATurnIsItsOwn(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	model := newPatient(r.model)
	r.Models = model
	var all sync.WaitGroup
	built := 0
	r.Prompts = &between{r.Prompts, func() {
		if built++; built != 19 {
			return
		}
		all.Go(func() {
			if _, err := r.Aside(t.Context(), ns, id, ann, "m", "進んでる？"); err != nil {
				t.Error(err)
			}
		})
		<-model.asked
	}}
	var lines []string
	for i := range 19 {
		lines = append(lines, goOn+strings.Repeat(" ", i))
	}
	if s := r.send("書いて", append(lines, enough)...); s.State.Reason != session.ReasonDone || s.State.Spent != 20 {
		t.Errorf("%+v", s.State)
	}
	close(model.answer)
	all.Wait()
	if s := r.now(); s.State.Spent != 20 || s.Spent.ModelCalls != 21 {
		t.Errorf("%+v, %+v", s.State, s.Spent)
	}
	r.sound()
}

// preparing does something while the prompt of a message to the side is made.
type preparing struct {
	Prompts
	do func()
}

func (p *preparing) Build(ctx context.Context, ns string, q Prompt) (Built, error) {
	if q.Aside != "" {
		p.do()
	}
	return p.Prompts.Build(ctx, ns, q)
}

// TestATurnWhileAnAsideIsPrepared has all of its budget: the model is not asked aside where the turn has spent it meanwhile.
func TestATurnWhileAnAsideIsPrepared(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.budget(ledger.Budgets{SessionModelCalls: 2})
	model := newPatient(r.model)
	r.Models = model
	r.Prompts = &preparing{r.Prompts, func() {
		if s := r.send("書いて", goOn, enough); s.State.Reason != session.ReasonDone {
			t.Errorf("%+v", s.State)
		}
	}}
	if _, err := r.Aside(t.Context(), ns, id, ann, "m", "進んでる？"); !isRefused(err, session.RefusedFull) {
		t.Error(err)
	}
	if s := r.now(); model.aside.Load() != 0 || s.Spent.ModelCalls != 2 || len(r.asided()) != 0 {
		t.Errorf("asked %d times aside, %+v", model.aside.Load(), s.Spent)
	}
	r.sound()
}
