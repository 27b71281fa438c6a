package transport

import (
	"math"
	"time"

	agentv1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/agent/v1"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/ledger"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/sessionservice"
)

// budgets are those that a caller gives a session, as they are.
func budgets(b *agentv1.Budgets) ledger.Budgets {
	return ledger.Budgets{
		MessageModelCalls: int(b.GetMessageModelCalls()), MessageToolCalls: int(b.GetMessageToolCalls()), MessageTime: time.Duration(b.GetMessageSeconds()) * time.Second,
		SessionModelCalls: int(b.GetSessionModelCalls()), SessionToolCalls: int(b.GetSessionToolCalls()), SessionBytes: int64(b.GetSessionBytesWritten()),
	}
}

// fromBudgets are the budgets of a session as callers see them; nil: it has none of its own.
func fromBudgets(b ledger.Budgets) *agentv1.Budgets {
	if b == (ledger.Budgets{}) {
		return nil
	}
	return &agentv1.Budgets{
		MessageModelCalls: int32(b.MessageModelCalls), MessageToolCalls: int32(b.MessageToolCalls), MessageSeconds: int32(b.MessageTime / time.Second),
		SessionModelCalls: int32(b.SessionModelCalls), SessionToolCalls: int32(b.SessionToolCalls), SessionBytesWritten: int32(b.SessionBytes),
	}
}

// spent is what a session has spent.
func spent(v sessionservice.View) *agentv1.Spent {
	return &agentv1.Spent{
		MessageModelCalls: int32(v.State.Spent), MessageToolCalls: int32(v.Talk.ToolCalls), MessageSeconds: int32(v.Worked / time.Second),
		SessionModelCalls: int32(v.Spent.ModelCalls), SessionToolCalls: int32(v.Spent.ToolCalls), SessionBytesWritten: int32(min(v.Spent.Bytes, math.MaxInt32)),
	}
}
