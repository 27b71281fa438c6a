package transport

import (
	"fmt"
	"strings"

	agentv1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/agent/v1"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/policy"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/tool"
	"github.com/tsumugi-dev/tsumugi/services/internal/apierr"
)

// addedRules are the rules that a caller adds.
func addedRules(f *apierr.Fields, in *agentv1.Session) (all []policy.Rule) {
	for i, r := range in.GetAddedRules() {
		at := fmt.Sprintf("session.added_rules[%d].", i)
		one := policy.Rule{
			ID: r.GetId(), Effect: policy.Effect(strings.ToLower(enum(f, at+"effect", r.GetEffect(), "RULE_EFFECT_"))), Tool: r.GetTool(), Path: r.GetPath(),
			Annotations: tool.Annotations{
				ReadOnly: tool.HintOf(r.ReadOnly), Destructive: tool.HintOf(r.Destructive), Idempotent: tool.HintOf(r.Idempotent), OpenWorld: tool.HintOf(r.OpenWorld),
			},
			RiskAtLeast: levelOf(enum(f, at+"risk_at_least", r.GetRiskAtLeast(), "RISK_")), Reason: r.GetReason(),
		}
		all = append(all, one)
	}
	return all
}

// levelOf is a risk by its name; Unknown for none.
func levelOf(name string) (level policy.Risk) {
	_ = level.UnmarshalText([]byte(name)) // What is none leaves Unknown.
	return level
}

// fromAdded are added rules as callers see them.
func fromAdded(rules []policy.Rule) (all []*agentv1.AddedRule) {
	for _, r := range rules {
		all = append(all, &agentv1.AddedRule{
			Id: r.ID, Effect: value[agentv1.RuleEffect](agentv1.RuleEffect_value, "RULE_EFFECT_", strings.ToUpper(string(r.Effect))), Tool: r.Tool, Path: r.Path,
			RiskAtLeast: risks[r.RiskAtLeast], ReadOnly: said(r.Annotations.ReadOnly), Destructive: said(r.Annotations.Destructive),
			Idempotent: said(r.Annotations.Idempotent), OpenWorld: said(r.Annotations.OpenWorld), Reason: r.Reason,
		})
	}
	return all
}

// said is what a hint says; nil: nothing.
func said(h tool.Hint) *bool {
	if h == tool.Unsaid {
		return nil
	}
	yes := h == tool.Yes
	return &yes
}
