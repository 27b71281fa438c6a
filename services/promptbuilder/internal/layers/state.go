// Package layers makes the prompt of one turn of an agent (seed 001, 3, 5, 9 to 11): the layers Base, Specialized and Main and
// the Dialog Policy as sections of a system prompt, cut to token budgets in a fixed order. Constraints, the form of the
// answer, what waits for approval and what the user says are never cut (field/systemprompt-rules.md 3). Pure.
package layers

import (
	"fmt"
	"strings"

	"github.com/tsumugi-dev/tsumugi/services/internal/passage"
	"github.com/tsumugi-dev/tsumugi/services/promptbuilder/internal/sysprompt"
)

// Pattern says which layers a prompt has.
type Pattern string

// The patterns. The model may not choose the last one.
const (
	BaseMain            Pattern = "base_main"
	BaseMainSpecialized Pattern = "base_main_specialized"
	BaseSpecialized     Pattern = "base_specialized"
)

// Request asks for the prompt of a turn. Fields are those of BuildAgentRequest, where their limits stand.
type Request struct {
	System sysprompt.Request
	State  State
	User   string
}

// State is what the layers print.
type State struct {
	Pattern                               Pattern
	Step, Status, OngoingTask             string
	Goal, WhyNow                          string
	Constraints, PlanBrief, OpenQuestions []string
	Memory                                *Memory
	SessionID                             string
	Summaries                             []Summary
	Exchanges                             []Exchange
	Pending                               []Pending
	Evidence                              []Evidence
	Base                                  Base
	NoDialogPolicy                        bool
	LongReply                             int
	ShowCounters                          bool
	Conversations                         int
	LastUpdated                           string
	Budgets                               Budgets
	Reserved                              int
}

// Memory is what an agent remembers of its user; nil numbers are not printed.
type Memory struct {
	Files, Operations *int
	Patterns, Wishes  []string
}

// Summary is an earlier turn in short. Opening says that it is only its beginning.
type Summary struct {
	Text    string
	Opening bool
}

// Exchange is an earlier turn.
type Exchange struct{ User, Assistant string }

// Pending is what waits for approval.
type Pending struct{ ID, Kind, Tool, Intent string }

// Evidence is a text that the model may rely on.
type Evidence struct{ Source, Text string }

// Base are lines in place of the default ones; nil lists have these, an empty one takes its block away.
type Base struct{ Personality, Principles, Safety, Limits *[]string }

// baseList is one of the lists of the base, by the placeholder of its block.
type baseList struct {
	name string
	own  *[]string
}

func (b Base) lists() []baseList {
	return []baseList{{"personality", b.Personality}, {"principles", b.Principles}, {"safety", b.Safety}, {"limits", b.Limits}}
}

// Budgets are in tokens; 0 is not checked.
type Budgets struct{ Base, Main, Specialized, Total int }

// The budgets where a request has none (seed 001, 11.1).
const (
	DefaultBase        = 1000
	DefaultMain        = 2000
	DefaultSpecialized = 1200
)

// The limits of 3.2, in characters of a line, and how many there may be.
const (
	maxBase        = 1000
	maxGoal        = 200
	maxTask        = 100
	maxItem        = 100
	maxConstraints = 2
	maxPlan        = 3
	maxQuestions   = 2
	maxMemory      = 40
	maxMemories    = 3

	lastSummaries = 5
	maxSummary    = 100
	lastExchanges = 3
	maxExchange   = 100
	leastHalf     = 50
	lastEvidence  = 8
	maxEvidence   = 1000
	maxIntent     = 100
	maxPending    = 64
	maxList       = 1000 // entries of a list of which the last are printed
	maxText       = 1 << 20
	maxWord       = 64

	defaultLongReply = 600
)

// steps are those that have a specialized layer.
var steps = map[string]bool{"PLANNING": true, "EXECUTION": true, "REVIEW": true}

// checker gathers what is wrong with a state.
type checker struct{ wrong []sysprompt.Violation }

func (c *checker) add(field, format string, args ...any) {
	c.wrong = append(c.wrong, sysprompt.Violation{Field: field, Description: fmt.Sprintf(format, args...)})
}

func (c *checker) line(field, text string, most int) {
	if n := passage.Characters.Size(passage.Line(text)); n > most {
		c.add(field, "must have at most %d characters, and has %d", most, n)
	}
}

func (c *checker) list(field string, list []string, entries, most int) {
	if len(list) > entries {
		c.add(field, "must have at most %d entries, and has %d", entries, len(list))
	}
	for i, text := range list {
		c.line(fmt.Sprintf("%s[%d]", field, i), text, most)
	}
}

// CheckState finds what is wrong with a state.
func CheckState(s State) []sysprompt.Violation {
	c := &checker{}
	switch s.Pattern {
	case "", BaseMain, BaseMainSpecialized, BaseSpecialized:
	default:
		c.add("pattern", "must be %s, %s or %s, and is %.60q", BaseMain, BaseMainSpecialized, BaseSpecialized, s.Pattern)
	}
	for _, f := range []struct {
		field, text string
		most        int
	}{
		{"step", s.Step, maxWord}, {"status", s.Status, maxWord}, {"ongoing_task", s.OngoingTask, maxTask}, {"goal", s.Goal, maxGoal}, {"why_now", s.WhyNow, maxGoal},
		{"session_id", s.SessionID, maxGoal}, {"last_updated", s.LastUpdated, maxItem},
	} {
		c.line(f.field, f.text, f.most)
	}
	c.list("constraints", s.Constraints, maxConstraints, maxItem)
	c.list("plan_brief", s.PlanBrief, maxPlan, maxItem)
	c.list("open_questions", s.OpenQuestions, maxQuestions, maxItem)
	if s.Memory != nil {
		c.list("memory.learned_patterns", s.Memory.Patterns, maxMemories, maxMemory)
		c.list("memory.user_settings", s.Memory.Wishes, maxMemories, maxMemory)
	}
	c.pending(s.Pending)
	c.sizes(s)
	return c.wrong
}

func (c *checker) pending(all []Pending) {
	if len(all) > maxPending {
		c.add("pending", "must have at most %d entries, and has %d", maxPending, len(all))
	}
	for i, p := range all {
		field := fmt.Sprintf("pending[%d]", i)
		for _, f := range []struct{ name, text string }{{"id", p.ID}, {"kind", p.Kind}} {
			if passage.Line(f.text) == "" {
				c.add(field+"."+f.name, "is required")
			}
			c.line(field+"."+f.name, f.text, maxItem)
		}
		c.line(field+".tool", p.Tool, maxItem)
	}
}

// sizes bounds what is not refused for its length, but cut.
func (c *checker) sizes(s State) {
	for _, l := range []struct {
		field string
		n     int
	}{{"summaries", len(s.Summaries)}, {"exchanges", len(s.Exchanges)}, {"evidence", len(s.Evidence)}} {
		if l.n > maxList {
			c.add(l.field, "must have at most %d entries, and has %d", maxList, l.n)
		}
	}
	var size int
	for _, x := range s.Summaries {
		size += len(x.Text)
	}
	for _, x := range s.Exchanges {
		size += len(x.User) + len(x.Assistant)
	}
	for _, x := range s.Evidence {
		size += len(x.Source) + len(x.Text)
	}
	if size > 16*maxText {
		c.add("evidence", "summaries, exchanges and evidence must have at most %d bytes together, and have %d", 16*maxText, size)
	}
	for _, n := range []struct {
		field string
		value int
	}{
		{"budgets.base", s.Budgets.Base}, {"budgets.main", s.Budgets.Main}, {"budgets.specialized", s.Budgets.Specialized}, {"budgets.total", s.Budgets.Total},
		{"reserved_tokens", s.Reserved}, {"long_reply_chars", s.LongReply}, {"total_conversations", s.Conversations},
	} {
		if n.value < 0 {
			c.add(n.field, "must not be negative, and is %d", n.value)
		}
	}
}

// items is a list in one line; empty entries are skipped.
func items(list []string) string {
	var all []string
	for _, text := range list {
		if text = passage.Line(text); text != "" {
			all = append(all, fmt.Sprintf("(%d) %s", len(all)+1, text))
		}
	}
	return strings.Join(all, " ")
}
