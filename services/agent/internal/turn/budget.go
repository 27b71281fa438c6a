package turn

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/tsumugi-dev/tsumugi/services/agent/internal/ledger"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/policy"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/router"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/session"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/tool"
)

// spent says which budget keeps the model of a session from being asked, what it is and what was spent of it; empty: none does. A message may use up its
// calls of tools and be answered: more than that were wanted where they are over.
func (e *Engine) spent(s ledger.Session) string {
	b := s.Budgets
	calls := func(budget string, spent, limit int) string {
		return fmt.Sprintf("%s: the budget of model calls is spent, %d of %d", budget, spent, limit) + outdated(s)
	}
	tools := func(budget string, wanted, limit int) string {
		return fmt.Sprintf("%s: the budget of tool calls is spent: %d were wanted, and %d may be made", budget, wanted, limit)
	}
	switch most := e.toolCalls(s); {
	case b.SessionModelCalls > 0 && s.Spent.ModelCalls >= b.SessionModelCalls:
		return calls("session_model_calls", s.Spent.ModelCalls, b.SessionModelCalls)
	case b.MessageModelCalls > 0 && s.State.Spent >= b.MessageModelCalls:
		return calls("message_model_calls", s.State.Spent, b.MessageModelCalls)
	case s.State.Turn.Running == session.Working && s.State.Turn.ModelCalls <= 0:
		return calls("message_model_calls", s.State.Spent, e.Machine.Limits.ModelCalls)
	case b.SessionToolCalls > 0 && s.Spent.ToolCalls+s.Talk.Over > b.SessionToolCalls:
		return tools("session_tool_calls", s.Spent.ToolCalls+s.Talk.Over, b.SessionToolCalls)
	case s.Talk.ToolCalls+s.Talk.Over > most:
		return tools("message_tool_calls", s.Talk.ToolCalls+s.Talk.Over, most)
	}
	if left, bound := e.timeLeft(s); bound && left <= 0 {
		return spentTime(s)
	}
	return ""
}

// outdated says how many answers of the turn were not taken; empty: all were.
func outdated(s ledger.Session) string {
	n := s.State.Turn.Discarded
	if n == 0 {
		return ""
	}
	return fmt.Sprintf("; answers that were not taken, since the session was changed or its work stopped while the model gave them: %d", n)
}

// toolCalls are the calls of tools that a message may cost.
func (e *Engine) toolCalls(s ledger.Session) int {
	if b := s.Budgets.MessageToolCalls; b > 0 {
		return min(b, e.Limits.ToolCalls)
	}
	return e.Limits.ToolCalls
}

// timeLeft is how long the session may still work for its message, if that is bound.
func (e *Engine) timeLeft(s ledger.Session) (left time.Duration, bound bool) {
	b := s.Budgets.MessageTime
	return b - s.WorkedUntil(e.Clock.Now()), b > 0
}

func spentTime(s ledger.Session) string {
	return fmt.Sprintf("message_seconds: the session has worked for the %g s that it may work for a message", s.Budgets.MessageTime.Seconds())
}

// lateError is a model that had not answered when the time of its message was spent.
type lateError struct{ why string }

func (e *lateError) Error() string { return e.why }

// mayAskAside says whether a call of the model may be made aside, by the session and all its budgets, beside so many others that are under way.
func mayAskAside(s ledger.Session, others int) error {
	if err := mayAsk(s.State, others); err != nil {
		return err
	}
	if b := s.Budgets.SessionModelCalls; b > 0 && s.Spent.ModelCalls+others >= b {
		return &session.RefusedError{Code: session.RefusedFull, Why: fmt.Sprintf("session_model_calls: %d calls of the model are spent or under way, and %d may be made", s.Spent.ModelCalls+others, b)}
	}
	if s.State.Turn.Running != session.NoTurn && s.ModelCallsLeft() <= others+1 {
		return &session.RefusedError{Code: session.RefusedFull, Why: "the budget of model calls of the turn is spent but for its own: ask when it has ended"}
	}
	return nil
}

// written are the bytes that a call writes into a file: the content of a write or a create. What others write is not known.
func written(name string, args []byte) int64 {
	var a struct {
		Content string `json:"content"`
	}
	if name != tool.Write && name != tool.Create || json.Unmarshal(args, &a) != nil {
		return 0
	}
	return int64(len(a.Content))
}

// tooLarge stops the calls of an answer that would write more than the session may; false: they would not.
func (a *answer) tooLarge() (why string, stops bool) {
	budget, bytes := a.s.Budgets.SessionBytes, a.s.Spent.Bytes
	for _, j := range a.judged {
		if j.Stop == nil && j.Verdict() != policy.Deny {
			bytes += written(j.Call.Tool, j.Args)
		}
	}
	if budget == 0 || bytes <= budget {
		return "", false
	}
	why = fmt.Sprintf("session_bytes_written: %d bytes are written, %d would be with this answer, and %d may be", a.s.Spent.Bytes, bytes, budget)
	for i := range a.judged {
		if a.judged[i].Stop == nil {
			a.judged[i].Stop = &router.Stop{Step: router.StepGuard, Code: router.CodeGuard, Reason: why}
		}
	}
	return why, true
}
