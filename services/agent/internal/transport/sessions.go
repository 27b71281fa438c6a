package transport

import (
	"time"

	agentv1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/agent/v1"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/adapter/wire"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/clienttool"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/session"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/sessionservice"
)

var turnStates = map[session.Running]agentv1.TurnState{
	session.Working: agentv1.TurnState_TURN_STATE_RUNNING, session.Waiting: agentv1.TurnState_TURN_STATE_WAITING,
	session.Parked: agentv1.TurnState_TURN_STATE_PARKED, session.Stopping: agentv1.TurnState_TURN_STATE_STOPPING,
}

// fromSession is a session as callers see it.
func fromSession(v sessionservice.View) *agentv1.Session {
	st := v.State
	out := &agentv1.Session{
		Name: wire.Sessions + v.ID, Etag: v.Etag(), Owner: v.Owner,
		Goal: v.Items.Goal, WhyNow: v.Items.WhyNow, Constraints: v.Items.Constraints, PlanBrief: v.Items.PlanBrief, OpenQuestions: v.Items.OpenQuestions,
		ContextRefs: v.Thread.All(), Root: v.Root, Backend: v.Backend, Locale: v.Locale, Policy: v.Policy, AddedRules: fromAdded(v.Added), Budgets: fromBudgets(v.Budgets), Spent: spent(v), ContinueFrom: resource(wire.Sessions, v.Continues),
		Step:      value[agentv1.Step](agentv1.Step_value, "STEP_", string(st.Step)),
		Status:    value[agentv1.SessionStatus](agentv1.SessionStatus_value, "SESSION_STATUS_", string(st.Status)),
		Lifecycle: value[agentv1.Lifecycle](agentv1.Lifecycle_value, "LIFECYCLE_", string(st.Lifecycle)),
		Queued:    int32(len(st.Queue)), StopReason: string(st.Reason), LastError: st.LastError,
		DecisionLog: v.Thread.Decisions, LastDelta: v.Thread.Delta, Warnings: v.Warnings,
		Memory: &agentv1.Memory{Operations: int32(v.Memory.Operations), Files: int32(v.Memory.Files)},
		Flow:   resource(wire.Flows, v.Flow), Notices: v.Notices, Seq: int64(v.Head.Seq), Turns: int32(v.Turns), CreateTime: stamp(v.Created), UpdateTime: stamp(v.Updated),
	}
	for _, c := range st.Calls {
		if c.Progress.Asks() {
			out.WaitingOn = append(out.WaitingOn, wire.Approvals+c.Approval)
		}
	}
	out.PendingGate = len(out.WaitingOn) > 0
	if q := st.Question; q.ID != "" {
		out.Question = &agentv1.Question{Id: q.ID, Text: v.Question, ExpireTime: stamp(q.Expires)}
	}
	for _, c := range v.Open {
		out.OpenToolCalls = append(out.OpenToolCalls, fromOpen(c))
	}
	for _, r := range v.Standing {
		out.StandingRules = append(out.StandingRules, &agentv1.StandingRule{Id: r.ID, Approver: r.Approver, Text: r.Text(v.Locale), ExpireTime: stamp(r.Expires)})
	}
	for _, d := range v.Tools {
		out.ClientTools = append(out.ClientTools, &agentv1.ClientTool{
			Name: d.Name, Description: d.Description, InputSchema: d.Input, TimeoutSeconds: int32(d.Timeout / time.Second),
		})
	}
	if t := st.Turn; t.Running != session.NoTurn {
		out.Turn = &agentv1.Turn{Id: t.ID, State: turnStates[t.Running], ModelCallsLeft: int32(v.ModelCallsLeft())}
	}
	return out
}

func fromOpen(c clienttool.OpenCall) *agentv1.OpenToolCall {
	return &agentv1.OpenToolCall{Call: c.Call, Tool: c.Tool, Arguments: c.Args, ExpireTime: stamp(c.Until)}
}
