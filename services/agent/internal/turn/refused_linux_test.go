package turn

import (
	"fmt"
	"strings"
	"testing"

	"github.com/tsumugi-dev/tsumugi/services/agent/internal/audit"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/ledger"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/policy"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/session"
	"github.com/tsumugi-dev/tsumugi/services/internal/llm"
)

const no = "no: 制約外"

// TestFailedReadsEndNoBatch: three reads that fail are an error when their batch has ended, and not before: what is called beside them is carried
// out, or asked about, and the model is told of each call what became of it (C39, C65, C69).
func TestFailedReadsEndNoBatch(t *testing.T) {
	t.Parallel()
	missing := []any{call("read", "path", "m1"), call("read", "path", "m2"), call("read", "path", "m3")}
	batch := say("EXECUTION", "continue", "actions", append(missing, call("create", "path", "a.md", "content", "x")))
	stop := say("PLANNING", "pending_user", "question", "どうしますか？")
	for name, tt := range map[string]struct {
		allowed  bool
		decision session.Decision
		file     string
		told     []string
	}{
		"allowed":  {true, "", "x", []string{`"status":"EXECUTED"`}},
		"approved": {false, session.Approve, "x", []string{`"status":"EXECUTED"`}},
		"denied":   {false, session.Deny, "", []string{`"status":"DENIED"`, "まだ早い"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			if tt.allowed {
				r.rules = []policy.Rule{{ID: "all", Effect: policy.EffectAllow, Tool: "create"}}
			}
			s := r.send("書いて", batch, stop)
			if wait := r.pending(); !tt.allowed && len(wait) == 1 {
				r.ok(r.decide(wait[0], tt.decision, "まだ早い"))
				s = r.drive()
			}
			told := r.told(1)
			if r.file("a.md") != tt.file || len(told) != 4 || s.State.Recoveries != 1 || s.State.Step != session.Planning {
				t.Fatalf("%q is written, the model was told %q, %+v", r.file("a.md"), told, s.State)
			}
			for i, one := range told[:3] {
				if !strings.Contains(one, `"status":"FAILED"`) {
					t.Errorf("of read %d it was told %s", i, one)
				}
			}
			for _, want := range tt.told {
				if !strings.Contains(told[3], want) {
					t.Errorf("of the other call it was told %s", told[3])
				}
			}
			if rows := r.kinds(); tt.file != "" && (rows[audit.Intent] != 1 || rows[audit.Execute] != 1) {
				t.Errorf("rows: %v", rows)
			}
			r.sound()
		})
	}
}

// TestNothingIsCalledAfterANo: once a check has said no nothing is called in the utterance, reads included, and the model is told how it may call
// again, which works (C63).
func TestNothingIsCalledAfterANo(t *testing.T) {
	t.Parallel()
	read := []any{call("read", "path", "a.md")}
	write := []any{call("read", "path", "a.md"), call("create", "path", "b.md", "content", "x")}
	for name, then := range map[string]string{
		"a read":                say("PLANNING", "continue", "actions", read),
		"a read and a change":   say("PLANNING", "continue", "actions", write),
		"a read, and it moves":  say("REVIEW", "continue", "actions", read),
		"a read, and it begins": say("EXECUTION", "continue", "actions", read),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			r.ok(writeFile(r, "a.md", "秘密"))
			s := r.send("見て", say("PLANNING", "continue", "constraint_check", no, "actions", read), then, say("PLANNING", "continue"), say("PLANNING", "continue", "actions", read),
				say("PLANNING", "done", "reply", "見ました。"))
			for i, results := range [][]string{r.told(4), r.told(3)} {
				for _, one := range results {
					if !strings.Contains(one, `"status":"REFUSED"`) || !strings.Contains(one, "next_step continue") || strings.Contains(one, "秘密") {
						t.Errorf("after answer %d the model was told %s", i+1, one)
					}
				}
			}
			if all := r.told(1); !strings.Contains(all[len(all)-1], "秘密") {
				t.Errorf("in the next utterance it was told %q", all)
			}
			if s.State.Status != session.Success || s.State.Step != session.Planning || s.Talk.ToolCalls != 1 || r.file("b.md") != "" {
				t.Errorf("%+v, %d calls are charged, %q is written", s.State, s.Talk.ToolCalls, r.file("b.md"))
			}
			r.sound()
		})
	}
}

// TestReadsGoWithTheirMove: where the move of an answer is refused none of its calls is made, reads included, and the model is told why (C62).
func TestReadsGoWithTheirMove(t *testing.T) {
	t.Parallel()
	read := call("read", "path", "a.md")
	for name, tt := range map[string]struct {
		lines []string
		told  string
	}{
		"the second move of an utterance": {[]string{say("EXECUTION", "continue", "actions", []any{call("list", "path", ".")}), say("REVIEW", "continue", "actions", []any{read})}, "one move an utterance"},
		"changes go with EXECUTION":       {[]string{say("REVIEW", "continue", "actions", []any{read, call("create", "path", "b.md", "content", "x")})}, "calls with effects go with EXECUTION"},
	} {
		r := newRig(t)
		r.ok(writeFile(r, "a.md", "秘密"))
		r.send("見て", append(tt.lines, say("PLANNING", "pending_user"))...)
		told := r.told(1)
		if last := told[len(told)-1]; !strings.Contains(last, `"status":"REFUSED"`) || !strings.Contains(last, tt.told) || strings.Contains(strings.Join(told, ""), "秘密") {
			t.Errorf("%s: the model was told %q", name, told)
		}
		if n := r.kinds(); n[audit.Ask] != 0 || len(r.pending()) != 0 {
			t.Errorf("%s: rows %v", name, n)
		}
		r.sound()
	}
}

// TestARefusedAnswerChangesNothing: what is refused takes the whole answer with it, the change of the five items too (C61), and the model is told
// so; where a part is refused, and where a check says no to nothing, the change is taken.
func TestARefusedAnswerChangesNothing(t *testing.T) {
	t.Parallel()
	delta := map[string]any{"goal": "別の目標", "open_questions": []string{}}
	list := []any{call("list", "path", ".")}
	ask := say("PLANNING", "pending_user", "question", "どうしますか？")
	for name, tt := range map[string]struct {
		lines []string
		taken bool
	}{
		"a move against a check":         {[]string{say("REVIEW", "done", "constraint_check", no, "state_delta", delta)}, false},
		"calls against a check":          {[]string{say("PLANNING", "continue", "constraint_check", no, "state_delta", delta, "actions", list), ask}, false},
		"calls after a no":               {[]string{say("PLANNING", "continue", "constraint_check", no, "actions", list), say("PLANNING", "continue", "state_delta", delta, "actions", list), ask}, false},
		"the end of a task against one":  {[]string{say("REVIEW", "continue"), say("REVIEW", "done", "constraint_check", no, "state_delta", delta)}, false},
		"a move that there is not":       {[]string{say("AWAITING_APPROVAL", "continue", "state_delta", delta), ask}, false},
		"a second move":                  {[]string{say("EXECUTION", "continue", "actions", list), say("REVIEW", "continue", "state_delta", delta), ask}, false},
		"a second move with calls":       {[]string{say("EXECUTION", "continue", "actions", list), say("REVIEW", "continue", "state_delta", delta, "actions", list), ask}, false},
		"the end with the move to it":    {[]string{say("REVIEW", "done", "state_delta", delta), ask}, true},
		"a no that asks for nothing":     {[]string{say("PLANNING", "continue", "constraint_check", no, "state_delta", delta), ask}, true},
		"a question beside calls":        {[]string{say("PLANNING", "continue", "state_delta", delta, "actions", list, "question", "どれ？"), ask}, true},
		"calls of which each is refused": {[]string{say("PLANNING", "continue", "state_delta", delta, "actions", []any{call("read", "path", "../x")}), ask}, true},
	} {
		r := newRig(t)
		_, err := r.Ledger.Update(t.Context(), ns, id, "", ann, func(s *ledger.Session) error {
			s.Items.Goal, s.Items.OpenQuestions = "港の話", []string{"頁数は？"}
			return nil
		})
		r.ok(err)
		s := r.send("書いて", tt.lines...)
		want := map[bool]string{false: "港の話 [頁数は？]", true: "別の目標 []"}[tt.taken]
		if got := fmt.Sprint(s.Items.Goal, " ", s.Items.OpenQuestions); got != want {
			t.Errorf("%s: %s", name, got)
		}
		if told := r.last().Content; len(tt.lines) > 1 && tt.lines[len(tt.lines)-1] == ask && !tt.taken && !strings.Contains(told, "state_delta") {
			t.Errorf("%s: the model was told %s", name, told)
		}
		r.sound()
	}
}

// TestLastDeltaIsTheAgents: a state_delta of text is kept with the answer, and says nothing of what changed (C21).
func TestLastDeltaIsTheAgents(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	s := r.send("始めて", say("EXECUTION", "done", "state_delta", "Step moved to DONE; user approved everything"))
	if s.Thread.Delta != "step PLANNING -> EXECUTION (MODEL)" {
		t.Errorf("the latest change is %q", s.Thread.Delta)
	}
	if s = r.send("次", say("EXECUTION", "done", "state_delta", "all is approved")); s.Thread.Delta != "step PLANNING -> EXECUTION (MODEL)" {
		t.Errorf("the latest change is %q", s.Thread.Delta)
	}
	r.sound()
}

// TestTheModelsChangesAreTold: a row and the latest change name the items that an answer changed, and not those that it leaves as they were.
func TestTheModelsChangesAreTold(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	was, err := r.Ledger.Get(t.Context(), ns, id)
	r.ok(err)
	delta := map[string]any{"goal": was.Items.Goal, "plan_brief": []string{"読む"}, "open_questions": []string{"いつ"}}
	want := "plan_brief, open_questions changed by the model"
	latest := "step PLANNING -> EXECUTION (MODEL); " + want
	for range 2 { // The second answer changes nothing.
		if s := r.send("始めて", say("EXECUTION", "done", "state_delta", delta)); s.Thread.Delta != latest {
			t.Errorf("the latest change is %q, want %q", s.Thread.Delta, latest)
		}
		r.model.lines = nil
	}
	told := 0
	for row, err := range r.Ledger.Rows(t.Context(), ns, id, 1) {
		if r.ok(err); row.Kind == audit.Update {
			told++
			if row.Reason != want || !strings.Contains(row.Details, `"fields":["plan_brief","open_questions"]`) || strings.Contains(row.Details, "読む") || row.Turn == "" {
				t.Errorf("%+v", row)
			}
		}
	}
	if told != 1 {
		t.Errorf("%d rows tell of it", told)
	}
	r.sound()
}

// TestBesideCalls: calls win. What a person would be asked beside them is refused with a row, and the model is told of it with the last result, also
// where a person decides first (C33).
func TestBesideCalls(t *testing.T) {
	t.Parallel()
	plan := map[string]any{"name": "案", "aim": "書く", "steps": []string{"書く"}, "risk": "低", "criterion": "一頁"}
	stop := say("PLANNING", "pending_user")
	for name, tt := range map[string]struct {
		lines  []string
		told   []string
		asks   bool
		second bool
	}{
		"a plan, its approval and a question": {
			[]string{say("AWAITING_APPROVAL", "continue", "plan", plan, "question", "Which port?", "actions", []any{call("list", "path", ".")}), stop},
			[]string{"the approval", "the plan", "the question"}, false, false,
		},
		"a plan":     {[]string{say("EXECUTION", "continue", "plan", plan, "actions", []any{call("list", "path", ".")}), say("EXECUTION", "done")}, []string{"the plan"}, false, false},
		"a question": {[]string{say("PLANNING", "pending_user", "question", "どれ？", "actions", []any{call("list", "path", ".")}), stop}, []string{"the question"}, false, false},
		"a result":   {[]string{say("REVIEW", "continue"), say("AWAITING_APPROVAL", "continue", "actions", []any{call("list", "path", ".")}), say("REVIEW", "defer")}, []string{"the approval"}, false, false},
		"a question beside a call that is asked about": {
			[]string{say("EXECUTION", "continue", "question", "どれ？", "actions", creates(1)), say("EXECUTION", "done")}, []string{"the question"}, true, false,
		},
		"and it is told once": {
			[]string{
				say("PLANNING", "continue", "question", "どれ？", "actions", []any{call("list", "path", ".")}),
				say("PLANNING", "continue", "actions", []any{call("list", "path", ".")}), stop,
			}, []string{"the question"}, false, true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			s := r.send("書いて", tt.lines...)
			if tt.asks {
				r.ok(r.decide(r.pending()[0], session.Approve, ""))
				s = r.drive()
			}
			if s.State.Question.ID != "" || len(r.pending()) != 0 || s.State.Turn.Running != session.NoTurn {
				t.Errorf("%+v, %+v", s.State, r.pending())
			}
			asked, said := r.model.asked[len(r.model.asked)-1].Messages, 0
			for i, m := range asked {
				if !strings.Contains(m.Content, "refused_beside_the_calls") {
					continue
				}
				if said++; m.Role != llm.RoleTool || i > 0 && i+1 < len(asked) && asked[i+1].Role == llm.RoleTool {
					t.Errorf("it stands with %+v", m)
				}
				for _, want := range tt.told {
					if !strings.Contains(m.Content, want) {
						t.Errorf("the model was told %s, and not of %s", m.Content, want)
					}
				}
			}
			if results := r.told(1); said != 1 || strings.Contains(strings.Join(results, ""), "REFUSED") || tt.second != (len(results) == 2) {
				t.Errorf("it was told %d times, beside %q", said, results)
			}
			if n := r.kinds()[audit.Refusal]; n != 1 {
				t.Errorf("%d rows tell of it", n)
			}
			r.sound()
		})
	}
}

// TestAQuestionThatIsNotAsked: a question with another next_step than pending_user, or beside an approval, opens none: a row tells it, and the model is told
// with what it is asked next, with the decision where there is one (C32, C33).
func TestAQuestionThatIsNotAsked(t *testing.T) {
	t.Parallel()
	plan := map[string]any{"name": "案", "aim": "書く", "steps": []string{"書く"}, "risk": "低", "criterion": "一頁"}
	for name, tt := range map[string]struct {
		line, told string
		asks       bool
	}{
		"continue":         {say("PLANNING", "continue", "question", "どれ？"), `"refused":"a question waits for the user, and next_step continue does not: the question had no effect; ask it with next_step pending_user`, false},
		"a move":           {say("EXECUTION", "continue", "question", "どれ？"), `next_step continue does not`, false},
		"beside a plan":    {say("AWAITING_APPROVAL", "pending_user", "plan", plan, "question", "よいですか？"), `"refused_beside_it":"beside an approval nothing else is asked`, true},
		"two refused ones": {say("REVIEW", "done", "question", "どれ？"), `next_step done does not: the question had no effect; ask it with next_step pending_user, beside nothing else that a person is asked; one move an utterance`, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			s := r.send("書いて", tt.line, say("PLANNING", "pending_user", "question", "本当に？"))
			if tt.asks {
				if s.State.Question.ID != "" || len(r.pending()) != 1 {
					t.Errorf("%+v", s.State)
				}
				r.ok(r.decide(r.pending()[0], session.Deny, ""))
				s = r.drive()
			}
			if told := r.last(); told.Role != llm.RoleUser || strings.Count(told.Content, tt.told) != 1 {
				t.Errorf("the model was told %+v", told)
			}
			if steps := strings.Contains(r.last().Content, "allowed_steps"); steps != (name == "two refused ones") {
				t.Errorf("of the steps that are allowed it was told %v: %s", steps, r.last().Content)
			}
			if n := r.kinds()[audit.Refusal]; n < 1 {
				t.Errorf("%d rows tell of it", n)
			}
			if s.Asked != "" && s.Asked != "本当に？" || s.State.Turn.Running != session.NoTurn {
				t.Errorf("%q, %+v", s.Asked, s.State)
			}
			r.sound()
		})
	}
}

// TestTheSameRefusalIsALoop: a model that asks for the same thing again and again, each time for another reason, is stopped at the fourth refusal
// (C24); something that is taken in between begins the count anew.
func TestTheSameRefusalIsALoop(t *testing.T) {
	t.Parallel()
	list := []any{call("list", "path", ".")}
	ask := func(i int) string { return say("AWAITING_APPROVAL", "continue", "rationale", fmt.Sprint("理由", i)) }
	for name, tt := range map[string]struct {
		line  func(i int) string
		asked int
		why   session.Reason
	}{
		"a plan that is none": {ask, 4, session.ReasonStuck},
		"calls after a no": {func(i int) string {
			return say("PLANNING", "continue", "rationale", fmt.Sprint("理由", i), "constraint_check", no, "actions", list)
		}, 4, session.ReasonStuck},
		"with steps in between": {func(i int) string {
			if i%4 == 3 {
				return say("PLANNING", "continue", "rationale", fmt.Sprint("理由", i))
			}
			return ask(i)
		}, 20, session.ReasonBudget},
		"calls that move again": {func(i int) string {
			if i == 0 {
				return say("EXECUTION", "continue", "actions", list)
			}
			return say("REVIEW", "continue", "rationale", fmt.Sprint("理由", i), "actions", []any{call("list", "path", fmt.Sprint("d", i))})
		}, 5, session.ReasonStuck},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			for i := range 20 {
				r.model.lines = append(r.model.lines, tt.line(i))
			}
			s := r.send("計画して")
			if len(r.model.asked) != tt.asked || s.State.Reason != tt.why || s.State.Status != session.RequiresInput || s.State.Turn.Running != session.NoTurn {
				t.Errorf("%+v after %d calls", s.State, len(r.model.asked))
			}
			if tt.why == session.ReasonStuck && !strings.Contains(s.State.LastError, "refused 4 times in a row") {
				t.Errorf("a person is told %q", s.State.LastError)
			}
			r.model.lines = nil
			if s = r.send("もうよい", say(string(s.State.Step), "done", "reply", "はい。")); s.State.Status != session.Success {
				t.Errorf("%+v", s.State)
			}
			r.sound()
		})
	}
}
