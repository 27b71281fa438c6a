package ledger

import (
	"slices"
	"time"

	"github.com/tsumugi-dev/tsumugi/services/agent/internal/session"
)

// Budgets bound what a session may spend (field/agent.md 2, budgets). 0: the limit of the process, or none where it has none.
type Budgets struct {
	// MessageModelCalls and MessageToolCalls are what one message of a person may cost, and MessageTime is how long the session may work for it.
	MessageModelCalls int           `json:"message_model_calls,omitempty"`
	MessageToolCalls  int           `json:"message_tool_calls,omitempty"`
	MessageTime       time.Duration `json:"message_time,omitempty"`
	// SessionModelCalls, SessionToolCalls and SessionBytes, those that are written to files, are what the whole session may spend.
	SessionModelCalls int   `json:"session_model_calls,omitempty"`
	SessionToolCalls  int   `json:"session_tool_calls,omitempty"`
	SessionBytes      int64 `json:"session_bytes,omitempty"`
}

// Budget is one of them, by its name and in its unit in the contract.
type Budget struct {
	Name  string
	Value int64
}

// All are all of them, those that are 0 too.
func (b Budgets) All() []Budget {
	return []Budget{
		{"message_model_calls", int64(b.MessageModelCalls)}, {"message_tool_calls", int64(b.MessageToolCalls)}, {"message_seconds", int64(b.MessageTime / time.Second)},
		{"session_model_calls", int64(b.SessionModelCalls)}, {"session_tool_calls", int64(b.SessionToolCalls)}, {"session_bytes_written", b.SessionBytes},
	}
}

// Spent is what a whole session has spent. Of a message State.Spent, Talk.ToolCalls and Talk.Worked tell it.
type Spent struct {
	ModelCalls int   `json:"model_calls,omitempty"`
	ToolCalls  int   `json:"tool_calls,omitempty"`
	Bytes      int64 `json:"bytes,omitempty"`
}

// within is the smaller one of what is left and what is left of a budget, of which so much is spent; never less than 0.
func within(left, budget, spent int) int {
	if budget > 0 {
		left = min(left, budget-spent)
	}
	return max(left, 0)
}

// ModelCallsLeft are the calls of the model that are left to the open turn, by all budgets; 0 where none is open.
func (s *Session) ModelCallsLeft() int {
	b := s.Budgets
	return within(within(s.State.Turn.ModelCalls, b.MessageModelCalls, s.State.Spent), b.SessionModelCalls, s.Spent.ModelCalls)
}

// ToolCallsLeft are the calls of tools that are left to the message, by all budgets, where the process lets it make so many.
func (s *Session) ToolCallsLeft(limit int) int {
	b := s.Budgets
	return within(within(max(limit-s.Talk.ToolCalls, 0), b.MessageToolCalls, s.Talk.ToolCalls), b.SessionToolCalls, s.Spent.ToolCalls)
}

// Charge takes down a call of a tool that the model wants. One that the budget refused (over) costs nothing of it, and ends the turn.
func (s *Session) Charge(over bool) {
	if over {
		s.Talk.Over++
		return
	}
	s.Talk.ToolCalls++
	s.Spent.ToolCalls++
}

// WorkedUntil is how long the session has worked for the message, up to a time.
func (s *Session) WorkedUntil(now time.Time) time.Duration {
	if !s.working() {
		return s.Talk.Worked
	}
	return s.Talk.Worked + max(now.Sub(s.Updated), 0)
}

// working says that the session works, and waits neither for a person nor for a call that its client carries out.
func (s *Session) working() bool {
	return s.State.Lifecycle == session.Open && s.State.Turn.Running == session.Working && !slices.ContainsFunc(s.State.Calls, func(c session.Call) bool {
		return c.Progress == session.Intent && !s.Calls[c.ID].Client.IsZero()
	})
}
