package gate

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tsumugi-dev/tsumugi/services/agent/internal/canon"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/session"
)

// Nothing but the very words decides, whatever else a message says; and the words that are printed are the ones that do (cases/agent.md c1).
func TestAgent01WordsDecideOnlyAsPrinted(t *testing.T) {
	t.Parallel()
	m := one(t, judged(t, origin("a1"), "delete", map[string]any{"path": "docs/a.md"}, files{"docs/a.md": "old\n"}))
	all := []Approval{m.Approval}
	at := Message{Who: bob, Since: 5, Now: noon.Add(time.Second), Seq: 20}
	for _, text := range []string{"no, don't approve", "disallow", "not ok", "承認しない", "実行しないで", "please explain why", "ok, what does it do?", "I know", "approve a2", "approve a1 please", ""} {
		at.Text = text
		if r, j := ByWords(all, at); r.Decision != "" || j.ID != "" {
			t.Errorf("%q decides: %+v", text, r)
		}
	}
	for text, want := range map[string]session.Decision{
		"approve a1": session.Approve, "承認 a1": session.Approve, "承認": session.Approve, "approve": session.Approve, "deny a1": session.Deny, "拒否": session.Deny,
	} {
		at.Text = text
		r, j := ByWords(all, at)
		if r.Decision != want || j.ID != "a1" || !r.Words {
			t.Fatalf("%q: %+v %+v", text, r, j)
		}
		if got := Decide(m.Approval, m.Content, r, DefaultTerms()); got.Refused != nil || !got.Change.Decision.Words {
			t.Errorf("%q: %+v", text, got.Refused)
		}
	}
	if s := Sentence(m.Approval, all, at, "ja"); !strings.Contains(s, "`承認 a1`") || !strings.Contains(s, "`拒否 a1`") {
		t.Errorf("%s", s)
	}
}

// A bare word counts for the only approval made since the sender's last message: an older one, or one beside it that is closed already, must
// be named (S20).
func TestBareWords(t *testing.T) {
	t.Parallel()
	a, b := one(t, write(t, "a1", "docs/a.md", "new\n")).Approval, one(t, write(t, "b1", "docs/b.md", "new\n")).Approval
	closed, foreign, risky, plan := b, b, a, kinds(t)[canon.KindPlan].Approval
	closed.State, foreign.Namespace, risky.Risk.Level = Denied, "other", 0
	before := a
	before.Seq = 6
	for name, tt := range map[string]struct {
		all   []Approval
		since int64
		bare  bool
	}{
		"the only one": {[]Approval{a}, 5, true}, "a plan": {[]Approval{plan}, 5, true}, "two": {[]Approval{a, b}, 5, false}, "one closed beside it": {[]Approval{a, closed}, 5, false},
		"made before": {[]Approval{a}, 10, false}, "another namespace's beside it": {[]Approval{a, foreign}, 5, true}, "a risk not known": {[]Approval{risky}, 5, false},
		"made before, and one closed since": {[]Approval{before, closed}, 7, false},
	} {
		m := Message{Text: "approve", Who: bob, Since: tt.since, Now: noon}
		if r, _ := ByWords(tt.all, m); (r.Decision == session.Approve) != tt.bare {
			t.Errorf("%s: bare %v", name, !tt.bare)
		}
		m.Text = "approve " + tt.all[0].ID
		if r, _ := ByWords(tt.all, m); r.Decision != session.Approve || r.Digest != tt.all[0].Digest {
			t.Errorf("%s: by its id: %+v", name, r)
		}
	}
}

// Several approvals of one turn have ids of their own, are decided in any order, and the step is left with the last of them, also after a
// restart in between (cases/agent.md c7).
func TestAgent07SeveralAtOnce(t *testing.T) {
	t.Parallel()
	made, err := ForCalls([]ToolCall{write(t, "a", "docs/a.md", "1\n"), write(t, "b", "docs/b.md", "2\n"), write(t, "c", "docs/c.md", "3\n")}, 0)
	must(t, err)
	m := session.Machine{Limits: session.DefaultLimits()}
	state, all, change := waiting(made[0].Approval), []Approval{}, Change{At: noon, Seq: 10}
	state.Step, state.Status, state.Turn.Running, state.Calls = session.Execution, session.InProgress, session.Working, nil
	answer := session.Answered{Step: session.Execution, Next: session.NextContinue}
	for _, x := range made {
		a := x.Approval
		answer.Calls = append(answer.Calls, session.Proposal{ID: a.Call, Ask: true, Approval: a.ID, Digest: string(a.Digest), Until: a.Expires})
		change.Made = append(change.Made, a)
	}
	play := func(e session.Event, c Change) {
		t.Helper()
		next, notes, err := m.Apply(state, e)
		must(t, err)
		changed, err := Settle(all, notes, c)
		must(t, err)
		for _, n := range changed {
			all = append(all, n)
			for i := range all[:len(all)-1] {
				if all[i].ID == n.ID {
					all[i], all = n, all[:len(all)-1]
					break
				}
			}
		}
		state = next
		must(t, Agree(state, all))
	}
	play(answer, change)
	if diff := cmp.Diff([]string{"a", "b", "c"}, waitingOn(all)); diff != "" {
		t.Error(diff)
	}
	decide := func(i int, d session.Decision) {
		t.Helper()
		r := Decide(all[i], made[i].Content, with(yes(all[i], bob), d), DefaultTerms())
		play(r.Event, r.Change)
	}
	decide(2, session.Approve)
	decide(0, session.Deny)
	if state.Step != session.Awaiting || !cmp.Equal(waitingOn(all), []string{"b"}) {
		t.Errorf("%s, %v wait", state.Step, waitingOn(all))
	}
	data, err := json.Marshal(all)
	must(t, err)
	all = nil
	must(t, json.Unmarshal(data, &all))
	decide(1, session.Approve)
	if state.Step != session.Execution || all[0].State != Denied || all[1].State != Approved || all[2].State != Approved {
		t.Errorf("%s: %s %s %s", state.Step, all[0].State, all[1].State, all[2].State)
	}
}

// An approval is shown with why and whether it expires soon, and without content.
func TestView(t *testing.T) {
	t.Parallel()
	old := write(t, "a1", "docs/a.md", "secret words\n")
	old.Life = 2 * time.Minute
	a := one(t, old).Approval
	soon := a.View(noon.Add(90*time.Second), "en")
	if early := a.View(noon, "en"); early.Warned || !soon.Warned || soon.Why == "" || soon.Tool != "write" || len(soon.Targets) != 1 || len(soon.Impact) == 0 {
		t.Errorf("%+v, then %+v", early, soon)
	}
	if data, err := json.Marshal(soon); err != nil || strings.Contains(string(data), "secret words") {
		t.Errorf("it has content: %s", data)
	}
	if a.State = Denied; a.View(noon.Add(90*time.Second), "en").Warned {
		t.Error("what is over expires soon")
	}
}

// What became of approvals is counted by tool, decision and time.
func TestStats(t *testing.T) {
	t.Parallel()
	base := one(t, write(t, "a1", "docs/a.md", "new\n")).Approval
	after := func(d session.Decision, s time.Duration) Approval {
		a := base
		a.State, a.Decision = Approved, &Decision{Decision: d, At: noon.Add(s)}
		return a
	}
	expired := base
	expired.State, expired.StateAt, expired.LateDenial = Expired, noon.Add(DefaultLife), &Decision{}
	got := Stats([]Approval{base, after(session.Approve, 4*time.Second), after(session.Approve, 6*time.Minute), after(session.Deny, 20*time.Second), expired})
	want := []Count{
		{Kind: "TOOL_CALL", Tool: "write", How: "APPROVE", Count: 2, Mean: 182 * time.Second, Longest: 6 * time.Minute},
		{Kind: "TOOL_CALL", Tool: "write", How: "DENY", Count: 1, Mean: 20 * time.Second, Longest: 20 * time.Second},
		{Kind: "TOOL_CALL", Tool: "write", How: "EXPIRED", Count: 1, Late: 1, Mean: DefaultLife, Longest: DefaultLife},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
