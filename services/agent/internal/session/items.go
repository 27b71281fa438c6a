package session

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/tsumugi-dev/tsumugi/services/internal/passage"
)

// The limits of what a session is about, in characters (code points) of a line and in entries (seed 001, 5).
const (
	MaxGoal        = 200
	MaxItem        = 100
	MaxConstraints = 2
	MaxPlan        = 3
	MaxQuestions   = 2
	MaxRefs        = 32
	MaxRef         = 300
	// MaxDecisions are the latest that a session keeps of its decision log.
	MaxDecisions = 50
	MaxDelta     = 200
)

// Items are the five things by which a session keeps its thread (seed 001, 5.1). A model may change all but the constraints (C21).
type Items struct {
	Goal          string   `json:"goal,omitempty"`
	WhyNow        string   `json:"why_now,omitempty"`
	Constraints   []string `json:"constraints,omitempty"`
	PlanBrief     []string `json:"plan_brief,omitempty"`
	OpenQuestions []string `json:"open_questions,omitempty"`
}

// Differ are the names of the items that are not the same in both.
func Differ(a, b Items) (names []string) {
	for _, one := range [...]struct {
		name string
		same bool
	}{
		{"goal", a.Goal == b.Goal}, {"why_now", a.WhyNow == b.WhyNow}, {"constraints", slices.Equal(a.Constraints, b.Constraints)},
		{"plan_brief", slices.Equal(a.PlanBrief, b.PlanBrief)}, {"open_questions", slices.Equal(a.OpenQuestions, b.OpenQuestions)},
	} {
		if !one.same {
			names = append(names, one.name)
		}
	}
	return names
}

// Thread is what the agent itself writes beside the five, and never the model (seed 001, 5.4; C21).
type Thread struct {
	// Refs are `file:`, `conversation:` and `plan:` and what they name, as a person gave them or the session began with them.
	Refs []string `json:"context_refs,omitempty"`
	// Found are those that the agent added (Refer), the latest last.
	Found []string `json:"found_refs,omitempty"`
	// Decisions are lines, oldest first, and Delta the latest change.
	Decisions []string `json:"decision_log,omitempty"`
	Delta     string   `json:"last_delta,omitempty"`
}

// Violation is a field that cannot be taken as it is.
type Violation struct{ Field, Description string }

type checker struct{ wrong []Violation }

func (c *checker) add(field, format string, args ...any) {
	c.wrong = append(c.wrong, Violation{field, fmt.Sprintf(format, args...)})
}

// steers says that a character is no text: it controls a terminal, or turns the direction of the text behind it. Marks of direction are text.
func steers(r rune) bool {
	return r != '\t' && unicode.IsControl(r) || r >= '\u202a' && r <= '\u202e' || r >= '\u2066' && r <= '\u2069'
}

// blank says that nothing of a text is seen. Fillers of Hangul are invisible, too; U+2800 is the blank of Braille.
func blank(text string) bool {
	return !strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsSpace(r) && !passage.Invisible(r) && r != '\u2800' })
}

func (c *checker) line(field, text string, most int) {
	if strings.ContainsAny(text, "\n\r\u2028\u2029") {
		c.add(field, "must be one line")
	} else if i := strings.IndexFunc(text, steers); i >= 0 {
		r, _ := utf8.DecodeRuneInString(text[i:])
		c.add(field, "must have no control characters, and has %U", r)
	}
	if n := passage.Characters.Size(text); n > most {
		c.add(field, "must have at most %d characters, and has %d", most, n)
	}
}

func (c *checker) list(field string, list []string, entries, most int) {
	c.entries(field, len(list), entries)
	for i, text := range list {
		c.entry(fmt.Sprintf("%s[%d]", field, i), text, most)
	}
}

func (c *checker) entries(field string, n, most int) {
	if n > most {
		c.add(field, "must have at most %d entries, and has %d", most, n)
	}
}

func (c *checker) entry(field, text string, most int) {
	if blank(text) {
		c.add(field, "must not be blank")
	}
	c.line(field, text, most)
}

// Check tells of every item that is over its limit (C20: what a caller sends is refused, and not cut).
func (i Items) Check() []Violation {
	c := &checker{}
	c.line("goal", i.Goal, MaxGoal)
	c.line("why_now", i.WhyNow, MaxGoal)
	c.list("constraints", i.Constraints, MaxConstraints, MaxItem)
	c.list("plan_brief", i.PlanBrief, MaxPlan, MaxItem)
	c.list("open_questions", i.OpenQuestions, MaxQuestions, MaxItem)
	return c.wrong
}

// CheckNew is Check of those items that are not as they were: what stands was taken, maybe by an earlier version.
func (i Items) CheckNew(was Items) []Violation {
	changed := Differ(was, i)
	return slices.DeleteFunc(i.Check(), func(v Violation) bool {
		name, _, _ := strings.Cut(v.Field, "[")
		return !slices.Contains(changed, name)
	})
}

// Or takes each of the five that is empty from other items: what must hold in a session holds in one that continues it, whatever else that brings.
func (i Items) Or(other Items) Items {
	list := func(a, b []string) []string {
		if len(a) == 0 {
			return b
		}
		return a
	}
	return Items{
		Goal: cmp.Or(i.Goal, other.Goal), WhyNow: cmp.Or(i.WhyNow, other.WhyNow), Constraints: list(i.Constraints, other.Constraints),
		PlanBrief: list(i.PlanBrief, other.PlanBrief), OpenQuestions: list(i.OpenQuestions, other.OpenQuestions),
	}
}

// Warnings are what does not fit together among the items (seed 001, 5.5). answered are the questions that a person has answered.
func (i Items) Warnings(answered []string) []string {
	var all []string
	if len(i.PlanBrief) > 0 && blank(i.Goal) {
		all = append(all, "there is a plan and no goal")
	}
	if !blank(i.WhyNow) && blank(i.Goal) {
		all = append(all, "there is a reason and no goal")
	}
	for _, q := range i.OpenQuestions {
		if slices.ContainsFunc(answered, func(a string) bool { return passage.Line(a) == passage.Line(q) }) {
			all = append(all, fmt.Sprintf("the question %q was answered and is still open", q))
		}
	}
	for n, list := range map[string][]string{"constraints": i.Constraints, "plan_brief": i.PlanBrief, "open_questions": i.OpenQuestions} {
		if twice := repeated(list); twice != "" {
			all = append(all, fmt.Sprintf("%s has %q twice", n, twice))
		}
	}
	slices.Sort(all)
	return all
}

func repeated(list []string) string {
	for i, text := range list {
		if slices.Contains(list[:i], text) {
			return text
		}
	}
	return ""
}

// Decide adds a line to the decision log, and the latest change. Over-long lines of our own making are cut at a character.
func (t Thread) Decide(line string) Thread {
	t.Decisions = append(slices.Clone(t.Decisions), passage.Characters.Head(passage.Line(line), MaxItem))
	t.Decisions = t.Decisions[max(0, len(t.Decisions)-MaxDecisions):]
	return t
}

// Changed is the latest change in one line: what moved, in words of the seed's example, and what changed beside it.
func (t Thread) Changed(notes []Note, also ...string) Thread {
	var all []string
	for _, n := range notes {
		switch n.Of {
		case OfStep:
			all = append(all, fmt.Sprintf("step %s -> %s (%s)", n.From, n.To, n.Trigger))
		case OfLifecycle:
			all = append(all, fmt.Sprintf("lifecycle %s -> %s", n.From, n.To))
		case OfCall:
			all = append(all, fmt.Sprintf("call %s %s", n.ID, n.To))
		}
	}
	if all = append(all, also...); len(all) > 0 {
		t.Delta = passage.Characters.Head(strings.Join(all, "; "), MaxDelta)
	}
	return t
}
