package layers

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/tsumugi-dev/tsumugi/services/internal/passage"
	"github.com/tsumugi-dev/tsumugi/services/promptbuilder/internal/sysprompt"
)

type noRoots struct{ sysprompt.Roots }

func (noRoots) Names() []string { return nil }

func builder() *Builder {
	return NewBuilder(sysprompt.NewBuilder(noRoots{}, nil, sysprompt.Defaults{}))
}

func build(t tester, r Request) (Prompt, error) {
	t.Helper()
	r, wrong := builder().Prepare(r)
	if len(wrong) > 0 {
		t.Fatalf("%v", wrong)
	}
	return builder().Build(context.Background(), r)
}

func built(t tester, r Request) Prompt {
	t.Helper()
	p, err := build(t, r)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

const prose = "吾輩は猫である名前はまだ無いどこで生れたかとんと見当がつかぬ何でも薄暗いじめじめした所でニャーニャー泣いていた事だけは記憶している吾輩はここで始めて人間というものを見たしかもあとで聞くとそれは書生という人間中で一番獰悪な種族であったそうだ"

// chars is prose of n characters.
func chars(n int) string { return passage.Characters.Head(strings.Repeat(prose, n/100+1), n) }

func many(n, size int) (list []string) {
	for range n {
		list = append(list, chars(size))
	}
	return list
}

// full is a session in which every value is at its limit, but for evidence.
func full() Request { return fullOf(chars) }

// fullOf is full with texts of so many characters each.
func fullOf(text func(characters int) string) Request {
	n := 123456
	list := func(entries, size int) (all []string) {
		for range entries {
			all = append(all, text(size))
		}
		return all
	}
	r := Request{System: sysprompt.Request{Locale: "ja"}, User: "続けて"}
	r.State = State{
		Pattern: BaseMainSpecialized, Step: "EXECUTION", Status: "IN_PROGRESS", OngoingTask: text(maxTask), Goal: text(maxGoal), WhyNow: text(maxGoal),
		Constraints: list(maxConstraints, maxItem), PlanBrief: list(maxPlan, maxItem), OpenQuestions: list(maxQuestions, maxItem), SessionID: "0196b2c4-1111-7aaa-8bbb-0000a1b2c301",
		Memory:  &Memory{Files: &n, Operations: &n, Patterns: list(maxMemories, maxMemory), Wishes: list(maxMemories, maxMemory)},
		Pending: []Pending{{"a-1", "TOOL_CALL", "write", text(maxIntent)}}, Budgets: Budgets{DefaultBase, DefaultMain, DefaultSpecialized, 0},
	}
	for range lastSummaries {
		r.State.Summaries = append(r.State.Summaries, Summary{Text: text(maxSummary)})
	}
	for range lastExchanges {
		r.State.Exchanges = append(r.State.Exchanges, Exchange{text(60), text(60)})
	}
	return r
}

// Each limit at n and n+1.
func TestLimits(t *testing.T) {
	t.Parallel()
	for field, set := range map[string]func(s *State, over int){
		"goal":                       func(s *State, o int) { s.Goal = chars(maxGoal + o) },
		"why_now":                    func(s *State, o int) { s.WhyNow = chars(maxGoal + o) },
		"ongoing_task":               func(s *State, o int) { s.OngoingTask = chars(maxTask + o) },
		"constraints":                func(s *State, o int) { s.Constraints = many(2+o, 1) },
		"constraints[1]":             func(s *State, o int) { s.Constraints = []string{"", chars(maxItem + o)} },
		"plan_brief":                 func(s *State, o int) { s.PlanBrief = many(3+o, 1) },
		"plan_brief[0]":              func(s *State, o int) { s.PlanBrief = many(1, maxItem+o) },
		"open_questions":             func(s *State, o int) { s.OpenQuestions = many(2+o, 1) },
		"open_questions[0]":          func(s *State, o int) { s.OpenQuestions = many(1, maxItem+o) },
		"step":                       func(s *State, o int) { s.Step = chars(maxWord + o) },
		"status":                     func(s *State, o int) { s.Status = chars(maxWord + o) },
		"session_id":                 func(s *State, o int) { s.SessionID = chars(maxGoal + o) },
		"last_updated":               func(s *State, o int) { s.LastUpdated = chars(maxItem + o) },
		"pending":                    func(s *State, o int) { s.Pending = slices.Repeat([]Pending{{"a", "b", "", ""}}, maxPending+o) },
		"pending[0].id":              func(s *State, o int) { s.Pending = []Pending{{chars(maxItem + o), "b", "", ""}} },
		"pending[0].kind":            func(s *State, o int) { s.Pending = []Pending{{"a", chars(maxItem + o), "", ""}} },
		"pending[0].tool":            func(s *State, o int) { s.Pending = []Pending{{"a", "b", chars(maxItem + o), ""}} },
		"summaries":                  func(s *State, o int) { s.Summaries = make([]Summary, maxList+o) },
		"exchanges":                  func(s *State, o int) { s.Exchanges = make([]Exchange, maxList+o) },
		"evidence":                   func(s *State, o int) { s.Evidence = make([]Evidence, maxList+o) },
		"memory.user_settings":       func(s *State, o int) { s.Memory = &Memory{Wishes: many(3+o, 1)} },
		"budgets.total":              func(s *State, o int) { s.Budgets.Total = -o },
		"reserved_tokens":            func(s *State, o int) { s.Reserved = -o },
		"long_reply_chars":           func(s *State, o int) { s.LongReply = -o },
		"memory.learned_patterns[2]": func(s *State, o int) { s.Memory = &Memory{Patterns: []string{"", "", chars(maxMemory + o)}} },
		"memory.learned_patterns":    func(s *State, o int) { s.Memory = &Memory{Patterns: many(3+o, 1)} },
		"memory.user_settings[0]":    func(s *State, o int) { s.Memory = &Memory{Wishes: many(1, maxMemory+o)} },
	} {
		for over := range 2 {
			var s State
			set(&s, over)
			wrong := CheckState(s)
			if (len(wrong) == 1 && wrong[0].Field == field) != (over == 1) || over == 0 && len(wrong) > 0 {
				t.Errorf("%s over by %d: %v", field, over, wrong)
			}
		}
	}
	for over := range 2 {
		r := Request{System: sysprompt.Request{Locale: "en", Identity: "x"}, State: State{Base: Base{Principles: &[]string{}, Safety: &[]string{}, Limits: &[]string{}}}}
		lines := []string{chars(maxBase - len("x\n\nCharacter:\n- ") + over)}
		r.State.Base.Personality = &lines
		if _, wrong := builder().Prepare(r); over == 0 && len(wrong) > 0 || over == 1 && (len(wrong) != 1 || wrong[0].Field != "agent.base") {
			t.Errorf("identity and base over by %d: %v", over, wrong)
		}
		r = Request{User: strings.Repeat("x", 4*maxText+over)}
		if _, wrong := builder().Prepare(r); over == 0 && len(wrong) > 0 || over == 1 && (len(wrong) != 1 || wrong[0].Field != "user") {
			t.Errorf("what the user says over by %d: %v", over, wrong)
		}
	}
}

// Which layers a pattern prints, and where the rules of the dialogue stand.
func TestPatterns(t *testing.T) {
	t.Parallel()
	has := func(p Prompt) (ids string) {
		for _, s := range p.System.Sections {
			ids += " " + s.ID
		}
		return ids
	}
	for _, c := range []struct {
		pattern Pattern
		step    string
		mode    sysprompt.Mode
		policy  bool
		want    string
	}{
		{"", "PLANNING", sysprompt.Full, true, " identity base dialog_policy main"},
		{BaseMainSpecialized, "PLANNING", sysprompt.Full, true, " identity base dialog_policy specialized main"},
		{BaseMainSpecialized, "AWAITING_APPROVAL", sysprompt.Full, true, " identity base dialog_policy main"},
		{BaseSpecialized, "REVIEW", sysprompt.Minimal, true, " identity base specialized main"},
		{BaseMain, "REVIEW", sysprompt.Full, false, " identity base main"},
	} {
		p := built(t, Request{System: sysprompt.Request{Locale: "ja", Mode: c.mode}, State: State{Pattern: c.pattern, Step: c.step, NoDialogPolicy: !c.policy}})
		if got := has(p); got != c.want {
			t.Errorf("%+v: %s", c, got)
		}
	}
}

// What looks like a placeholder in a value stays text.
func TestPlaceholdersInValues(t *testing.T) {
	t.Parallel()
	r := Request{State: State{Goal: "{why_now}", WhyNow: "{goal}", Constraints: []string{"{constraints}"}}}
	text := built(t, r).System.Text
	for _, want := range []string{"目標: {why_now}\n", "なぜ今やるのか: {goal}\n", "制約: (1) {constraints}\n"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in %s", want, text)
		}
	}
}

// A block of the caller's own base is called by the first of its values, in every build.
func TestABlockWithTwoValues(t *testing.T) {
	t.Parallel()
	r := Request{System: sysprompt.Request{Locale: "en", Texts: map[string]string{"base": "{limits}\n{safety}\n{personality}\n\nEnd."}}}
	for range 20 {
		parts := built(t, r).System.Sections[1].Parts
		if len(parts) != 2 || parts[0].ID != "personality" || parts[1].ID != "" {
			t.Fatalf("%+v", parts)
		}
	}
}

// The part above the boundary is the same in twenty turns of one session, and in another session of the same agent.
func TestTheStablePartStays(t *testing.T) {
	t.Parallel()
	digests := map[string]bool{}
	for turn := range 20 {
		r := full()
		r.System.Tools = []sysprompt.Tool{{Name: "read"}, {Name: "write"}}
		r.System.Files = []sysprompt.File{{Name: "AGENTS.md", Content: []byte("規則")}}
		r.State.Step = []string{"PLANNING", "EXECUTION", "REVIEW", "AWAITING_APPROVAL"}[turn%4]
		r.State.SessionID = fmt.Sprint("s-", turn/10)
		r.State.Evidence = []Evidence{{"read", fmt.Sprint(turn)}}
		r.State.Pending = r.State.Pending[:turn%2]
		digests[built(t, r).System.Cache.Digest] = true
	}
	if len(digests) != 1 {
		t.Errorf("%d stable parts", len(digests))
	}
}

// An approval has one line, which ends with what is there.
func TestLinesOfApprovals(t *testing.T) {
	t.Parallel()
	r := Request{System: sysprompt.Request{Locale: "en"}, State: State{Pending: []Pending{
		{"a", "TOOL_CALL", "write", "save"}, {"b", "PLAN", "", "begin"}, {"c", "TOOL_CALL", "write", ""}, {"d", "PLAN", "", " "},
	}}}
	want := "# Waiting for approval\n- a: TOOL_CALL write: save\n- b: PLAN: begin\n- c: TOOL_CALL write\n- d: PLAN\n\n"
	if text := built(t, r).System.Text; !strings.Contains(text, want) {
		t.Errorf("%q is not in %s", want, text)
	}
}
