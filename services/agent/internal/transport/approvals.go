package transport

import (
	"context"
	"strings"

	"google.golang.org/protobuf/types/known/durationpb"

	agentv1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/agent/v1"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/adapter/wire"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/canon"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/gate"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/policy"
)

var risks = map[policy.Risk]agentv1.Risk{policy.Low: agentv1.Risk_RISK_LOW, policy.Medium: agentv1.Risk_RISK_MEDIUM, policy.High: agentv1.Risk_RISK_HIGH}

// fromApproval is an approval as callers see it, without its content.
func fromApproval(v gate.View, a gate.Approval, locale string) *agentv1.Approval {
	out := &agentv1.Approval{
		Name: wire.Approvals + a.ID, Session: wire.Sessions + a.Session, Turn: a.Turn, Call: a.Call,
		Kind:   value[agentv1.ApprovalKind](agentv1.ApprovalKind_value, "APPROVAL_KIND_", string(a.Kind)),
		State:  value[agentv1.ApprovalState](agentv1.ApprovalState_value, "APPROVAL_STATE_", string(a.State)),
		Digest: string(a.Digest), Tool: v.Tool, Root: a.Subject.Root, Risk: risks[v.Risk], RiskReasons: bullets(v.Reasons), AskedBecause: v.Why,
		Intent: claimed(a.Points.Intent), Rationale: claimed(a.Points.Rationale), Impact: v.Impact,
		LinesAdded: int32(a.Points.Diff.Added), LinesRemoved: int32(a.Points.Diff.Removed),
		CreateTime: stamp(a.Created), ExpireTime: stamp(a.Expires), ExpiresSoon: v.Warned,
		Decision: fromDecision(a.Decision), LateDenial: fromDecision(a.LateDenial), VoidReason: string(a.Void),
		EditedFrom: resource(wire.Approvals, a.EditedFrom), ReplacedBy: resource(wire.Approvals, a.ReplacedBy), Requester: a.Requester, Editors: a.Editors,
		Targets: fromTargets(v.Targets), Alternatives: lines(a.Points.Alternatives, locale), Warnings: lines(a.Warnings, locale),
	}
	if a.Decision != nil {
		out.StartByTime = stamp(a.Decision.Start)
	}
	for _, o := range a.Offers {
		out.Offers = append(out.Offers, &agentv1.ScopeOffer{
			Scope: value[agentv1.DecisionScope](agentv1.DecisionScope_value, "DECISION_SCOPE_", string(o.Scope)), Path: o.Path, Text: o.Text.In(locale),
		})
	}
	return out
}

// bullets are the lines of a list under a heading, without their marks.
func bullets(sentences []string) (out []string) {
	for _, s := range sentences {
		if line, ok := strings.CutPrefix(s, "- "); ok {
			out = append(out, line)
		}
	}
	return out
}

func claimed(l gate.Line) *agentv1.ClaimedText {
	if l.Text == "" {
		return nil
	}
	return &agentv1.ClaimedText{Text: l.Text, Cut: l.Cut}
}

func lines(all []gate.Line, locale string) (out []string) {
	for _, l := range all {
		out = append(out, l.In(locale))
	}
	return out
}

func fromTargets(all []canon.Target) (out []*agentv1.ApprovalTarget) {
	for _, t := range all {
		out = append(out, &agentv1.ApprovalTarget{Path: t.Path, Before: string(t.Before), After: string(t.After)})
	}
	return out
}

func fromDecision(d *gate.Decision) *agentv1.DecisionRecord {
	if d == nil {
		return nil
	}
	return &agentv1.DecisionRecord{
		Decision: value[agentv1.Decision](agentv1.Decision_value, "DECISION_", string(d.Decision)), DecidedBy: d.Name, DecideTime: stamp(d.At), Reason: d.Reason,
		Scope: value[agentv1.DecisionScope](agentv1.DecisionScope_value, "DECISION_SCOPE_", string(d.Scope)), StandingRule: d.Standing, ByWords: d.Words,
	}
}

func fromCount(c gate.Count) *agentv1.DecisionCount {
	return &agentv1.DecisionCount{
		Kind: value[agentv1.ApprovalKind](agentv1.ApprovalKind_value, "APPROVAL_KIND_", string(c.Kind)), Tool: c.Tool, Outcome: c.How, Count: int32(c.Count),
		LateDenials: int32(c.Late), Mean: durationpb.New(c.Mean), Longest: durationpb.New(c.Longest),
	}
}

// fromApproval is an approval as it is at the time of the server, without its content.
func (s *Server) fromApproval(ctx context.Context, a gate.Approval) *agentv1.Approval {
	locale := s.sessions.Locale(ctx, a)
	return fromApproval(a.View(s.sessions.Clock.Now(), locale), a, locale)
}
