package sessionservice

import (
	"math"
	"time"

	"github.com/tsumugi-dev/tsumugi/services/agent/internal/ledger"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/session"
)

// Bounds of budgets for which the process has no limit of its own.
const (
	maxCalls = 1_000_000
	maxBytes = math.MaxInt32 // what the contract can say
	maxWork  = 24 * time.Hour
)

// budgets says which budgets cannot be: none is wider than the limit of the process.
func (s *Service) budgets(b ledger.Budgets) (all []session.Violation) {
	for _, one := range []struct {
		field       string
		value, most int64
		setting     string
	}{
		{"message_model_calls", int64(b.MessageModelCalls), int64(s.Engine.Machine.Limits.ModelCalls), " (agent.sessions.model_calls)"},
		{"message_tool_calls", int64(b.MessageToolCalls), int64(s.Engine.Limits.ToolCalls), " (agent.sessions.tool_calls)"},
		{"message_seconds", int64(b.MessageTime / time.Second), int64(maxWork / time.Second), ""},
		{"session_model_calls", int64(b.SessionModelCalls), maxCalls, ""},
		{"session_tool_calls", int64(b.SessionToolCalls), maxCalls, ""},
		{"session_bytes_written", b.SessionBytes, maxBytes, ""},
	} {
		if one.value < 0 || one.value > one.most {
			all = append(all, wrong("budgets."+one.field, "must be from 0 to %d%s, is %d", one.most, one.setting, one.value))
		}
	}
	return all
}
