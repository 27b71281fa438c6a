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
	at.Text, at.Queued = "approve a1", true
	if r, _ := ByWords(all, at); r.Decision != "" {
		t.Error("words out of the queue decide")
	}
	at.Queued = false
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
	if diff := cmp.Diff([]string{"a", "b", "c"}, WaitingOn(all)); diff != "" {
		t.Error(diff)
	}
	decide := func(i int, d session.Decision) {
		t.Helper()
		r := Decide(all[i], made[i].Content, with(yes(all[i], bob), d), DefaultTerms())
		play(r.Event, r.Change)
	}
	decide(2, session.Approve)
	decide(0, session.Deny)
	if state.Step != session.Awaiting || !cmp.Equal(WaitingOn(all), []string{"b"}) {
		t.Errorf("%s, %v wait", state.Step, WaitingOn(all))
	}
	data, err := json.Marshal(all)
	must(t, err)
	all = nil
	must(t, json.Unmarshal(data, &all))
	decide(1, session.Approve)
	if state.Step != session.Execution || all[0].State != Denied || all[1].State != Approved || all[2].State != Approved || all[1].Waits(noon) != ForStart {
		t.Errorf("%s: %s %s %s", state.Step, all[0].State, all[1].State, all[2].State)
	}
}

// A list shows what waits for a person, newest first, with why and how long, and no content.
func TestInbox(t *testing.T) {
	t.Parallel()
	old, young := write(t, "a1", "docs/a.md", "secret words\n"), write(t, "a2", "docs/b.md", "x\n")
	old.Now, old.Life = noon.Add(-time.Minute), 2*time.Minute
	a, b := one(t, old).Approval, one(t, young).Approval
	due, approved, denied, asked := a, a, a, kinds(t)[canon.KindOutcome].Approval
	due.ID, due.Expires = "a3", noon
	approved.ID, approved.State = "a4", Approved
	denied.ID, denied.State = "a5", Denied
	asked.Created = noon.Add(time.Second)
	got := Inbox([]Approval{a, b, due, approved, denied, asked}, noon.Add(30*time.Second), "en")
	var ids []string
	for _, v := range got {
		ids = append(ids, v.ID)
	}
	if diff := cmp.Diff([]string{"o1", "a2", "a1"}, ids); diff != "" {
		t.Fatal(diff)
	}
	if v := got[2]; v.Left != 30*time.Second || !v.Warned || v.Waiting != ForDecision || v.Why == "" || !cmp.Equal(v.Paths, []string{"docs/a.md"}) || got[1].Warned || got[0].Waiting != ForAnswer {
		t.Errorf("%+v", got)
	}
	if data, err := json.Marshal(got); err != nil || strings.Contains(string(data), "secret words") {
		t.Errorf("the list has content: %s", data)
	}
	for want, x := range map[Waiting]Approval{ForClosing: due, ForStart: approved, "": denied} {
		if got := x.Waits(noon); got != want {
			t.Errorf("%s: %q, want %q", x.ID, got, want)
		}
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
		{Kind: "TOOL_CALL", Tool: "write", How: "APPROVE", Count: 2, Mean: 182 * time.Second, Longest: 6 * time.Minute, Within: [6]int{1, 0, 0, 1, 0, 0}},
		{Kind: "TOOL_CALL", Tool: "write", How: "DENY", Count: 1, Mean: 20 * time.Second, Longest: 20 * time.Second, Within: [6]int{0, 1, 0, 0, 0, 0}},
		{Kind: "TOOL_CALL", Tool: "write", How: "EXPIRED", Count: 1, Late: 1, Mean: DefaultLife, Longest: DefaultLife, Within: [6]int{0, 0, 0, 1, 0, 0}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// A call that a person has denied is not asked about again until a person speaks (S28).
func TestDeniedCalls(t *testing.T) {
	t.Parallel()
	a := one(t, write(t, "a1", "docs/a.md", "new\n")).Approval
	denied, late, approved := a, a, a
	denied.Decision = &Decision{Decision: session.Deny, Seq: 12}
	late.LateDenial = &Decision{Decision: session.Deny, Seq: 12}
	approved.Decision = &Decision{Decision: session.Approve, Seq: 12}
	for name, tt := range map[string]struct {
		a     Approval
		since int64
		want  bool
	}{
		"denied": {denied, 11, true}, "denied late": {late, 11, true}, "a message since": {denied, 12, false}, "approved": {approved, 11, false}, "pending": {a, 0, false},
	} {
		if got := DeniedCalls([]Approval{tt.a}, tt.since)[a.Subject.CallHash]; got != tt.want {
			t.Errorf("%s: %v", name, got)
		}
	}
	if got := Room([]Approval{a, denied}); got != MaxPending-2 {
		t.Errorf("%d", got)
	}
}
