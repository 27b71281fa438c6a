package e2e

import (
	"strings"
	"testing"

	"google.golang.org/grpc/codes"

	agentv1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/agent/v1"
)

// careful is a policy that asks about a plan, too.
const careful = "policies:\n  - {name: careful, pickable: true, ask_plan: true}\n"

var draft = map[string]any{"name": "下書き", "aim": "港の話を書く", "steps": []string{"書く", "見直す"}, "risk": "低", "criterion": "一頁ある"}

// Heads of the layers of a prompt.
const (
	mainLayer = "# 現在の対話状況（ワーキングメモリ）"
	planning  = "# 計画作成の専門知識・手順書"
	executing = "# 実行の専門知識・手順書"
	reviewing = "# レビューの専門知識・手順書"
)

// tasked: a plan, its approval, a write with a diff, its approval, a review, the end; each prompt has the layers that the last answer named, and the
// model is told what was decided; over gRPC and over REST (seed 001, 12; cases/agent.md c4, c5).
func tasked(t *testing.T, m mode) {
	o := newOffice(t, m, careful, "")
	o.start(t)
	for i, s := range o.approvers(t) {
		if o.loud != nil && i == 0 {
			continue // a model is slow
		}
		name, path := o.session(t, s), []string{"grpc.md", "rest.md"}[i]
		o.think(
			say("EXECUTION", "continue", "plan", draft, "prompt_pattern", "base_main_specialized"),
			say("EXECUTION", "continue", "actions", acts("write", args{"path": path, "content": "霧の港。\n"}), "prompt_pattern", "base_main"),
			say("EXECUTION", "continue", "actions", acts("read", args{"path": path}), "prompt_pattern", "base_main_specialized"),
			say("REVIEW", "continue", "state_delta", map[string]any{"plan_brief": []string{"見直す"}}),
			say("REVIEW", "done", "reply", "書きました。"),
		)
		h := o.send(t, s, &agentv1.SendMessageRequest{Session: name, Text: "港の話を書いて"})
		wait := o.waiting(t, s, name)
		if len(wait) != 1 || wait[0].GetKind() != agentv1.ApprovalKind_APPROVAL_KIND_PLAN || h.session.GetStep() != agentv1.Step_STEP_AWAITING_APPROVAL || !strings.Contains(wait[0].GetContent().GetText(), "一頁ある") {
			t.Fatalf("over %s: %v waits for %v", s.how, h.session, wait)
		}
		o.decide(t, s, wait[0], agentv1.Decision_DECISION_APPROVE, "")
		write := o.after(t, s, name, wait[0])
		if write.GetTool() != "write" || !strings.Contains(write.GetContent().GetText(), "+霧の港。") || write.GetLinesAdded() != 1 || write.GetTargets()[0].GetPath() != path || o.file(t, path) != "" {
			t.Fatalf("over %s: %v", s.how, write)
		}
		for _, digest := range []string{strings.Repeat("0", 64), wait[0].GetDigest(), write.GetDigest()[1:]} { // the second is that of another approval
			err := approve(o.ctx, s, &agentv1.Approval{Name: write.GetName(), Digest: digest})
			refusal{code: codes.Aborted, reason: "DIGEST_MISMATCH"}.in("digest").check(t, err)
		}
		if decided := o.decide(t, s, write, agentv1.Decision_DECISION_APPROVE, ""); decided.GetDecision().GetDecidedBy() != "local" {
			t.Errorf("over %s: %v", s.how, decided)
		}
		end := o.until(t, s, name, "the task ends", rests)
		if end.GetLifecycle() != agentv1.Lifecycle_LIFECYCLE_DONE || end.GetStatus() != agentv1.SessionStatus_SESSION_STATUS_SUCCESS || o.file(t, path) != "霧の港。\n" || end.GetMemory().GetFiles() != 1 {
			t.Errorf("over %s: %v, %q", s.how, end, o.file(t, path))
		}
		o.layered(t, s)
		o.sound(t, s, name)
	}
	if left := o.left(); len(left) > 0 {
		t.Errorf("nobody asked for %v", left)
	}
}

// layered holds the prompts of a task to the patterns that its answers named.
func (o *office) layered(t *testing.T, s surface) {
	t.Helper()
	prompts := o.heard()
	want := []string{"", executing, "", executing, reviewing} // of the first and the third, base_main
	if len(prompts) != len(want) {
		t.Fatalf("over %s: the model was asked %d times: %q", s.how, len(prompts), prompts)
	}
	for i, p := range prompts {
		for _, layer := range []string{planning, executing, reviewing} {
			if strings.Contains(p, layer) != (layer == want[i]) || !strings.Contains(p, mainLayer) {
				t.Errorf("over %s: prompt %d has other layers than %q: %s", s.how, i, want[i], p)
			}
		}
	}
	for i, told := range map[int]string{1: `"decision":"APPROVE"`, 2: `"status":"EXECUTED"`, 3: "霧の港。", 4: `"step":"REVIEW"`} {
		if tail := behind(prompts[i]); !strings.Contains(tail, told) {
			t.Errorf("over %s: prompt %d ends with %s, without %s", s.how, i, tail, told)
		}
	}
}

// after waits until a session waits for one approval, and no longer for this one.
func (o *office) after(t *testing.T, s surface, name string, last *agentv1.Approval) *agentv1.Approval {
	t.Helper()
	o.until(t, s, name, "another approval waits", func(now *agentv1.Session) bool { return waits(now) && now.GetWaitingOn()[0] != last.GetName() })
	wait := o.waiting(t, s, name)
	if len(wait) != 1 {
		t.Fatalf("over %s: %v wait", s.how, wait)
	}
	return wait[0]
}

// behind is what a prompt tells the model behind its last answer.
func behind(prompt string) string { return prompt[max(0, strings.LastIndex(prompt, "次の一手")):] }
