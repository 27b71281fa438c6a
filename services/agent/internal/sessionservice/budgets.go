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
	limits := map[string]struct {
		most    int64
		setting string
	}{
		"message_model_calls": {int64(s.Engine.Machine.Limits.ModelCalls), " (agent.sessions.model_calls)"},
		"message_tool_calls":  {int64(s.Engine.Limits.ToolCalls), " (agent.sessions.tool_calls)"},
		"message_seconds":     {int64(maxWork / time.Second), ""},
		"session_model_calls": {maxCalls, ""}, "session_tool_calls": {maxCalls, ""}, "session_bytes_written": {maxBytes, ""},
	}
	for _, one := range b.All() {
		if limit := limits[one.Name]; one.Value < 0 || one.Value > limit.most {
			all = append(all, wrong("budgets."+one.Name, "must be from 0 to %d%s, is %d", limit.most, limit.setting, one.Value))
		}
	}
	return all
}
