package turn

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/tsumugi-dev/tsumugi/services/agent/internal/audit"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/canon"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/gate"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/ledger"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/policy"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/session"
	"github.com/tsumugi-dev/tsumugi/services/internal/llm"
)

// creates are calls that make files.
func creates(n int) (all []any) {
	for i := range n {
		all = append(all, call("create", "path", fmt.Sprintf("f%02d.md", i), "content", "x"))
	}
	return all
}

// told are the results that the model was told in its n-th call from the end, from 1.
func (r *rig) told(n int) (all []string) {
	for _, m := range r.model.asked[len(r.model.asked)-n].Messages {
		if m.Role == llm.RoleTool {
			all = append(all, m.Content)
		}
	}
	return all
}

// kinds counts the rows of the session.
func (r *rig) kinds() map[audit.Kind]int {
	count := map[audit.Kind]int{}
	for row, err := range r.Ledger.Rows(r.Context(), ns, id, 1) {
		r.ok(err)
		count[row.Kind]++
	}
	return count
}

// TestMoreThanMayWait: an answer with more calls than approvals may wait is refused with a sentence, and the turn goes on (S28).
func TestMoreThanMayWait(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	s := r.send("書いて", say("EXECUTION", "continue", "actions", append(creates(gate.MaxPending+1), call("list", "path", "."))),
		say("EXECUTION", "continue", "actions", creates(gate.MaxPending)))
	told := r.told(1)
	if len(told) != gate.MaxPending+2 {
		t.Fatalf("%d results: %q", len(told), told)
	}
	for i, one := range told {
		if refused := strings.Contains(one, `"REFUSED"`) && strings.Contains(one, "at most 8 wait at once"); refused == (i == len(told)-1) {
			t.Errorf("result %d: %s", i, one)
		}
	}
	if wait := r.pending(); s.State.Step != session.Awaiting || len(wait) != gate.MaxPending {
		t.Errorf("%+v, %d wait", s.State, len(wait))
	}
	if n := r.kinds(); n[audit.Ask] != gate.MaxPending || n[audit.Refusal] != gate.MaxPending+1 || n[audit.Extend] != 0 {
		t.Errorf("rows: %v", n)
	}
	r.sound()
}

// TestThreeDenials in a row end the turn, in one batch or in several (S28).
func TestThreeDenials(t *testing.T) {
	t.Parallel()
	for _, each := range []int{3, 1} {
		r := newRig(t)
		var lines []string
		calls := creates(3)
		for i := 0; i < 3; i += each {
			lines = append(lines, say("PLANNING", "continue", "actions", calls[i:i+each])) // the move of an utterance is for one answer
		}
		s := r.send("書いて", lines...)
		for denied := range 3 {
			if s.State.Step != session.Awaiting {
				t.Fatalf("after %d denials: %+v", denied, s.State)
			}
			r.ok(r.decide(r.pending()[0], session.Deny, "だめ"))
			s = r.drive()
		}
		if s.State.Reason != session.ReasonDenials || s.State.Status != session.RequiresInput || s.State.Turn.Running != session.NoTurn || len(r.model.asked) != 3/each {
			t.Errorf("%d at once: %+v after %d calls", each, s.State, len(r.model.asked))
		}
		r.sound()
	}
}

// TestNobodyToAsk: where no approval can be made, here since nobody is known for whom it would be, the model is told so, nothing is called,
// and the turn ends; Drive does not come back with the same error for ever.
func TestNobodyToAsk(t *testing.T) {
	t.Parallel()
	plan := map[string]any{"name": "案", "aim": "書く", "steps": []string{"書く"}, "risk": "低", "criterion": "一頁"}
	for name, answer := range map[string]string{
		"a call":   say("EXECUTION", "continue", "actions", creates(1)),
		"a plan":   say("AWAITING_APPROVAL", "continue", "plan", plan),
		"a plan 2": say("AWAITING_APPROVAL", "pending_user", "plan", plan),
	} {
		r := newRig(t)
		r.disown()
		r.model.lines = []string{answer, say("PLANNING", "done", "reply", "できません。")}
		m := r.message(approver("ann"), "書いて")
		m.Event = true // and so it is nobody's
		_, err := r.Send(t.Context(), ns, id, m)
		r.ok(err)
		s := r.drive()
		if len(r.pending()) != 0 || s.State.Turn.Running != session.NoTurn || r.file("f00.md") != "" {
			t.Errorf("%s: %+v, %q", name, s.State, r.file("f00.md"))
		}
		if asked := r.model.asked; len(asked) == 2 && !strings.Contains(asked[1].Messages[len(asked[1].Messages)-1].Content, "requester") {
			t.Errorf("%s: the model was told %+v", name, asked[1].Messages)
		}
		if r.kinds()[audit.Refusal] == 0 {
			t.Errorf("%s: no row tells of it", name)
		}
		r.sound()
	}
}

// disown takes away for whom the session works.
func (r *rig) disown() {
	_, err := r.Ledger.Change(r.Context(), ns, id, ann, func(w *ledger.Work) error {
		w.Session.Owner, w.Session.Talk.Sender = "", ""
		w.Row(audit.Entry{Kind: audit.Update, Verdict: "UPDATED", Reason: "test", ArgsDigest: string(canon.Sum(nil))})
		return nil
	})
	r.ok(err)
}

// TestAnOutcomeThatNobodyKnows: a person is asked whether it happened (C49); where nobody can be asked the model is told that nobody knows, and
// the turn goes on.
func TestAnOutcomeThatNobodyKnows(t *testing.T) {
	t.Parallel()
	for _, nobody := range []bool{false, true} {
		r := newRig(t)
		r.send("書いて", say("EXECUTION", "continue", "actions", []any{call("create", "path", "f00.md")})) // its content has a default
		asked, err := r.Approval(t.Context(), ns, r.pending()[0].ID, approver("bob"))
		r.ok(err)
		r.faulty = &faulty{at: 3} // the decision, INTENT, and the outcome
		r.restart()
		r.ok(r.decide(r.pending()[0], session.Approve, ""))
		if _, err := r.Drive(t.Context(), ns, id); !errors.Is(err, errFault) {
			t.Fatalf("the process was not killed: %v", err)
		}
		r.faulty, r.homeless = nil, true
		r.restart()
		if nobody {
			r.disown()
		}
		r.model.lines = []string{say("PLANNING", "done", "reply", "分かりません。")}
		s := r.drive()
		wait := r.pending()
		if !nobody && (len(wait) != 1 || wait[0].Kind != canon.KindOutcome || s.State.Step != session.Awaiting) {
			t.Errorf("%+v, %+v", s.State, wait)
		}
		if !nobody {
			r.saysWhichCall(wait[0], asked.Args)
		}
		if nobody && (len(wait) != 0 || s.State.Status != session.Success || !strings.Contains(r.told(1)[0], `"UNKNOWN"`) || len(s.Talk.Unknown) != 1) {
			t.Errorf("%+v, %+v, told %q", s.State, wait, r.told(1))
		}
		r.sound()
	}
}

// saysWhichCall: whoever is asked about an outcome is shown the tool, the arguments that ran, the file and when it began, and not what the model is told.
func (r *rig) saysWhichCall(a gate.Approval, args string) {
	r.Helper()
	shown, err := r.Approval(r.Context(), ns, a.ID, approver("bob"))
	r.ok(err)
	said := strings.Join(a.View(a.Created, "en").Impact, "\n")
	if len(a.Subject.Targets) != 1 || !strings.Contains(said, a.Subject.Targets[0].Path) || !strings.Contains(said, "the call of create that began at 20") {
		r.Errorf("%+v: %s", a.Subject, said)
	}
	if shown.Args != args || len(shown.Pages) != 1 || strings.Contains(shown.Pages[0].Content, "Do not repeat") {
		r.Errorf("it is shown %+v", shown)
	}
}

// TestAReadIsAskedAbout: what only looks waits for a person where the policy asks, and is told when it was approved.
func TestAReadIsAskedAbout(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.rules = []policy.Rule{{ID: "careful", Effect: policy.EffectAsk, Tool: "read", Path: "private/**"}}
	r.ok(writeFile(r, "a.md", "港"))
	s := r.send("読んで", say("PLANNING", "continue", "actions", []any{call("read", "path", "a.md"), call("read", "path", "private/b.md")}))
	wait := r.pending()
	if s.State.Step != session.Awaiting || len(wait) != 1 || wait[0].Subject.Tool != "read" {
		t.Fatalf("%+v, %+v", s.State, wait)
	}
	r.ok(r.decide(wait[0], session.Approve, ""))
	r.model.lines = []string{say("PLANNING", "done", "reply", "ありません。")}
	r.drive()
	told := r.told(1)
	if len(told) != 2 || !strings.Contains(told[0], "港") || !strings.Contains(told[1], "FAILED") {
		t.Errorf("the model was told %q", told)
	}
	r.sound()
}
