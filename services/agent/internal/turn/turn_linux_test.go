package turn

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tsumugi-dev/tsumugi/services/agent/internal/canon"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/folder"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/gate"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/policy"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/session"
	"github.com/tsumugi-dev/tsumugi/services/internal/llm"
)

// TestATalk: a light question is answered in one call, and the next prompt knows of it.
func TestATalk(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	s := r.send("港の名は？", say("PLANNING", "done", "reply", "糸崎です。"))
	if s.State.Status != session.Success || s.State.Turn.Running != session.NoTurn || s.Turns != 1 {
		t.Errorf("%+v", s.State)
	}
	s = r.send("その町は？", say("PLANNING", "pending_user", "question", "どの町ですか？"))
	if s.State.Status != session.RequiresInput || s.State.Reason != session.ReasonPendingUser {
		t.Errorf("%+v", s.State)
	}
	last := r.prompts.built[len(r.prompts.built)-1]
	if len(last.Past) != 1 || last.Past[0] != (Exchange{"港の名は？", "糸崎です。"}) || last.User != "その町は？" {
		t.Errorf("%+v", last)
	}
	r.sound()
}

// TestAWholeTask: a plan, its approval, a write, its approval, a review, its end; and what is written is what was approved (seed 001, 12).
func TestAWholeTask(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	plan := map[string]any{"name": "下書き", "aim": "港の話を書く", "steps": []string{"書く", "見直す"}, "risk": "低", "criterion": "一頁ある"}
	s := r.send("港の話を a.md に書いて", say("AWAITING_APPROVAL", "pending_user", "plan", plan, "state_delta", map[string]any{"goal": "港の話を書く"}))
	wait := r.pending()
	if s.State.Step != session.Awaiting || len(wait) != 1 || wait[0].Kind != canon.KindPlan || s.Items.Goal != "港の話を書く" {
		t.Fatalf("%+v, %+v", s.State, wait)
	}
	r.ok(r.decide(wait[0], session.Approve, ""))
	r.model.lines = []string{say("EXECUTION", "continue", "actions", []any{call("write", "path", "a.md", "content", "霧の港。\n")})}
	s = r.drive()
	wait = r.pending()
	if s.State.Step != session.Awaiting || len(wait) != 1 || wait[0].Kind != canon.KindToolCall || r.file("a.md") != "" {
		t.Fatalf("%+v, %+v, %q", s.State, wait, r.file("a.md"))
	}
	r.ok(r.decide(wait[0], session.Approve, ""))
	r.model.lines = []string{
		say("EXECUTION", "continue", "actions", []any{call("read", "path", "a.md")}), say("REVIEW", "continue"),
		say("REVIEW", "done", "reply", "書きました。"),
	}
	s = r.drive()
	if s.State.Step != session.Done || s.State.Lifecycle != session.Completed || r.file("a.md") != "霧の港。\n" {
		t.Errorf("%+v, %q", s.State, r.file("a.md"))
	}
	var told []string
	for _, m := range r.model.asked[len(r.model.asked)-2].Messages {
		if m.Role == llm.RoleTool {
			told = append(told, m.Content)
		}
	}
	if len(told) != 2 || !strings.Contains(told[0], "EXECUTED") || !strings.Contains(told[1], "霧の港") {
		t.Errorf("the model was told %q", told)
	}
	if last := r.prompts.built[len(r.prompts.built)-1]; last.Pattern != "base_main_specialized" {
		t.Errorf("the last answer named another pattern than %q", last.Pattern)
	}
	r.sound()
}

// TestADenial: the call never runs, the model gets the reason, and the same call is not asked for again before the next message (S28).
func TestADenial(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	write := say("EXECUTION", "continue", "actions", []any{call("write", "path", "a.md", "content", "x")})
	r.send("書いて", write)
	r.ok(r.decide(r.pending()[0], session.Deny, "まだ早い"))
	r.model.lines = []string{write, say("PLANNING", "done", "reply", "待ちます。")}
	s := r.drive()
	asked := r.model.asked[len(r.model.asked)-2].Messages
	if last := asked[len(asked)-1]; last.Role != llm.RoleTool || !strings.Contains(last.Content, "まだ早い") || !strings.Contains(last.Content, "DENIED") {
		t.Errorf("the model was told %+v", last)
	}
	if s.State.Status != session.Success || len(r.pending()) != 0 || r.file("a.md") != "" {
		t.Errorf("%+v, %q", s.State, r.file("a.md"))
	}
	r.sound()
}

// TestAgent16BadAnswers: an answer that cannot be read is asked for again with the reasons, twice, and then a person is asked; nothing of it is
// taken (cases/agent.md c16).
func TestAgent16BadAnswers(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	s := r.send("書いて", `{"rationale":"x"}`, "```json\n{}\n```", "{\"step\": ")
	if s.State.Reason != session.ReasonInvalid || s.State.Status != session.RequiresInput || s.State.Step != session.Planning || len(r.model.asked) != 3 {
		t.Errorf("%+v after %d calls", s.State, len(r.model.asked))
	}
	again := r.model.asked[1].Messages
	if last := again[len(again)-1]; last.Role != llm.RoleUser || !strings.Contains(last.Content, "goal_consistency") {
		t.Errorf("it was asked again with %+v", last)
	}
	s = r.send("もう一度", say("PLANNING", "done", "reply", "はい。"))
	if s.State.Status != session.Success {
		t.Errorf("%+v", s.State)
	}
	r.sound()
}

// TestKilledBetween: approved, and the process ends before the write; the next one writes, once (c11).
func TestKilledBetween(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.send("書いて", say("EXECUTION", "continue", "actions", []any{call("create", "path", "a.md", "content", "一")}))
	wait := r.pending()
	r.ok(r.decide(wait[0], session.Approve, ""))
	r.ok(r.store.Close())
	r.start()
	r.model.lines = []string{say("EXECUTION", "done", "reply", "書きました。")}
	s := r.drive()
	if r.file("a.md") != "一" || s.State.Status != session.Success {
		t.Errorf("%q, %+v", r.file("a.md"), s.State)
	}
	r.sound()
}

// TestStale: the file changed after it was shown: it stays as it is, nothing was consumed, and the model is told STALE_TARGET with the hash that is
// there now, and of one that it may not read none (c31, S21).
func TestStale(t *testing.T) {
	t.Parallel()
	other := string(folder.Of([]byte("他人の文")))
	for name, tt := range map[string]struct {
		before string
		do     map[string]any
		unread bool
		meet   func(r *rig) error
		left   string
		now    string
	}{
		"another text":          {"1", call("write", "path", "a.md", "content", "2"), false, func(r *rig) error { return writeFile(r, "a.md", "他人の文") }, "他人の文", other},
		"gone":                  {"1", call("write", "path", "a.md", "content", "2"), false, func(r *rig) error { return os.Remove(filepath.Join(r.dir, "a.md")) }, "", string(folder.Absent)},
		"gone before a delete":  {"1", call("delete", "path", "a.md"), false, func(r *rig) error { return os.Remove(filepath.Join(r.dir, "a.md")) }, "", string(folder.Absent)},
		"there before a write":  {"", call("write", "path", "a.md", "content", "2"), false, func(r *rig) error { return writeFile(r, "a.md", "他人の文") }, "他人の文", other},
		"there before a create": {"", call("create", "path", "a.md", "content", "2"), false, func(r *rig) error { return writeFile(r, "a.md", "他人の文") }, "他人の文", other},
		"not to be read":        {"1", call("write", "path", "a.md", "content", "2"), true, func(r *rig) error { return writeFile(r, "a.md", "他人の文") }, "他人の文", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			if tt.unread {
				r.rules = []policy.Rule{{ID: "no", Effect: policy.EffectDeny, Tool: "read", Path: "a.md"}}
			}
			if tt.before != "" {
				r.ok(writeFile(r, "a.md", tt.before))
			}
			r.send("書いて", say("EXECUTION", "continue", "actions", []any{tt.do}))
			shown := r.pending()[0]
			r.ok(tt.meet(r))
			r.Terms.ApproveUnshown = tt.unread
			_, err := r.Decide(t.Context(), ns, shown.ID, gate.Request{Who: approver("bob"), Decision: session.Approve, Digest: shown.Digest, Unshown: tt.unread})
			r.ok(err)
			r.model.lines = []string{say("EXECUTION", "done", "reply", "変わっていました。")}
			s := r.drive()
			if r.file("a.md") != tt.left || s.State.Status != session.Success {
				t.Errorf("%q, %+v", r.file("a.md"), s.State)
			}
			now, err := r.Approval(t.Context(), ns, shown.ID, approver("bob"))
			if err != nil || now.Approval.State != gate.Voided || now.Approval.Void != session.VoidStale {
				t.Errorf("%v: %+v", err, now.Approval)
			}
			told := r.model.asked[1].Messages
			last := told[len(told)-1].Content
			if !strings.Contains(last, `"status":"STALE_TARGET","not_executed":true`) || !strings.Contains(last, tt.now) || tt.now == "" && strings.Contains(last, other) {
				t.Errorf("the model is told %s", last)
			}
			r.sound()
		})
	}
}

// TestAgent29Loops: a model that makes the same call again and again, with the same words or with others, or two by turns, is stopped with the
// count told; an answer of which some call is another goes on; and one more message works (cases/agent.md c29).
func TestAgent29Loops(t *testing.T) {
	t.Parallel()
	look := func(why string, paths ...string) string {
		var calls []any
		for _, p := range paths {
			calls = append(calls, call("list", "path", p))
		}
		return say("PLANNING", "continue", "rationale", why, "actions", calls)
	}
	for name, tt := range map[string]struct {
		line  func(i int) string
		asked int
		told  string
	}{
		"the same words":          {func(int) string { return look("見る", ".") }, 4, "the very same answer 4 times"},
		"the same call":           {func(i int) string { return look(fmt.Sprint("見る", i), ".") }, 4, "this very call was made 4 times"},
		"two by turns":            {func(i int) string { return look(fmt.Sprint("見る", i), []string{"a", "b"}[i%2]) }, 6, "by turns, 6 times in all"},
		"two in each answer":      {func(i int) string { return look(fmt.Sprint("見る", i), "a", "b") }, 4, "by turns, 6 times in all"},
		"another call beside it":  {func(i int) string { return look(fmt.Sprint("見る", i), ".", fmt.Sprint("d", i)) }, 20, "the budget of model calls"},
		"nothing, in other words": {func(i int) string { return look(fmt.Sprint("考える", i)) }, 20, "the budget of model calls"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			for _, dir := range []string{"a", "b"} {
				r.ok(mkdir(r, dir))
			}
			for i := range 20 {
				r.ok(mkdir(r, fmt.Sprint("d", i)))
				r.model.lines = append(r.model.lines, tt.line(i))
			}
			s := r.send("見て")
			want := session.ReasonStuck
			if tt.asked == 20 {
				want = session.ReasonBudget
			}
			if s.State.Status != session.RequiresInput || s.State.Reason != want || s.State.Turn.Running != session.NoTurn || !strings.Contains(s.State.LastError, tt.told) || len(r.model.asked) != tt.asked {
				t.Errorf("%+v after %d calls", s.State, len(r.model.asked))
			}
			r.model.lines = nil
			if s = r.send("もうよい", look("見る", "."), say("PLANNING", "done", "reply", "はい。")); s.State.Status != session.Success {
				t.Errorf("%+v", s.State)
			}
			r.sound()
		})
	}
}

// TestCancel: what waits is closed, nothing of it runs, and a second cancel is the same (c17).
func TestCancel(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	s := r.send("書いて", say("EXECUTION", "continue", "actions", []any{call("write", "path", "a.md", "content", "x")}))
	wait := r.pending()
	for range 2 {
		_, err := r.Cancel(t.Context(), ns, id, s.State.Turn.ID, ann)
		r.ok(err)
	}
	if s = r.drive(); s.State.Lifecycle != session.Canceled {
		t.Errorf("%+v", s.State)
	}
	if err := r.decide(wait[0], session.Approve, ""); err == nil || r.file("a.md") != "" {
		t.Errorf("approved after the cancel: %v, %q", err, r.file("a.md"))
	}
	r.sound()
}

// TestAskingForNothing: a model that asks for an approval of a plan that it does not give is told what is wrong, and nobody is asked.
func TestAskingForNothing(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	s := r.send("計画して", say("AWAITING_APPROVAL", "continue"), say("AWAITING_APPROVAL", "pending_user"))
	if s.State.Step != session.Planning || s.State.Reason != session.ReasonRefused || len(r.pending()) != 0 || len(r.model.asked) != 2 {
		t.Errorf("%+v", s.State)
	}
	again := r.model.asked[1].Messages
	if last := again[len(again)-1]; !strings.Contains(last.Content, "with a plan in PLANNING") {
		t.Errorf("it was told %+v", last)
	}
	r.sound()
}
