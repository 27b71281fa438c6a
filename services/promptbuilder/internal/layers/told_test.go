package layers

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tsumugi-dev/tsumugi/services/internal/passage"
	"github.com/tsumugi-dev/tsumugi/services/promptbuilder/internal/sysprompt"
)

// What is not refused for its length is cut to it, at one character over it and not before, and the reply tells.
func TestWhatIsCutIsTold(t *testing.T) {
	t.Parallel()
	cut := func(text string, n int) string { return passage.Characters.Head(text, n-1) + "…" }
	const opening = "（冒頭のみ）"
	for name, c := range map[string]struct {
		set    func(s *State, over int)
		whole  string
		part   string
		told   string
		lacked string // stands in the whole one, and not in the other
	}{
		"a summary": {
			func(s *State, o int) { s.Summaries = []Summary{{Text: chars(100 + o)}} }, "- " + chars(100) + "\n", "- " + cut(chars(101), 100) + "\n",
			"item_shortened summaries agent.summaries[0] has 101 characters, of which at most 100 are printed", "",
		},
		"a summary that is a beginning": {
			func(s *State, o int) { s.Summaries = []Summary{{Text: chars(94 + o), Opening: true}} }, "- " + opening + chars(94) + "\n", "- " + cut(opening+chars(95), 100) + "\n",
			"item_shortened summaries agent.summaries[0] has 101 characters, of which at most 100 are printed", "",
		},
		"summaries": {
			func(s *State, o int) {
				for i := range 5 + o {
					s.Summaries = append(s.Summaries, Summary{Text: fmt.Sprint("summary ", i)})
				}
			}, "- summary 0\n- summary 1\n- summary 2\n- summary 3\n- summary 4\n", "- summary 1\n- summary 2\n- summary 3\n- summary 4\n- summary 5\n",
			"item_left_out summaries agent.summaries has 6 entries, of which the last 5 are printed", "summary 0",
		},
		"a turn whose user says much": {
			func(s *State, o int) { s.Exchanges = []Exchange{{chars(70 + o), chars(30)}} }, "ユーザー: " + chars(70) + "\n応答: " + chars(30) + "\n",
			"ユーザー: " + cut(chars(71), 70) + "\n応答: " + chars(30) + "\n", "item_shortened main agent.exchanges[0] has 101 characters, of which at most 100 are printed", "",
		},
		"a turn whose model says much": {
			func(s *State, o int) { s.Exchanges = []Exchange{{chars(10), chars(90 + o)}} }, "ユーザー: " + chars(10) + "\n応答: " + chars(90) + "\n",
			"ユーザー: " + chars(10) + "\n応答: " + cut(chars(91), 90) + "\n", "item_shortened main agent.exchanges[0] has 101 characters, of which at most 100 are printed", "",
		},
		"a turn in which both do": {
			func(s *State, o int) { s.Exchanges = []Exchange{{chars(50 + o), chars(50 + 9*o)}} }, "ユーザー: " + chars(50) + "\n応答: " + chars(50) + "\n",
			"ユーザー: " + cut(chars(51), 50) + "\n応答: " + cut(chars(59), 50) + "\n", "item_shortened main agent.exchanges[0] has 110 characters, of which at most 100 are printed", "",
		},
		"turns": {
			func(s *State, o int) {
				for i := range 3 + o {
					s.Exchanges = append(s.Exchanges, Exchange{fmt.Sprint("ask ", i), "a"})
				}
			}, "ユーザー: ask 0\n応答: a\nユーザー: ask 1\n応答: a\nユーザー: ask 2\n", "ユーザー: ask 1\n応答: a\nユーザー: ask 2\n応答: a\nユーザー: ask 3\n",
			"item_left_out main agent.exchanges has 4 entries, of which the last 3 are printed", "ask 0",
		},
		"evidence": {
			func(s *State, o int) { s.Evidence = []Evidence{{"read", chars(1000 + o)}} }, ">\n" + chars(1000) + "\n</evidence>", ">\n" + chars(980) + "\n[... truncated ...]\n</evidence>",
			"item_shortened main agent.evidence[0] has 1001 characters, of which at most 1000 are printed", "",
		},
		"much evidence": {
			func(s *State, o int) {
				for i := range 8 + o {
					s.Evidence = append(s.Evidence, Evidence{"read", fmt.Sprint("text ", i)})
				}
			}, "\ntext 0\n", "\ntext 8\n", "item_left_out main agent.evidence has 9 entries, of which the last 8 are printed", "text 0",
		},
		"evidence with a control character": {
			func(s *State, o int) { s.Evidence = []Evidence{{"read", "a" + strings.Repeat("\x00", o) + "b"}} }, ">\nab\n</evidence>", ">\nab\n</evidence>",
			"text_cleaned main agent.evidence[0].text: 1 control or tag characters are gone", "",
		},
		"an intent": {
			func(s *State, o int) { s.Pending = []Pending{{"a-1", "TOOL_CALL", "write", chars(100 + o)}} }, "write: " + chars(100) + "\n", "write: " + cut(chars(101), 100) + "\n",
			"item_shortened main agent.pending[0] has 101 characters, of which at most 100 are printed", "",
		},
	} {
		for over := range 2 {
			r := Request{System: sysprompt.Request{Locale: "ja"}, State: State{Goal: "g"}}
			c.set(&r.State, over)
			p := built(t, r)
			want, told := c.whole, []string(nil)
			if over == 1 {
				want, told = c.part, []string{c.told}
			}
			if !strings.Contains(p.System.Text, want) || over == 1 && c.lacked != "" && strings.Contains(p.System.Text, c.lacked) {
				t.Errorf("%s over by %d: %q is not in %s", name, over, want, p.System.Text)
			}
			var got []string
			for _, d := range p.System.Diagnostics {
				got = append(got, d.Code+" "+d.Section+" "+d.Message)
			}
			if diff := cmp.Diff(told, got); diff != "" {
				t.Errorf("%s over by %d: %s", name, over, diff)
			}
		}
	}
}

// Of what is left out nothing is said to be printed in part.
func TestWhatIsLeftOutIsNotToldAsCut(t *testing.T) {
	t.Parallel()
	long := State{
		Goal: "g", Summaries: []Summary{{Text: chars(101)}}, Exchanges: []Exchange{{chars(101), ""}}, Evidence: []Evidence{{"read", chars(1001) + "\x00"}},
		Pending: []Pending{{"a-1", "TOOL_CALL", "", chars(101)}},
	}
	for name, c := range map[string]struct {
		system sysprompt.Request
		told   int // beside what is left out
	}{
		"nothing left out": {sysprompt.Request{}, 5},
		"sections":         {sysprompt.Request{Exclude: []string{"summaries"}}, 4},
		"texts":            {sysprompt.Request{Texts: map[string]string{"summaries": "S", "main.evidence": "E", "main.recent": "R"}}, 1},
	} {
		told := 0
		for _, d := range built(t, Request{System: c.system, State: long}).System.Diagnostics {
			if d.Code == "item_shortened" || d.Code == "text_cleaned" {
				told++
			}
		}
		if told != c.told {
			t.Errorf("%s: %d items are told, not %d", name, told, c.told)
		}
	}
}

// Whatever an agent sends and is printed: what was taken out of it is told, by its field.
func TestWhatIsCleanedIsTold(t *testing.T) {
	t.Parallel()
	const bell = "a\u0007b"
	own := []string{bell}
	s := State{
		Pattern: BaseMain, Step: "PLANNING" + bell, Status: bell, OngoingTask: bell, Goal: bell, WhyNow: bell, Constraints: []string{"x", bell}, PlanBrief: own, OpenQuestions: own,
		Memory: &Memory{Patterns: own, Wishes: own}, SessionID: bell, Summaries: []Summary{{Text: "0"}, {Text: "1"}, {Text: "2"}, {Text: "3"}, {Text: "4"}, {Text: bell}},
		Exchanges: []Exchange{{bell, "x"}, {"x", bell}}, Pending: []Pending{{bell, bell, bell, bell}}, Evidence: []Evidence{{bell, bell}},
		Base: Base{Personality: &own}, ShowCounters: true, LastUpdated: bell,
	}
	told := func(r Request) map[string]string {
		all := map[string]string{}
		for _, d := range built(t, r).System.Diagnostics {
			if field, what, ok := strings.Cut(d.Message, ": "); ok && d.Code == "text_cleaned" && what == "1 control or tag characters are gone" {
				all[strings.TrimPrefix(field, "agent.")] = d.Section
			}
		}
		return all
	}
	want := map[string]string{
		"base.personality.lines[0]": "base", "memory.learned_patterns[0]": "long_term_memory", "memory.user_settings[0]": "long_term_memory", "session_id": "session",
		"summaries[5].text": "summaries", "last_updated": "session_counters", "step": "main", "status": "main", "ongoing_task": "main", "goal": "main", "why_now": "main",
		"constraints[1]": "main", "plan_brief[0]": "main", "open_questions[0]": "main", "pending[0].id": "main", "pending[0].kind": "main", "pending[0].tool": "main",
		"pending[0].intent": "main", "evidence[0].source": "main", "evidence[0].text": "main", "exchanges[0].user": "main", "exchanges[1].assistant": "main",
	}
	r := Request{State: s}
	if diff := cmp.Diff(want, told(r)); diff != "" {
		t.Error(diff)
	}
	for _, field := range []string{"goal", "session_id", "evidence[0].source", "evidence[0].text"} {
		delete(want, field)
	}
	r.System.Texts = map[string]string{"main.five": "{why_now} {constraints} {plan_brief} {open_questions}", "main.evidence": "E"}
	r.System.Exclude = []string{"session"}
	if diff := cmp.Diff(want, told(r)); diff != "" {
		t.Errorf("what is not printed: %s", diff)
	}
}
