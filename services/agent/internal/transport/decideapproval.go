package transport

import (
	"context"

	agentv1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/agent/v1"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/adapter/wire"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/canon"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/gate"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/policy"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/session"
	"github.com/tsumugi-dev/tsumugi/services/internal/apierr"
)

// DecideApproval decides about what was shown.
func (s *Server) DecideApproval(ctx context.Context, q *agentv1.DecideApprovalRequest) (*agentv1.Approval, error) {
	f := &apierr.Fields{}
	f.Required(q)
	approval := text(id(f, "name", wire.Approvals, q.GetName()))
	r := gate.Request{
		Decision: session.Decision(enum(f, "decision", q.GetDecision(), "DECISION_")), Digest: canon.Hash(q.GetDigest()), ContentDigest: canon.Hash(q.GetContentDigest()),
		Scope: policy.Scope(enum(f, "scope", q.GetScope(), "DECISION_SCOPE_")), Path: q.GetPath(), Reason: q.GetReason(), Unshown: q.GetAcknowledgeUnshown(),
		Args: []byte(q.GetArguments()),
	}
	switch edits := q.GetDecision() == agentv1.Decision_DECISION_EDIT; {
	case edits && q.GetArguments() == "":
		f.Add("arguments", "is required with DECISION_EDIT")
	case !edits && q.GetArguments() != "":
		f.Add("arguments", "goes with DECISION_EDIT, and with nothing else")
	}
	if err := f.Err(); err != nil {
		return nil, err
	}
	a, err := s.sessions.Decide(ctx, who(ctx), approval, r)
	if err != nil {
		return nil, fault(err)
	}
	return s.fromApproval(ctx, a), nil
}
