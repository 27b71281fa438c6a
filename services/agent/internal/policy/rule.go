package policy

import (
	"strings"

	"golang.org/x/text/unicode/norm"

	"github.com/tsumugi-dev/tsumugi/services/agent/internal/tool"
)

// Effect is what a rule does. Any other word, the empty one among them, denies.
type Effect string

// The effects.
const (
	EffectDeny  Effect = "deny"
	EffectAsk   Effect = "ask"
	EffectAllow Effect = "allow"
)

func (e Effect) verdict() Verdict {
	switch e {
	case EffectAsk:
		return Ask
	case EffectAllow:
		return Allow
	}
	return Deny
}

// Rule says what becomes of the calls that it fits: those that fulfil all of its conditions. A condition that is left out holds for
// all calls.
//
// In doubt a rule makes things stricter. Where a call has several paths, a denying or asking rule fits if one of them does, an
// allowing rule only if all do. In denying and asking rules a path stands also for all that lies below it, and for its other
// spellings in case; in allowing rules it stands for itself.
type Rule struct {
	// ID names the rule in explanations and in the record.
	ID     string `json:"id"`
	Effect Effect `json:"effect"`
	// Tool is the full name of a tool, in which * stands for any characters: `read`, `files.*`.
	Tool string `json:"tool,omitempty"`
	// Path is relative to the root, with / between its parts. * stands for characters of one part, ** for any parts:
	// `docs/**`, `**/*.md`. A rule with a path fits no call that names no path.
	Path string `json:"path,omitempty"`
	// Annotations are hints that the tool must have. What a client or server says of its tools is not believed: they count as the
	// worst that they can be.
	Annotations tool.Annotations `json:"annotations"`
	// RiskAtLeast is the least risk, for denying and asking rules alone. A risk that is not known fulfils it.
	RiskAtLeast Risk `json:"risk_at_least,omitempty"`
	// Role is a role that the caller must have, Root the id of the work folder.
	Role string `json:"role,omitempty"`
	Root string `json:"root,omitempty"`
	// Reason is told to whoever is refused or asked.
	Reason string `json:"reason,omitempty"`
}

// Condition names a condition of a rule.
type Condition string

// The conditions, in the order in which they are looked at.
const (
	OnTool        Condition = "tool"
	OnPath        Condition = "path"
	OnAnnotations Condition = "annotations"
	OnRisk        Condition = "risk_at_least"
	OnRole        Condition = "role"
	OnRoot        Condition = "root"
)

// misses gives the first condition that a call does not fulfil; empty where the rule fits.
func (r Rule) misses(c Call, risk Risk) Condition {
	strict := r.Effect.verdict() != Allow
	switch {
	case r.Tool != "" && !glob(r.Tool, c.Tool.Full()):
		return OnTool
	case r.Path != "" && !r.fits(c.paths(), strict):
		return OnPath
	case !r.annotated(c.Tool):
		return OnAnnotations
	case r.RiskAtLeast != Unknown && (!strict || risk.Known() && risk < r.RiskAtLeast):
		return OnRisk
	case r.Role != "" && !c.has(r.Role):
		return OnRole
	case r.Root != "" && r.Root != c.Root:
		return OnRoot
	}
	return ""
}

func (r Rule) fits(paths []string, strict bool) bool {
	for _, p := range paths {
		if matchPath(r.Path, p, strict) == strict {
			return strict
		}
	}
	return !strict && len(paths) > 0
}

func (r Rule) annotated(d tool.Definition) bool {
	a := worst(d)
	for _, pair := range [][2]tool.Hint{
		{r.Annotations.ReadOnly, a.ReadOnly}, {r.Annotations.Destructive, a.Destructive}, {r.Annotations.Idempotent, a.Idempotent}, {r.Annotations.OpenWorld, a.OpenWorld},
	} {
		if pair[0] != tool.Unsaid && pair[0] != pair[1] {
			return false
		}
	}
	return true
}

// worst are the annotations of a tool as rules see them: those of built-in tools as they stand, and the worst for all others.
func worst(d tool.Definition) tool.Annotations {
	w := tool.Annotations{ReadOnly: tool.No, Destructive: tool.Yes, Idempotent: tool.No, OpenWorld: tool.Yes}
	if d.Origin.Kind != tool.BuiltIn {
		return w
	}
	for _, h := range []struct{ to, said *tool.Hint }{
		{&w.ReadOnly, &d.Annotations.ReadOnly}, {&w.Destructive, &d.Annotations.Destructive}, {&w.Idempotent, &d.Annotations.Idempotent}, {&w.OpenWorld, &d.Annotations.OpenWorld},
	} {
		if *h.said != tool.Unsaid {
			*h.to = *h.said
		}
	}
	return w
}

// glob says whether a text fits a pattern in which * stands for any characters. It takes at most len(pattern) * len(s) steps.
func glob(pattern, s string) bool {
	p, i, star, mark := 0, 0, -1, 0
	for i < len(s) {
		switch {
		case p < len(pattern) && pattern[p] == '*':
			star, mark = p, i
			p++
		case p < len(pattern) && pattern[p] == s[i]:
			p++
			i++
		case star >= 0: // Let the last * stand for one more.
			mark++
			p, i = star+1, mark
		default:
			return false
		}
	}
	return strings.Trim(pattern[p:], "*") == ""
}

// matchPath says whether a path fits a pattern; strict: or lies below one that does, in any case.
func matchPath(pattern, path string, strict bool) bool {
	pattern, path = norm.NFC.String(pattern), norm.NFC.String(path)
	if strict {
		pattern, path = strings.ToLower(pattern), strings.ToLower(path)
	}
	var parts []string
	if path != "." {
		parts = strings.Split(path, "/")
	}
	// reach[i] says that the pattern so far stands for the first i parts.
	reach := make([]bool, len(parts)+1)
	reach[0] = true
	for part := range strings.SplitSeq(pattern, "/") {
		next := make([]bool, len(reach))
		for i := range reach {
			if part == "**" {
				next[i] = reach[i] || i > 0 && next[i-1]
			} else if i > 0 {
				next[i] = reach[i-1] && glob(part, parts[i-1])
			}
		}
		reach = next
	}
	if !strict {
		return reach[len(parts)]
	}
	for _, r := range reach {
		if r {
			return true
		}
	}
	return false
}
