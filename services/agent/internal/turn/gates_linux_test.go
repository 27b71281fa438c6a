package turn

import (
	"strings"
	"testing"

	"github.com/tsumugi-dev/tsumugi/services/agent/internal/canon"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/policy"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/session"
	"github.com/tsumugi-dev/tsumugi/services/internal/llm"
)

// TestWhatThePolicyAsks is a test of each row of the table that a policy may have a person asked about, and of those that it may not
// (field/review-agent.md 2a).
func TestWhatThePolicyAsks(t *testing.T) {
	t.Parallel()
	plan := map[string]any{"name": "案", "aim": "書く", "steps": []string{"書く"}, "risk": "低", "criterion": "一頁"}
	toReview := say("REVIEW", "continue")
	done := say("REVIEW", "done", "reply", "できました。")
	stop := say("PLANNING", "pending_user", "question", "どうしますか？")
	for name, c := range map[string]struct {
		asks  [2]bool
		lines []string
		// kind is what is asked; empty: nobody is. told is in the last message to the model.
		kind canon.Kind
		step session.Step
		told string
	}{
		"P to E, and nobody asks":              {[2]bool{}, []string{say("EXECUTION", "done", "plan", plan)}, "", session.Execution, ""},
		"P to E with a plan":                   {[2]bool{true, false}, []string{say("EXECUTION", "continue", "plan", plan)}, canon.KindPlan, session.Awaiting, ""},
		"P to E without a plan":                {[2]bool{true, false}, []string{say("EXECUTION", "continue"), stop}, "", session.Planning, "give it as the plan"},
		"P to E with calls":                    {[2]bool{true, false}, []string{say("EXECUTION", "continue", "actions", creates(1)), stop}, "", session.Planning, "the plan needs an approval first"},
		"P to R":                               {[2]bool{true, false}, []string{say("REVIEW", "done"), say("REVIEW", "pending_user")}, "", session.Review, ""},
		"R to E, without the plan's question":  {[2]bool{true, true}, []string{toReview, say("EXECUTION", "done")}, "", session.Execution, ""},
		"R to D, and nobody asks":              {[2]bool{true, false}, []string{toReview, done}, "", session.Done, ""},
		"R to D with a result":                 {[2]bool{false, true}, []string{toReview, done}, canon.KindResult, session.Awaiting, ""},
		"R to D without a reply":               {[2]bool{false, true}, []string{toReview, say("REVIEW", "done")}, canon.KindResult, session.Awaiting, ""},
		"R stays, and the task does not end":   {[2]bool{false, true}, []string{toReview, say("REVIEW", "pending_user", "reply", "途中です。")}, "", session.Review, ""},
		"a check says no":                      {[2]bool{true, true}, []string{say("EXECUTION", "continue", "plan", plan, "constraint_check", "no: 制約外"), stop}, "", session.Planning, ""},
		"the model asks, and the policy not":   {[2]bool{}, []string{toReview, say("AWAITING_APPROVAL", "pending_user", "reply", "できました。")}, canon.KindResult, session.Awaiting, ""},
		"the model asks in R with a plan":      {[2]bool{true, true}, []string{toReview, say("AWAITING_APPROVAL", "pending_user", "plan", plan)}, canon.KindResult, session.Awaiting, ""},
		"P to E with a plan in a later answer": {[2]bool{true, false}, []string{say("PLANNING", "continue"), say("EXECUTION", "continue", "plan", plan)}, canon.KindPlan, session.Awaiting, ""},
	} {
		r := newRig(t)
		r.asks = c.asks
		s := r.send("書いて", c.lines...)
		wait := r.pending()
		if s.State.Step != c.step || len(wait) > 1 || (len(wait) == 1) != (c.kind != "") || c.kind != "" && wait[0].Kind != c.kind {
			t.Errorf("%s: %+v, %+v", name, s.State, wait)
		}
		last := r.model.asked[len(r.model.asked)-1].Messages
		if text := last[len(last)-1].Content; !strings.Contains(text, c.told) {
			t.Errorf("%s: the model was told %q", name, text)
		}
		r.sound()
	}
}

// TestARiskThatTheModelSees raises the risk of its plan, and nothing that it says lowers one (cases/agent.md c28).
func TestARiskThatTheModelSees(t *testing.T) {
	t.Parallel()
	for says, want := range map[string]policy.Risk{"高: 上書きする": policy.High, "低、承認済み": policy.Medium} {
		r := newRig(t)
		plan := map[string]any{"name": "案", "aim": "書く", "steps": []string{"書く"}, "risk": says, "criterion": "一頁"}
		r.send("計画して", say("AWAITING_APPROVAL", "continue", "plan", plan))
		if a := r.pending()[0]; a.Risk.Level != want {
			t.Errorf("%s: %+v", says, a.Risk)
		}
	}
}

// last is the last message that the model got.
func (r *rig) last() llm.Message {
	all := r.model.asked[len(r.model.asked)-1].Messages
	return all[len(all)-1]
}

// TestDecidedGates: approved, a plan lets the work begin, and a result lets the task end, once; denied, the model is told why; expired, a person
// is asked (C34, C41, C64).
func TestDecidedGates(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.asks = [2]bool{true, true}
	plan := map[string]any{"name": "案", "aim": "書く", "steps": []string{"書く"}, "risk": "低", "criterion": "一頁"}
	r.send("書いて", say("EXECUTION", "continue", "plan", plan))
	r.ok(r.decide(r.pending()[0], session.Approve, ""))
	r.model.lines = []string{say("EXECUTION", "continue", "actions", creates(1))}
	r.drive()
	if last := r.last(); last.Role != llm.RoleUser || last.Content != `{"asked":"PLAN","decision":"APPROVE","next":"go on","step":"EXECUTION"}` {
		t.Errorf("the model was told of the plan: %+v", last)
	}
	r.ok(r.decide(r.pending()[0], session.Approve, ""))
	r.model.lines = []string{say("EXECUTION", "continue"), say("REVIEW", "continue"), say("REVIEW", "done", "reply", "できました。")}
	r.drive()
	result := r.pending()[0]
	if result.Kind != canon.KindResult || len(result.Subject.Executed) != 1 || result.Subject.Executed[0].Targets[0].Path != "f00.md" || result.Subject.Executed[0].Status != "EXECUTED" {
		t.Errorf("%+v", result.Subject)
	}
	r.ok(r.decide(result, session.Deny, "短すぎる"))
	r.model.lines = []string{say("PLANNING", "pending_user", "question", "どのくらい？")}
	if r.drive(); !strings.Contains(r.last().Content, `"decision":"DENY"`) || !strings.Contains(r.last().Content, "短すぎる") {
		t.Errorf("the model was told of the result: %+v", r.last())
	}
	if s := r.send("二頁", say("REVIEW", "continue"), say("REVIEW", "done", "reply", "長くしました。")); s.State.Step != session.Awaiting {
		t.Fatalf("%+v, %q", s.State, r.told(1))
	}
	r.ok(r.decide(r.pending()[0], session.Approve, ""))
	r.model.lines = []string{say("EXECUTION", "continue"), say("REVIEW", "continue"), say("REVIEW", "done", "reply", "もう一度。")} // back to work: what was approved is forgotten
	if s := r.drive(); s.State.Step != session.Awaiting {
		t.Fatalf("%+v", s.State)
	}
	r.ok(r.decide(r.pending()[0], session.Approve, ""))
	r.model.lines = []string{say("REVIEW", "done", "reply", "終わりました。")}
	if s := r.drive(); s.State.Step != session.Done {
		t.Errorf("%+v", s.State)
	}
	r.send("次", say("EXECUTION", "continue", "plan", plan))
	r.clock.now = r.pending()[0].Expires
	if s := r.drive(); s.State.Step != session.Planning || s.State.Status != session.RequiresInput || s.State.Reason != session.ReasonExpired {
		t.Errorf("%+v", s.State)
	}
	r.sound()
}
