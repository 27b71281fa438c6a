package layers

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tsumugi-dev/tsumugi/services/internal/passage"
	"github.com/tsumugi-dev/tsumugi/services/promptbuilder/internal/nodecontext"
	"github.com/tsumugi-dev/tsumugi/services/promptbuilder/internal/sysprompt"
)

type noRoots struct{ sysprompt.Roots }

func (noRoots) Names() []string { return nil }

func builder() *Builder {
	return NewBuilder(sysprompt.NewBuilder(noRoots{}, nil, sysprompt.Defaults{}))
}

func build(t testing.TB, r Request) (Prompt, error) {
	t.Helper()
	r, wrong := builder().Prepare(r)
	if len(wrong) > 0 {
		t.Fatalf("%v", wrong)
	}
	return builder().Build(context.Background(), r)
}

func built(t testing.TB, r Request) Prompt {
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
func full() Request {
	n := 123456
	r := Request{System: sysprompt.Request{Locale: "ja"}, User: "続けて"}
	r.State = State{
		Pattern: BaseMainSpecialized, Step: "EXECUTION", Status: "IN_PROGRESS", OngoingTask: chars(maxTask), Goal: chars(maxGoal), WhyNow: chars(maxGoal),
		Constraints: many(2, maxItem), PlanBrief: many(3, maxItem), OpenQuestions: many(2, maxItem), SessionID: "0196b2c4-1111-7aaa-8bbb-0000a1b2c301",
		Memory:  &Memory{Files: &n, Operations: &n, Patterns: many(3, maxMemory), Wishes: many(3, maxMemory)},
		Pending: []Pending{{"a-1", "TOOL_CALL", "write", chars(maxIntent)}}, Budgets: Budgets{DefaultBase, DefaultMain, DefaultSpecialized, 0},
	}
	for range 5 {
		r.State.Summaries = append(r.State.Summaries, Summary{Text: chars(maxSummary)})
	}
	for range 3 {
		r.State.Exchanges = append(r.State.Exchanges, Exchange{chars(60), chars(60)})
	}
	return r
}

// Every value at its limit fits the default budgets, also by the estimate, which counts high (field/systemprompt-rules.md 3.3).
func TestLegalSessionsFit(t *testing.T) {
	t.Parallel()
	p := built(t, full())
	if len(p.Cuts) > 0 {
		t.Errorf("cut: %v", p.Cuts)
	}
	for _, l := range p.Layers[:3] {
		if l.Tokens == 0 || l.Tokens > l.Budget {
			t.Errorf("%+v", l)
		}
	}
}

// Each limit at n and n+1.
func TestLimits(t *testing.T) {
	t.Parallel()
	for field, set := range map[string]func(s *State, over int){
		"goal":                    func(s *State, o int) { s.Goal = chars(maxGoal + o) },
		"why_now":                 func(s *State, o int) { s.WhyNow = chars(maxGoal + o) },
		"ongoing_task":            func(s *State, o int) { s.OngoingTask = chars(maxTask + o) },
		"constraints":             func(s *State, o int) { s.Constraints = many(2+o, 1) },
		"constraints[1]":          func(s *State, o int) { s.Constraints = []string{"", chars(maxItem + o)} },
		"plan_brief":              func(s *State, o int) { s.PlanBrief = many(3+o, 1) },
		"plan_brief[0]":           func(s *State, o int) { s.PlanBrief = many(1, maxItem+o) },
		"open_questions":          func(s *State, o int) { s.OpenQuestions = many(2+o, 1) },
		"open_questions[0]":       func(s *State, o int) { s.OpenQuestions = many(1, maxItem+o) },
		"memory.learned_patterns": func(s *State, o int) { s.Memory = &Memory{Patterns: many(3+o, 1)} },
		"memory.user_settings[0]": func(s *State, o int) { s.Memory = &Memory{Wishes: many(1, maxMemory+o)} },
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
	lines := []string{chars(970)}
	r := Request{System: sysprompt.Request{Identity: "x"}, State: State{Base: Base{Personality: &lines}}}
	if _, wrong := builder().Prepare(r); len(wrong) != 1 || wrong[0].Field != "agent.base" {
		t.Errorf("%v", wrong)
	}
}

// Each step of the trim order alone, in order, and what stays whatever the budget is.
func TestTrimOrder(t *testing.T) {
	t.Parallel()
	r := full()
	r.State.Evidence = []Evidence{{"old", chars(200)}, {"new", chars(200)}}
	nodes := nodecontext.Request{NoCurrent: true, TrimStep: 2}
	for i := range 4 {
		n := nodecontext.Node{ID: fmt.Sprintf("0196b2c4-1111-7aaa-8bbb-00000000000%d", i), Prompt: "p", Answer: "a", Summary: chars(150)}
		nodes.Nodes, nodes.Path = append(nodes.Nodes, n), append(nodes.Path, n.ID)
	}
	nodes.Refs, nodes.Path = nodes.Path[3:], nodes.Path[:3]
	r.System.Context = &nodes
	r.State.Budgets = Budgets{}
	whole := built(t, r).System.Tokens
	want := []string{"evidence", "evidence", "reference", "summary", "summary", "summary", "summary", "summary", "ancestors", "exchange", "exchange", "open_question", "open_question", "plan", "plan", "plan"}
	longest := 0
	for total := whole; total > 0; total -= 7 {
		r.State.Budgets.Total = total
		p, err := build(t, r)
		var over *OverflowError
		if errors.As(err, &over) {
			if over.Layer != "total" || over.Limit != total || over.Sections["main"] == 0 {
				t.Errorf("%+v", over)
			}
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		var items []string
		for _, c := range p.Cuts {
			items = append(items, c.Item)
			if c.Budget != "total" || c.After >= c.Before {
				t.Errorf("%+v", c)
			}
		}
		if len(items) > len(want) {
			t.Fatalf("%q", items)
		}
		if diff := cmp.Diff(want[:len(items)], items); len(items) > 0 && diff != "" {
			t.Fatal(diff)
		}
		longest = max(longest, len(items))
		for _, stays := range []string{"制約: (1) " + chars(maxItem), "a-1: TOOL_CALL write", `"rationale"`, "応答: "} {
			if !strings.Contains(p.System.Text, stays) {
				t.Fatalf("%q went", stays)
			}
		}
	}
	if longest != len(want) {
		t.Errorf("only %d of %d items ever went", longest, len(want))
	}
	r.State.Budgets = Budgets{Main: 1}
	if _, err := build(t, r); err == nil || !strings.Contains(err.Error(), "main") {
		t.Error(err)
	}
}

// A budget of one layer takes from that layer alone.
func TestALayerGivesWayByItself(t *testing.T) {
	t.Parallel()
	r := full()
	r.State.Budgets.Base = 600
	p := built(t, r)
	for _, c := range p.Cuts {
		if c.Item != "summary" || c.Budget != "base" {
			t.Errorf("%+v", c)
		}
	}
	if len(p.Cuts) == 0 || !strings.Contains(p.System.Text, fmt.Sprintf("- （%d件省略）\n", len(p.Cuts))) {
		t.Errorf("%v", p.Cuts)
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
