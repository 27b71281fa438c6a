package policy

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"

	"github.com/tsumugi-dev/tsumugi/services/agent/internal/tool"
)

// Bounds of policies.
const (
	// MaxPolicies is how many a configuration may have.
	MaxPolicies = 32
	// MaxRules bounds the rules of one policy.
	MaxRules = 500
	// MaxAdded is how many rules a session may add.
	MaxAdded = 32
	// MaxPattern is the length of a pattern, in bytes.
	MaxPattern = 512
	// MaxReason is the length of the reason of a rule, in bytes.
	MaxReason = 1000
	// MaxShapes is how many shapes of secrets a policy may add.
	MaxShapes = 50
	// MaxNameBytes is the length of ids and names, in bytes.
	MaxNameBytes = 64
)

// Error is everything that is wrong with the policies of a configuration, or with what a caller wants.
type Error struct{ Problems []string }

// Error gives all of it, a line each.
func (e *Error) Error() string { return strings.Join(e.Problems, "\n") }

type checker struct{ problems []string }

func (c *checker) add(wrong bool, format string, args ...any) {
	if wrong {
		c.problems = append(c.problems, fmt.Sprintf(format, args...))
	}
}

func (c *checker) err() error {
	if len(c.problems) == 0 {
		return nil
	}
	return &Error{c.problems}
}

// Set are the policies of a configuration.
type Set struct {
	engines map[string]*Engine
	first   string
}

// NewSet checks policies and keeps them; first is the name of the one that sessions have which choose none. The error is an *Error with
// everything that is wrong, so that a start tells all at once.
func NewSet(policies []Policy, first string) (*Set, error) {
	s := &Set{engines: map[string]*Engine{}, first: first}
	c := checker{}
	c.add(len(policies) > MaxPolicies, "there are %d policies, at most %d are taken", len(policies), MaxPolicies)
	for i, p := range policies {
		at := fmt.Sprintf("policies[%d]", i)
		if p.Name != "" {
			at = "policy " + quote(p.Name)
		}
		c.add(!named(p.Name), "%s: its name must be 1 to %d letters, digits, . _ or -", at, MaxNameBytes)
		_, twice := s.engines[p.Name]
		c.add(twice, "%s: the name stands twice", at)
		c.policy(at, p)
		p = p.withDefaults()
		own, _ := ready(p.Secrets) // Those that do not compile are problems already.
		s.engines[p.Name] = &Engine{policy: p, shapes: slices.Concat(knownShapes(), own), ready: true}
	}
	_, there := s.engines[first]
	c.add(!there, "the policy %s, which sessions have that choose none, is not there", quote(first))
	if err := c.err(); err != nil {
		return nil, err
	}
	return s, nil
}

func quote(s string) string { return `"` + tool.PlainLine(s, MaxNameBytes) + `"` }

func named(s string) bool {
	return s != "" && len(s) <= MaxNameBytes && strings.Trim(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-") == ""
}

func (c *checker) policy(at string, p Policy) {
	c.add(len(p.Rules) > MaxRules, "%s: there are %d rules, at most %d are taken", at, len(p.Rules), MaxRules)
	seen := map[string]bool{}
	for i, r := range p.Rules {
		c.rule(fmt.Sprintf("%s: rules[%d] %s", at, i, quote(r.ID)), r, seen)
	}
	c.suffixes(at+": extensions.allow", p.Extensions.Allow)
	c.suffixes(at+": extensions.deny", p.Extensions.Deny)
	c.add(p.Thresholds.Files < 0, "%s: thresholds.files is %d, and must be above 0", at, p.Thresholds.Files)
	c.add(p.Thresholds.Bytes < 0, "%s: thresholds.bytes is %d, and must be above 0", at, p.Thresholds.Bytes)
	c.add(p.Levels.MCP == Low, "%s: levels.mcp is LOW; what a server does behind a definition cannot be seen, so it must be MEDIUM or HIGH", at)
	c.add(len(p.Secrets) > MaxShapes, "%s: there are %d shapes of secrets, at most %d are taken", at, len(p.Secrets), MaxShapes)
	for i, s := range p.Secrets {
		_, err := regexp.Compile(s.Pattern)
		c.add(!named(s.Name), "%s: secrets[%d]: its name must be 1 to %d letters, digits, . _ or -", at, i, MaxNameBytes)
		c.add(s.Pattern == "" || len(s.Pattern) > MaxPattern || err != nil, "%s: secrets[%d] %s: the pattern must be a regular expression (RE2) of 1 to %d bytes", at, i, quote(s.Name), MaxPattern)
		c.add(slices.ContainsFunc(s.Literals, func(l string) bool { return l == "" || l != lowerASCII(l) }), "%s: secrets[%d] %s: literals must be in lower case", at, i, quote(s.Name))
	}
}

func (c *checker) suffixes(at string, list []string) {
	for _, s := range list {
		c.add(len(s) < 2 || s[0] != '.' || strings.Contains(s, "/") || Suffix("a"+s) != strings.ToLower(s), "%s: %s must be one suffix with its dot, such as .md", at, quote(s))
	}
}

func (c *checker) rule(at string, r Rule, seen map[string]bool) {
	c.add(!named(r.ID), "%s: its id must be 1 to %d letters, digits, . _ or -", at, MaxNameBytes)
	c.add(seen[r.ID], "%s: the id stands twice", at)
	seen[r.ID] = true
	c.add(r.Effect != EffectDeny && r.Effect != EffectAsk && r.Effect != EffectAllow, "%s: effect is %s, and must be deny, ask or allow", at, quote(string(r.Effect)))
	c.add(len(r.Tool) > MaxPattern, "%s: tool has %d bytes, at most %d are taken", at, len(r.Tool), MaxPattern)
	c.add(strings.Contains(r.Tool, "**") || strings.ContainsFunc(r.Tool, unseen), "%s: tool must be a name, in which * stands for any characters", at)
	c.path(at, r.Path)
	for _, h := range []tool.Hint{r.Annotations.ReadOnly, r.Annotations.Destructive, r.Annotations.Idempotent, r.Annotations.OpenWorld} {
		c.add(h != tool.Unsaid && h != tool.Yes && h != tool.No, "%s: an annotation is %s, and must be yes or no", at, quote(string(h)))
	}
	c.add(r.Effect == EffectAllow && r.RiskAtLeast != Unknown, "%s: an allowing rule has no risk_at_least: it would allow what is risky, and not what is harmless", at)
	c.add(r.RiskAtLeast > High, "%s: risk_at_least must be low, medium or high", at)
	c.add(r.Role != "" && !slices.Contains([]string{RoleUser, RoleApprover, RoleAdmin}, r.Role), "%s: role is %s, and must be %s, %s or %s", at, quote(r.Role), RoleUser, RoleApprover, RoleAdmin)
	c.add(len(r.Reason) > MaxReason, "%s: reason has %d bytes, at most %d are taken", at, len(r.Reason), MaxReason)
}

func unseen(r rune) bool { return unicode.IsControl(r) || !unicode.IsGraphic(r) }

func (c *checker) path(at, p string) {
	if p == "" {
		return
	}
	c.add(len(p) > MaxPattern, "%s: path has %d bytes, at most %d are taken", at, len(p), MaxPattern)
	c.add(!norm.NFC.IsNormalString(p), "%s: path must be in the composed form of Unicode (NFC)", at)
	c.add(strings.ContainsFunc(p, unseen) || strings.Contains(p, `\`), "%s: path may have neither \\ nor characters that cannot be seen", at)
	for part := range strings.SplitSeq(p, "/") {
		wild := strings.Contains(part, "**") && part != "**"
		if part == "" || part == "." || part == ".." || wild {
			c.add(true, "%s: path must be relative, with parts between single /, without . and .., and ** only as a whole part", at)
			return
		}
	}
}
