package turn

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/tsumugi-dev/tsumugi/services/agent/internal/ledger"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/policy"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/session"
	"github.com/tsumugi-dev/tsumugi/services/internal/llm"
)

// budget gives the session budgets.
func (r *rig) budget(b ledger.Budgets) {
	r.Helper()
	_, err := r.Ledger.Update(r.Context(), ns, id, "", ann, func(s *ledger.Session) error { s.Budgets = b; return nil })
	r.ok(err)
}

// overspent looks for a turn that stopped with BUDGET, says which one, and tells it in its row.
func (r *rig) overspent(s ledger.Session, says string) {
	r.Helper()
	if s.State.Reason != session.ReasonBudget || s.State.Turn.Running != session.NoTurn || s.State.LastError != says {
		r.Fatalf("%s: %q, %+v; want %q", s.State.Reason, s.State.LastError, s.State.Turn, says)
	}
	told := false
	for row, err := range r.Ledger.Rows(r.Context(), ns, id, 1) {
		r.ok(err)
		told = told || row.Verdict == "STOPPED" && row.Reason == string(session.ReasonBudget) && strings.Contains(row.Details, `"text":"`+says+`"`)
	}
	if !told {
		r.Errorf("no row tells %q", says)
	}
	r.sound()
}

var (
	goOn    = say("PLANNING", "continue")
	enough  = say("PLANNING", "done", "reply", "はい。")
	listing = func(names ...any) string {
		var calls []any
		for _, name := range names {
			calls = append(calls, call("list", "path", name))
		}
		return say("PLANNING", "continue", "actions", calls)
	}
)

// TestBudgetOfModelCalls: those of a message are filled by the next one, those of the session by nobody but whoever raises them; a message that is answered
// aside is charged to the session as well.
func TestBudgetOfModelCalls(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.budget(ledger.Budgets{MessageModelCalls: 2, SessionModelCalls: 4})
	s := r.send("一", goOn, goOn+" ", goOn)
	r.overspent(s, "message_model_calls: the budget of model calls is spent, 2 of 2")
	r.model.lines = nil
	if s = r.send("二", enough); s.State.Reason != session.ReasonDone || s.Spent.ModelCalls != 3 || s.State.Spent != 1 {
		t.Errorf("%+v, %+v", s.State, s.Spent)
	}
	r.model.lines = []string{"雨です。"}
	if _, err := r.Aside(t.Context(), ns, id, ann, "a1", "天気は"); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Aside(t.Context(), ns, id, ann, "a2", "明日は"); !isRefused(err, session.RefusedFull) || !strings.Contains(err.Error(), "session_model_calls") {
		t.Errorf("%v", err)
	}
	asked := len(r.model.asked)
	s = r.send("三", enough)
	if r.overspent(s, "session_model_calls: the budget of model calls is spent, 4 of 4"); len(r.model.asked) != asked {
		t.Error("the model was asked all the same")
	}
	r.budget(ledger.Budgets{SessionModelCalls: 5})
	if s = r.send("四"); s.State.Reason != session.ReasonDone || s.Spent.ModelCalls != 5 {
		t.Errorf("%+v, %+v", s.State, s.Spent)
	}
}

// TestBudgetInOneTransaction: a message that would be stored with its first answer is stored, and the model is not asked.
func TestBudgetInOneTransaction(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.budget(ledger.Budgets{SessionModelCalls: 1})
	r.send("一", enough)
	told := Receipt{}
	_, err := r.Converse(t.Context(), t.Context(), ns, id, r.message(approver("ann"), "二"), func(got Receipt, err error) { r.ok(err); told = got })
	r.ok(err)
	s, err := r.Ledger.Get(t.Context(), ns, id)
	r.ok(err)
	if r.overspent(s, "session_model_calls: the budget of model calls is spent, 1 of 1"); told.Session.ID != id || len(r.model.asked) != 1 {
		t.Errorf("%+v, asked %d times", told, len(r.model.asked))
	}
}

// TestBudgetOfToolCalls: what is within the budget is done and answered; what is over it is refused and costs nothing, and the turn stops.
func TestBudgetOfToolCalls(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.budget(ledger.Budgets{MessageToolCalls: 2, SessionToolCalls: 4})
	if s := r.send("一", listing(".", "./"), enough); s.State.Reason != session.ReasonDone || s.Talk.ToolCalls != 2 || s.Spent.ToolCalls != 2 {
		t.Errorf("%+v, %+v", s.State, s.Spent)
	}
	s := r.send("二", listing(".", "./", "a"), enough)
	r.overspent(s, "session_tool_calls: the budget of tool calls is spent: 5 were wanted, and 4 may be made")
	if s.Spent.ToolCalls != 4 || s.Talk.ToolCalls != 2 || s.Talk.Over != 1 {
		t.Errorf("the call that was not made is charged: %+v, %d for the message, %d over", s.Spent, s.Talk.ToolCalls, s.Talk.Over)
	}
	r.model.lines = nil
	if s = r.send("二の二", enough); s.State.Reason != session.ReasonDone || s.Spent.ToolCalls != 4 || s.Talk.Over != 0 {
		t.Errorf("a message that needs no call is not answered: %+v, %+v", s.State, s.Spent)
	}
	r.budget(ledger.Budgets{MessageToolCalls: 1})
	r.model.lines = nil
	s = r.send("三", listing(".", "a"), enough)
	r.overspent(s, "message_tool_calls: the budget of tool calls is spent: 2 were wanted, and 1 may be made")
	r.model.lines = nil
	if s = r.send("四", listing("."), enough); s.State.Reason != session.ReasonDone {
		t.Errorf("the next message does not fill it: %+v", s.State)
	}
}

// TestBudgetOfTime: what the session works counts, and what it waits does not; a call of the model is given up when the time is over.
func TestBudgetOfTime(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.rules = []policy.Rule{{ID: "r", Effect: policy.EffectAllow, Tool: "list"}}
	r.budget(ledger.Budgets{MessageTime: time.Minute})
	late := &later{Models: r.model, rig: r, each: 25 * time.Second}
	r.Models = late
	s := r.send("一", say("EXECUTION", "continue", "actions", creates(1)))
	if s.State.Turn.Running != session.Waiting || s.Talk.Worked != 25*time.Second {
		t.Fatalf("%s, %+v", s.Talk.Worked, s.State.Turn)
	}
	r.clock.now = r.clock.now.Add(10 * time.Minute)
	r.ok(r.decide(r.pending()[0], session.Approve, ""))
	r.model.lines = []string{say("EXECUTION", "continue"), say("EXECUTION", "continue", "reply", "x"), enough}
	s = r.drive()
	r.overspent(s, "message_seconds: the session has worked for the 60 s that it may work for a message")
	if s.Talk.Worked != 75*time.Second || len(r.model.lines) != 1 {
		t.Errorf("%s, %d left", s.Talk.Worked, len(r.model.lines))
	}
	r.model.lines = nil
	if s = r.send("二", say("EXECUTION", "done")); s.State.Reason != session.ReasonDone || s.Talk.Worked != 25*time.Second {
		t.Errorf("%+v, %s", s.State, s.Talk.Worked)
	}
	r.budget(ledger.Budgets{MessageTime: 20 * time.Millisecond})
	late.each, late.never = 0, true
	s = r.send("三")
	r.overspent(s, "message_seconds: the session has worked for the 0.02 s that it may work for a message")
}

// later is a model that takes its time by the clock of the rig, or for ever.
type later struct {
	Models
	rig   *rig
	each  time.Duration
	never bool
}

func (l *later) Generator(name string) (llm.Generator, error) {
	g, err := l.Models.Generator(name)
	return &slow{g, l}, err
}

type slow struct {
	llm.Generator
	l *later
}

func (s *slow) Tells() llm.Told { return s.Generator.(llm.Teller).Tells() }

func (s *slow) Generate(ctx context.Context, q llm.Request) (llm.Stream, error) {
	if s.l.never {
		<-ctx.Done()
		return nil, &llm.Error{Fault: llm.FaultUnreachable, Message: ctx.Err().Error()}
	}
	s.l.rig.clock.now = s.l.rig.clock.now.Add(s.l.each)
	return s.Generator.Generate(ctx, q)
}

// TestBudgetOfBytes: what was written counts, and not what was denied; an answer that would write more is kept, and nothing of it is done.
func TestBudgetOfBytes(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.budget(ledger.Budgets{SessionBytes: 10})
	one := say("EXECUTION", "continue", "actions", []any{call("create", "path", "a.md", "content", "123456")})
	r.send("一", one)
	r.model.lines = []string{say("PLANNING", "done")}
	r.ok(r.decide(r.pending()[0], session.Deny, "no"))
	if s := r.drive(); s.Spent.Bytes != 0 {
		t.Errorf("%+v", s.Spent)
	}
	r.send("二", one)
	r.model.lines = []string{enough}
	r.ok(r.decide(r.pending()[0], session.Approve, ""))
	if s := r.drive(); s.Spent.Bytes != 6 || r.file("a.md") != "123456" {
		t.Errorf("%+v", s.Spent)
	}
	r.model.lines = nil
	s := r.send("三", say("EXECUTION", "continue", "actions", []any{call("create", "path", "b.md", "content", "12345"), call("list", "path", ".")}))
	r.overspent(s, "session_bytes_written: 6 bytes are written, 11 would be with this answer, and 10 may be")
	if len(r.pending()) > 0 || r.file("b.md") != "" {
		t.Error("it is asked for all the same")
	}
}

// TestNoRoomForAPrompt: where an answer may take the whole window, it is said which setting does that, and the model is not asked.
func TestNoRoomForAPrompt(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.Limits.Answer = 4096
	r.model.lines = []string{enough}
	r.overspent(r.send("書いて"), "the window of the model has 4096 tokens and an answer may take 4096 (agent.sessions.answer_tokens): nothing is left for a prompt")
	if len(r.model.asked) > 0 {
		t.Error("the model is asked")
	}
}
