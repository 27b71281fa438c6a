package session

import (
	"fmt"
	"strings"

	agentv1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/agent/v1"
	"github.com/tsumugi-dev/tsumugi/services/tsumugi/internal/client"
	"github.com/tsumugi-dev/tsumugi/services/tsumugi/internal/jsoninput"
)

// Rules reads a file of the rules that are added to the policy of a session: a JSON list of objects with the fields of AddedRule.
func Rules(file string) ([]*agentv1.AddedRule, error) {
	text, err := content(file)
	if err != nil {
		return nil, err
	}
	list, err := jsoninput.List(text, "a JSON list of rules, each an object with id, effect and what it fits")
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	rules := make([]*agentv1.AddedRule, len(list))
	for i, one := range list {
		rules[i] = &agentv1.AddedRule{}
		if _, err = jsoninput.Object(string(one), "a JSON object with id, effect and what it fits"); err == nil {
			err = jsoninput.Merge(one, rules[i])
		}
		if err != nil {
			return nil, fmt.Errorf("%s: rule %d: %w", file, i+1, err)
		}
	}
	return rules, nil
}

// ruleLine is an added rule on a line.
func ruleLine(r *agentv1.AddedRule) string {
	line := fmt.Sprintf("%s %s", r.GetId(), client.Word(r.GetEffect(), "RULE_EFFECT_"))
	if r.GetTool() != "" {
		line += " tool " + r.GetTool()
	}
	if r.GetPath() != "" {
		line += " path " + r.GetPath()
	}
	if r.GetRiskAtLeast() != agentv1.Risk_RISK_UNSPECIFIED {
		line += " risk at least " + client.Word(r.GetRiskAtLeast(), "RISK_")
	}
	for _, hint := range []struct {
		name string
		said *bool
	}{{"read_only", r.ReadOnly}, {"destructive", r.Destructive}, {"idempotent", r.Idempotent}, {"open_world", r.OpenWorld}} {
		if hint.said != nil {
			line += fmt.Sprintf(" %s %t", hint.name, *hint.said)
		}
	}
	if r.GetReason() != "" {
		line += ": " + r.GetReason()
	}
	return strings.TrimSpace(line)
}
