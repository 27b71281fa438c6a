// Package policyfile reads the policies of tool calls from YAML. What they mean, and what is wrong with them, is package policy's
// word.
package policyfile

import (
	"fmt"

	"github.com/tsumugi-dev/tsumugi/services/agent/internal/policy"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/tool"
	"github.com/tsumugi-dev/tsumugi/services/internal/yamlx"
)

// file is a policy file.
type file struct {
	// Default is the policy of sessions that choose none; without it the first.
	Default  string  `yaml:"default"`
	Policies []entry `yaml:"policies"`
}

type entry struct {
	Name       string     `yaml:"name"`
	Pickable   bool       `yaml:"pickable"`
	AllowHigh  bool       `yaml:"allow_high"`
	AskPlan    bool       `yaml:"ask_plan"`
	AskResult  bool       `yaml:"ask_result"`
	Extensions extensions `yaml:"extensions"`
	Levels     levels     `yaml:"levels"`
	Thresholds struct {
		Files int   `yaml:"files"`
		Bytes int64 `yaml:"bytes"`
	} `yaml:"thresholds"`
	Secrets []shape `yaml:"secrets"`
	Rules   []rule  `yaml:"rules"`
}

// extensions are lists that replace those of the house where they stand in the file, empty ones too.
type extensions struct {
	Allow *[]string `yaml:"allow"`
	Deny  *[]string `yaml:"deny"`
}

type levels struct {
	Write  policy.Risk `yaml:"write"`
	Create policy.Risk `yaml:"create"`
	Move   policy.Risk `yaml:"move"`
	Delete policy.Risk `yaml:"delete"`
	Exec   policy.Risk `yaml:"exec"`
	Client policy.Risk `yaml:"client"`
	MCP    policy.Risk `yaml:"mcp"`
}

type shape struct {
	Name     string   `yaml:"name"`
	Pattern  string   `yaml:"pattern"`
	Literals []string `yaml:"literals"`
}

type rule struct {
	ID          string      `yaml:"id"`
	Effect      string      `yaml:"effect"`
	Tool        string      `yaml:"tool"`
	Path        string      `yaml:"path"`
	ReadOnly    *bool       `yaml:"read_only"`
	Destructive *bool       `yaml:"destructive"`
	Idempotent  *bool       `yaml:"idempotent"`
	OpenWorld   *bool       `yaml:"open_world"`
	RiskAtLeast policy.Risk `yaml:"risk_at_least"`
	Role        string      `yaml:"role"`
	Root        string      `yaml:"root"`
	Reason      string      `yaml:"reason"`
}

// Load reads a policy file; an empty path gives the policy of the house alone. The error names the file and everything that is wrong
// in it.
func Load(name string) (*policy.Set, error) {
	if name == "" {
		return Parse(nil)
	}
	text, err := yamlx.ReadFile(name)
	if err != nil {
		return nil, fmt.Errorf("the policy file: %w", err)
	}
	s, err := Parse(text)
	if err != nil {
		return nil, fmt.Errorf("the policy file %s:\n%w", name, err)
	}
	return s, nil
}

// Parse reads the text of a policy file. A text without policies gives the one of the house. The error is a *yamlx.Error where the text
// cannot be read, with lines, else a *policy.Error; each has everything that is wrong.
func Parse(text []byte) (*policy.Set, error) {
	var f file
	if err := yamlx.Decode(text, &f); err != nil {
		return nil, err
	}
	policies := make([]policy.Policy, len(f.Policies))
	for i, e := range f.Policies {
		policies[i] = e.policy()
	}
	if len(policies) == 0 {
		policies = []policy.Policy{policy.Default()}
	}
	if f.Default == "" {
		f.Default = policies[0].Name
	}
	return policy.NewSet(policies, f.Default)
}

func (e entry) policy() policy.Policy {
	p := policy.Policy{
		Name: e.Name, Pickable: e.Pickable, AllowHigh: e.AllowHigh, AskPlan: e.AskPlan, AskResult: e.AskResult, Extensions: policy.DefaultExtensions(), Levels: policy.Levels(e.Levels),
		Thresholds: policy.Thresholds(e.Thresholds),
	}
	if e.Extensions.Allow != nil {
		p.Extensions.Allow = *e.Extensions.Allow
	}
	if e.Extensions.Deny != nil {
		p.Extensions.Deny = *e.Extensions.Deny
	}
	for _, s := range e.Secrets {
		p.Secrets = append(p.Secrets, policy.Shape(s))
	}
	for _, r := range e.Rules {
		p.Rules = append(p.Rules, policy.Rule{
			ID: r.ID, Effect: policy.Effect(r.Effect), Tool: r.Tool, Path: r.Path, RiskAtLeast: r.RiskAtLeast, Role: r.Role, Root: r.Root, Reason: r.Reason,
			Annotations: tool.Annotations{ReadOnly: tool.HintOf(r.ReadOnly), Destructive: tool.HintOf(r.Destructive), Idempotent: tool.HintOf(r.Idempotent), OpenWorld: tool.HintOf(r.OpenWorld)},
		})
	}
	return p
}
