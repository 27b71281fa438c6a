// Package policy judges calls of tools: denied, asked about, or allowed, with the risk and with every rule that was looked at
// (field/agent.md C8, C9; field/review-agent.md C40, C49, S8, S9, S18, S23, S27, S29).
//
// Rules are data. Denying rules are looked at first, then those that ask, then those that allow, and the first that fits
// decides: how narrow a rule is counts for nothing. Where none fits, built-in tools that only look are allowed, and all else is
// asked about. A configuration may relax that, but nothing unknown is ever allowed: the zero value of a Verdict is Deny, and a
// risk that is not known asks.
package policy

import (
	"encoding"
	"fmt"
	"slices"
	"strings"
)

// Verdict is what becomes of a call. Its zero value is Deny.
type Verdict uint8

// The verdicts, from the strictest.
const (
	Deny Verdict = iota
	Ask
	Allow
)

var verdictWords = []string{"DENY", "ASK", "ALLOW"}

// String gives DENY, ASK or ALLOW. Any other value is DENY.
func (v Verdict) String() string { return word(verdictWords, int(v)) }

// MarshalText gives the word.
func (v Verdict) MarshalText() ([]byte, error) { return []byte(v.String()), nil }

// UnmarshalText reads the word. After an error the verdict is Deny.
func (v *Verdict) UnmarshalText(text []byte) error {
	i, err := read(verdictWords, text)
	*v = Verdict(i) //nolint:gosec // an index of a list of three
	return err
}

// Risk is how much could go wrong. Its zero value is Unknown, which is asked about.
type Risk uint8

// The risks. Unknown is no lower than High: what High does not get, it does not get.
const (
	Unknown Risk = iota
	Low
	Medium
	High
)

var riskWords = []string{"UNKNOWN", "LOW", "MEDIUM", "HIGH"}

// String gives UNKNOWN, LOW, MEDIUM or HIGH. Any other value is UNKNOWN.
func (r Risk) String() string { return word(riskWords, int(r)) }

// MarshalText gives the word.
func (r Risk) MarshalText() ([]byte, error) { return []byte(r.String()), nil }

// UnmarshalText reads the word. After an error the risk is Unknown.
func (r *Risk) UnmarshalText(text []byte) error {
	i, err := read(riskWords, text)
	*r = Risk(i) //nolint:gosec // an index of a list of four
	return err
}

// Known says that the risk is one of Low, Medium and High.
func (r Risk) Known() bool { return r == Low || r == Medium || r == High }

var (
	_ encoding.TextUnmarshaler = new(Verdict)
	_ encoding.TextUnmarshaler = new(Risk)
)

func word(words []string, i int) string {
	if i >= len(words) {
		i = 0
	}
	return words[i]
}

func read(words []string, text []byte) (int, error) {
	i := slices.Index(words, strings.ToUpper(string(text)))
	if i < 0 {
		return 0, fmt.Errorf("must be one of %s", strings.ToLower(strings.Join(words, ", ")))
	}
	return i, nil
}

// Policy is a set of rules with a name.
type Policy struct {
	Name string `json:"name"`
	// Pickable says that a caller without the role admin may choose it when a session is created.
	Pickable   bool       `json:"pickable,omitempty"`
	Rules      []Rule     `json:"rules,omitempty"`
	Extensions Extensions `json:"extensions"`
	Levels     Levels     `json:"levels"`
	Thresholds Thresholds `json:"thresholds"`
	// AllowHigh lets an allowing rule pass a call of risk HIGH unasked.
	AllowHigh bool `json:"allow_high,omitempty"`
	// AskPlan has a person asked about the plan before PLANNING goes to EXECUTION, AskResult about the result before REVIEW ends the task
	// (field/review-agent.md 2a, C33, C41).
	AskPlan   bool `json:"ask_plan,omitempty"`
	AskResult bool `json:"ask_result,omitempty"`
	// Secrets are shapes of secrets beside those that are known.
	Secrets []Shape `json:"secrets,omitempty"`
}

// Default is the policy of who has configured none.
func Default() Policy {
	return Policy{Name: "default", Pickable: true, Extensions: DefaultExtensions(), Levels: DefaultLevels(), Thresholds: DefaultThresholds()}
}

// Extensions are the kinds of files that may be written: by the last suffix of the name, in any case (field/agent.md C9). They hold
// for write, create and the destination of move; reads are not filtered.
type Extensions struct {
	// Allow and Deny are suffixes with their dot. What is in Deny is refused, even where Allow has it too; what is in neither is
	// asked about.
	Allow []string `json:"allow,omitempty"`
	Deny  []string `json:"deny,omitempty"`
}

// DefaultExtensions are those of seed 001 and of the project that it began as.
func DefaultExtensions() Extensions {
	return Extensions{Allow: []string{".txt", ".md", ".py", ".json", ".yaml", ".yml", ".csv"}, Deny: []string{".exe", ".bat", ".cmd", ".sh", ".ps1", ".dll", ".so"}}
}

// judge gives Deny, Ask or Allow for a name.
func (e Extensions) judge(path string) Verdict {
	suffix := Suffix(path)
	has := func(list []string) bool {
		return slices.ContainsFunc(list, func(s string) bool { return strings.EqualFold(s, suffix) })
	}
	switch {
	case suffix != "" && has(e.Deny):
		return Deny
	case suffix != "" && has(e.Allow):
		return Allow
	}
	return Ask
}

// Suffix is the last suffix of a path with its dot, in lower case; empty where there is none. Dots and blanks behind it count for
// nothing, since some systems drop them: `a.sh.` is a script.
func Suffix(path string) string {
	name := path[strings.LastIndexByte(path, '/')+1:]
	name = strings.TrimRight(name, ". \u3000\t")
	i := strings.LastIndexByte(name, '.')
	if i < 0 {
		return ""
	}
	return strings.ToLower(strings.TrimSpace(name[i:]))
}
