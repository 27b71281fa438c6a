package session

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tsumugi-dev/tsumugi/services/internal/testkit"
)

// play applies events one after the other and gives the last state, and the rows that fired.
func play(t *testing.T, m Machine, s State, events ...Event) (State, []string) {
	t.Helper()
	var rows []string
	for _, e := range events {
		next, notes, err := m.Apply(s, e)
		if err != nil {
			t.Fatalf("%T %+v: %v", e, e, err)
		}
		for _, n := range notes {
			if n.Of == OfStep {
				rows = append(rows, fmt.Sprintf("%s %s %s", n.From, n.Trigger, n.To))
			}
		}
		s = next
	}
	return s, rows
}

var machine = Machine{Limits: DefaultLimits()}

func begin() []Event {
	return []Event{Sent{ID: "m1", Mode: Queue}, TurnOpened{Turn: "t1", Utterance: "u1"}}
}

// TestTheSeedsPath is H1: PLANNING, EXECUTION, REVIEW, done from one message, each move in an utterance of its own (seed 001, 12.1).
func TestTheSeedsPath(t *testing.T) {
	t.Parallel()
	s, rows := play(t, machine, New(), append(begin(),
		Answered{Step: Execution, Next: NextContinue, Utterance: "u2"}, Answered{Step: Review, Next: NextContinue, Utterance: "u3"}, Answered{Step: Review, Next: NextDone})...)
	if diff := cmp.Diff([]string{"PLANNING MODEL EXECUTION", "EXECUTION MODEL REVIEW", "REVIEW MODEL DONE"}, rows); diff != "" {
		t.Error(diff)
	}
	if s.Lifecycle != Completed || s.Status != Success || s.Step != Done {
		t.Errorf("%+v", s)
	}
	if s, _ = play(t, machine, s, Sent{ID: "m2", Mode: Queue}, TurnOpened{Turn: "t2", Utterance: "u4"}); s.Lifecycle != Open || s.Step != Planning || s.Status != InProgress {
		t.Errorf("a message after the end: %+v", s)
	}
}

// TestEventsFillNoBudget: the calls of the model are counted from one message of a person to the next, however many events come in between (C42).
func TestEventsFillNoBudget(t *testing.T) {
	t.Parallel()
	few := Machine{Limits: DefaultLimits()}
	few.Limits.ModelCalls = 3
	event := func(id string) []Event {
		return []Event{Sent{ID: id, Mode: Queue, ByEvent: true}, TurnOpened{Turn: id, Utterance: id, ByEvent: true}}
	}
	s, _ := play(t, few, New(), append(begin(), Answered{Step: Planning, Next: NextUser})...)
	s, _ = play(t, few, s, append(event("e1"), Answered{Step: Planning, Next: NextUser})...)
	s, _ = play(t, few, s, append(event("e2"), AnsweredAside{Turn: "e2"}, Answered{Step: Planning, Next: NextUser})...)
	for _, id := range []string{"e3", "e4"} {
		s, _ = play(t, few, s, event(id)...)
		if todo := few.Next(s, now); todo.Duty != StopBudget || s.Turn.ModelCalls != 0 {
			t.Fatalf("%s: %+v, %d calls are left", id, todo, s.Turn.ModelCalls)
		}
		s, _ = play(t, few, s, Stopped{Reason: ReasonBudget})
	}
	if s, _ = play(t, few, s, Sent{ID: "m2", Mode: Queue}, TurnOpened{Turn: "t2", Utterance: "u2"}); s.Turn.ModelCalls != 3 {
		t.Errorf("a person's message leaves %d calls", s.Turn.ModelCalls)
	}
}

// TestTheGatedPath is H2: a plan, a call and a result approved, and the approval of the plan authorises no call (C64).
func TestTheGatedPath(t *testing.T) {
	t.Parallel()
	ask := func(id string) Proposal {
		return Proposal{ID: id, Ask: true, Approval: "a-" + id, Digest: "d-" + id, Until: future}
	}
	yes := func(id string) Event { return Decided{"a-" + id, "d-" + id, Approve, now, future} }
	s, rows := play(t, machine, New(), append(begin(),
		Answered{Step: Execution, Next: NextContinue, AskPlan: true, Gate: ask("plan")}, yes("plan"),
		Answered{Step: Execution, Calls: []Proposal{ask("write")}}, yes("write"), Began{Call: "write", Digest: "d-write", At: now}, Ended{Call: "write"},
		Answered{Step: Review, Next: NextContinue, Utterance: "u2"}, Answered{Step: Review, Next: NextDone, AskResult: true, Gate: ask("result")}, yes("result"),
		Answered{Step: Review, Next: NextDone, AskResult: true})...)
	want := []string{
		"PLANNING GATE AWAITING_APPROVAL", "AWAITING_APPROVAL DECISION EXECUTION", "EXECUTION GATE AWAITING_APPROVAL", "AWAITING_APPROVAL DECISION EXECUTION",
		"EXECUTION MODEL REVIEW", "REVIEW GATE AWAITING_APPROVAL", "AWAITING_APPROVAL DECISION REVIEW", "REVIEW MODEL DONE",
	}
	if diff := cmp.Diff(want, rows); diff != "" {
		t.Error(diff)
	}
	if s.Lifecycle != Completed {
		t.Errorf("%+v", s)
	}
}

// TestTheErrorPath is H3: an error in EXECUTION goes back to PLANNING, three times a task, and the task can still end.
func TestTheErrorPath(t *testing.T) {
	t.Parallel()
	s, _ := play(t, machine, New(), append(begin(), Answered{Step: Execution, Next: NextContinue, Utterance: "u2"})...)
	for i := range 4 {
		s, _ = play(t, machine, s, Answered{Step: Execution, Calls: []Proposal{{ID: "c"}}}, Began{Call: "c", At: now}, Ended{"c", true}, BatchFailed{})
		if i == 3 {
			break
		}
		if s.Step != Planning || s.Status != Error || machine.Next(s, now).Duty != Recover {
			t.Fatalf("error %d: %+v", i, s)
		}
		s, _ = play(t, machine, s, Recovered{"r"}, Answered{Step: Execution, Next: NextContinue, Utterance: "v"})
	}
	if s.Step != Planning || s.Status != RequiresInput || s.Reason != ReasonErrors || s.Turn.Running != NoTurn {
		t.Errorf("the fourth error: %+v", s)
	}
	s, _ = play(t, machine, s, append(begin(), Answered{Step: Review, Next: NextContinue, Utterance: "w"}, Answered{Step: Review, Next: NextDone})...)
	if s.Lifecycle != Completed || s.Recoveries != 0 {
		t.Errorf("%+v", s)
	}
}

// TestCancelClosesWhatWaits: each message that no turn will be for is told as closed, also one that has interrupted the work and has no turn yet (C44).
func TestCancelClosesWhatWaits(t *testing.T) {
	t.Parallel()
	open, _ := play(t, machine, New(), begin()...)
	s, _ := play(t, machine, open, Sent{ID: "m2", Mode: Queue}, Sent{ID: "m3", Mode: Queue}, Sent{ID: "m4", Mode: Interrupt, TurnID: open.Turn.ID})
	for what, e := range map[string]Event{"cancel": CancelSent{TurnID: s.Turn.ID}, "fatal": Broken{Why: "test"}} {
		next, notes, err := machine.Apply(s, e)
		if err != nil || len(next.Queue) != 0 || next.Turn.Next != "" {
			t.Fatalf("%s: %+v, %v", what, next, err)
		}
		var closed []string
		for _, n := range notes {
			if n.Of == OfQueue && n.To == MessageClosed {
				closed = append(closed, n.ID)
			}
		}
		if !slices.Equal(closed, []string{"m4", "m2", "m3"}) {
			t.Errorf("%s closed %v", what, closed)
		}
	}
}

// TestAllowed: a refusal names the steps that an answer can name next; with a plan that is asked about EXECUTION is none of them, with calls or without.
func TestAllowed(t *testing.T) {
	t.Parallel()
	open, _ := play(t, machine, New(), begin()...)
	at := map[Step]State{Planning: open}
	for _, to := range []Step{Execution, Review} {
		at[to], _ = play(t, machine, open, Answered{Step: to, Next: NextContinue, Utterance: "u1"})
	}
	for _, c := range []struct {
		from Step
		e    Answered
		want []Step
	}{
		{Planning, Answered{Step: Done}, []Step{Execution, Review, Awaiting}},
		{Planning, Answered{Step: Execution, AskPlan: true}, []Step{Review, Awaiting}},
		{Planning, Answered{Step: Execution, AskPlan: true, Calls: []Proposal{{ID: "c"}}}, []Step{Review, Awaiting}},
		{Execution, Answered{Step: Planning, AskPlan: true}, []Step{Review, Awaiting}},
		{Review, Answered{Step: Planning, AskPlan: true}, []Step{Execution, Awaiting}},
	} {
		c.e.Next, c.e.Utterance = NextContinue, "u2"
		_, notes, err := machine.Apply(at[c.from], c.e)
		i := slices.IndexFunc(notes, func(n Note) bool { return n.Of == OfRefusal })
		if err != nil || i < 0 || !slices.Equal(notes[i].Allowed, c.want) {
			t.Errorf("from %s, %+v: %+v, %v", c.from, c.e, notes, err)
		}
		for _, step := range c.want { // Each can be named: with what the table asks for it is no refusal.
			e := Answered{Step: step, Next: NextContinue, Utterance: "u3", AskPlan: c.e.AskPlan, Gate: Proposal{ID: "g", Approval: "a", Digest: "d", Until: future}}
			if step == Awaiting && c.from == Execution {
				e.Gate, e.Calls = Proposal{}, []Proposal{{ID: "c", Ask: true, Approval: "a", Digest: "d", Until: future}}
			}
			if s, notes, err := machine.Apply(at[c.from], e); err != nil || s.Step != step {
				t.Errorf("%s from %s is not allowed: %+v, %v", step, c.from, notes, err)
			}
		}
	}
}

// TestAgent05AskingTwice: what the table does not have is refused each time, and nothing of the answer is taken (cases/agent.md c5).
func TestAgent05AskingTwice(t *testing.T) {
	t.Parallel()
	open, _ := play(t, machine, New(), begin()...)
	for range 2 {
		s, notes, err := machine.Apply(open, Answered{Step: Done, Next: NextContinue, Utterance: "u1"})
		if err != nil || s.Step != Planning || s.Status != InProgress {
			t.Fatalf("%+v, %v", s, err)
		}
		i := slices.IndexFunc(notes, func(n Note) bool { return n.Of == OfRefusal })
		if i < 0 || !slices.Equal(notes[i].Allowed, []Step{Execution, Review, Awaiting}) {
			t.Errorf("the refusal tells no way: %+v", notes)
		}
		open = s
	}
	waiting, _ := play(t, machine, open, Answered{Step: Planning, Calls: []Proposal{{ID: "c", Ask: true, Approval: "a", Digest: "d", Until: future}}})
	for _, e := range []Event{
		Answered{Step: Execution, Next: NextContinue}, Answered{Step: Execution, Next: NextDone}, Began{Call: "c", Digest: "d", At: now}, Ended{Call: "c"}, BatchFailed{},
	} {
		s, _, err := machine.Apply(waiting, e)
		var refused *RefusedError
		if !errors.As(err, &refused) || refused.Code != RefusedState || cmp.Diff(waiting, s) != "" {
			t.Errorf("%T: %v, %s", e, err, cmp.Diff(waiting, s))
		}
	}
}

// TestAgent05AFailureMakesNothingLegal: in ERROR nothing that a model asks for is taken, however often; what comes next is the recovery
// (cases/agent.md c5).
func TestAgent05AFailureMakesNothingLegal(t *testing.T) {
	t.Parallel()
	s, _ := play(t, machine, New(), append(begin(), Answered{Step: Execution, Calls: []Proposal{{ID: "c"}}}, Began{Call: "c", At: now}, Ended{"c", true}, BatchFailed{})...)
	if s.Step != Planning || s.Status != Error {
		t.Fatalf("%+v", s)
	}
	for range 2 {
		for _, e := range []Event{
			Answered{Step: Execution, Next: NextContinue}, Answered{Step: Done, Next: NextDone}, Answered{Step: Execution, Calls: []Proposal{{ID: "d"}}}, Began{Call: "c", At: now},
		} {
			after, notes, err := machine.Apply(s, e)
			var refused *RefusedError
			if !errors.As(err, &refused) || len(notes) > 0 || cmp.Diff(s, after) != "" {
				t.Errorf("%T: %v, %v, %s", e, err, notes, cmp.Diff(s, after))
			}
		}
	}
	if got := machine.Next(s, now).Duty; got != Recover {
		t.Errorf("next is %s", got)
	}
}

// TestAgent07SeveralApprovals: each call has its own decision, in any order; the step is left with the last one (c7).
func TestAgent07SeveralApprovals(t *testing.T) {
	t.Parallel()
	var calls []Proposal
	for _, id := range []string{"a", "b", "c"} {
		calls = append(calls, Proposal{ID: id, Ask: true, Approval: "ask-" + id, Digest: id, Until: future})
	}
	s, _ := play(t, machine, New(), append(begin(), Answered{Step: Execution, Calls: calls},
		Decided{"ask-c", "c", Approve, now, future}, Decided{"ask-a", "a", Deny, now, future})...)
	if s.Step != Awaiting || machine.Next(s, now).Duty != WaitUntil {
		t.Fatalf("b is pending: %+v", s)
	}
	s, _ = play(t, machine, s, Decided{"ask-b", "b", Approve, now, future})
	for _, want := range []string{"b", "c"} {
		if todo := machine.Next(s, now); todo.Duty != BeginCall || todo.Call != want {
			t.Fatalf("%+v, want call %s: calls run in their order, whatever the order of decisions", todo, want)
		}
		s, _ = play(t, machine, s, Began{Call: want, Digest: want, At: now}, Ended{Call: want})
	}
	if got := machine.Next(s, now).Duty; got != CallModel || s.Calls[0].Progress != Denied {
		t.Errorf("%s, %+v", got, s.Calls)
	}
}

// TestLateDecisions: a denial after the deadline is noted, and nothing reads APPROVED at any time (c10, C35, C36).
func TestLateDecisions(t *testing.T) {
	t.Parallel()
	asked, _ := play(t, machine, New(), append(begin(), Answered{Step: Execution, Calls: []Proposal{{ID: "c", Ask: true, Approval: "a", Digest: "d", Until: past}}})...)
	for decision, note := range map[Decision]bool{Approve: false, Deny: true} {
		s, notes, err := machine.Apply(asked, Decided{"a", "d", decision, now, future})
		if err != nil || s.Step != Planning || s.Status != RequiresInput || s.Reason != ReasonExpired {
			t.Errorf("%s: %+v, %v", decision, s, err)
		}
		if got := slices.ContainsFunc(notes, func(n Note) bool { return n.To == "late_denial" }); got != note {
			t.Errorf("%s: noted %v", decision, got)
		}
	}
}

// TestLimits: what has a limit says so, and says what would be right.
func TestLimits(t *testing.T) {
	t.Parallel()
	s := New()
	for i := range machine.Limits.Queue {
		s, _ = play(t, machine, s, Sent{ID: fmt.Sprint(i), Mode: Queue})
	}
	ask := Answered{Step: Execution, Calls: []Proposal{{ID: "c", Ask: true, Approval: "a", Digest: "d", Until: future}}}
	asked, _ := play(t, machine, New(), append(begin(), ask)...)
	edited := asked
	for i := range machine.Limits.Edits {
		c := edited.Calls[0]
		edited, _ = play(t, machine, edited, Edited{c.Approval, c.Digest, fmt.Sprint(i), fmt.Sprint(i), now, future})
	}
	last := edited.Calls[0]
	for _, c := range []struct {
		from State
		e    Event
		code Refusal
	}{
		{s, Sent{ID: "x", Mode: Queue}, RefusedFull}, {edited, Edited{last.Approval, last.Digest, "n", "n", now, future}, RefusedFull},
		{asked, Decided{"other", "d", Approve, now, future}, RefusedUnknown}, {asked, Decided{"a", "old", Approve, now, future}, RefusedDigest},
		{edited, Decided{"a", "d", Approve, now, future}, RefusedUnknown}, {asked, Decided{"a", "d", "", now, future}, RefusedState},
		{asked, Decided{"a", "d", Happened, now, future}, RefusedState}, {asked, CancelSent{"t0"}, RefusedLate},
		{asked, Sent{ID: "x", Mode: Supersede, Approvals: []string{"b"}}, RefusedLate}, {New(), Sent{ID: "x", Mode: Supersede}, RefusedLate}, {New(), Sent{}, RefusedState},
	} {
		var refused *RefusedError
		if _, _, err := machine.Apply(c.from, c.e); !errors.As(err, &refused) || refused.Code != c.code {
			t.Errorf("%+v: %v, want %s", c.e, err, c.code)
		}
	}
}

// TestSupersedeNamesWhatItLeavesOut: whoever supersedes is told which approval they did not name, by its name, and where to name it (C59).
func TestSupersedeNamesWhatItLeavesOut(t *testing.T) {
	t.Parallel()
	asked, _ := play(t, machine, New(), append(begin(), Answered{Step: Execution, Calls: []Proposal{{ID: "c", Ask: true, Approval: "a", Digest: "d", Until: future}}})...)
	var refused *RefusedError
	_, _, err := machine.Apply(asked, Sent{ID: "x", Mode: Supersede})
	if !errors.As(err, &refused) || refused.Subject != "approvals" || refused.Why != "approvals/a waits, too: name all that wait" {
		t.Errorf("%+v", err)
	}
}

// TestThreeDenialsEndTheTurn is S28: a person is not worn down.
func TestThreeDenialsEndTheTurn(t *testing.T) {
	t.Parallel()
	s, _ := play(t, machine, New(), begin()...)
	for range machine.Limits.Denials {
		s, _ = play(t, machine, s, Answered{Step: Planning, Calls: []Proposal{{ID: "c", Approval: "a", Digest: "d", Until: future}}}, Decided{"a", "d", Deny, now, future})
	}
	if s.Reason != ReasonDenials || s.Turn.Running != NoTurn || s.Status != RequiresInput {
		t.Errorf("%+v", s)
	}
}

// TestAnApprovalEndsTheRowOfDenials: denials count in a row, over all steps and answers of a turn: an approval between begins the count anew (S28).
func TestAnApprovalEndsTheRowOfDenials(t *testing.T) {
	t.Parallel()
	ask := Answered{Step: Execution, Calls: []Proposal{{ID: "c", Ask: true, Approval: "a", Digest: "d", Until: future}}}
	again := ask
	again.Step = Planning // A denial leads there, and the move of the utterance is spent.
	deny := Decided{"a", "d", Deny, now, future}
	s, _ := play(t, machine, New(), append(begin(), ask, deny, again, deny, again, Decided{"a", "d", Approve, now, future}, Began{Call: "c", Digest: "d", At: now}, Ended{Call: "c"})...)
	s, _ = play(t, machine, s, ask, deny, again, deny)
	if s.Turn.Running != Working || s.Turn.Denials != 2 {
		t.Fatalf("four denials with an approval in between: %+v", s)
	}
	if s, _ = play(t, machine, s, again, deny); s.Reason != ReasonDenials || s.Turn.Running != NoTurn {
		t.Errorf("the third in a row: %+v", s)
	}
}

// TestWhatClosesAQuestion: the message that opens the next turn does, one that waited before it too, and a cancel; each says so (C32, C44).
func TestWhatClosesAQuestion(t *testing.T) {
	t.Parallel()
	asks := Answered{Step: Planning, Next: NextUser, Question: Question{"q", future}}
	open := TurnOpened{Turn: "t2", Utterance: "u2"}
	for name, tt := range map[string]struct{ before, after []Event }{
		"the next message":       {nil, []Event{Sent{ID: "m2"}, open}},
		"a message that waited":  {[]Event{Sent{ID: "m2"}}, []Event{open}},
		"a cancel between turns": {nil, []Event{CancelSent{}}},
	} {
		s, _ := play(t, machine, New(), append(append(begin(), tt.before...), asks)...)
		if s.Question.ID != "q" {
			t.Fatalf("%s: no question is open: %+v", name, s)
		}
		s, _ = play(t, machine, s, tt.after[:len(tt.after)-1]...)
		if s.Question.ID != "q" {
			t.Errorf("%s: it is closed before the turn opens", name)
		}
		s, notes, err := machine.Apply(s, tt.after[len(tt.after)-1])
		if err != nil || s.Question != (Question{}) || !slices.ContainsFunc(notes, func(n Note) bool { return n.Of == OfQuestion && n.ID == "q" && n.To == "CLOSED" }) {
			t.Errorf("%s: %+v, %+v, %v", name, s, notes, err)
		}
	}
}

// TestConfiguration is C78, over all subsets of the rows that may go: every other row is refused, and DONE stays in reach.
func TestConfiguration(t *testing.T) {
	t.Parallel()
	if testkit.Race {
		t.Skip("a pure function: run without the race detector")
	}
	for set := range 1 << len(removable) {
		var without []Without
		for i, r := range removable {
			if set&(1<<i) != 0 {
				without = append(without, Without{r[0], r[1]})
			}
		}
		wrong := CheckWithout(without)
		u := newUniverse(scope{name: "rows", calls: 1, budget: 4, rec: 1, ask: true})
		u.m.Without = without
		x := explorer(u)
		if reached := x.found["L4"] == ""; reached != (len(wrong) == 0) {
			t.Errorf("without %v: DONE in reach %v, refused with %q", without, reached, wrong)
		}
	}
	if wrong := CheckWithout([]Without{ParseWithout("AWAITING_APPROVAL->PLANNING"), ParseWithout("x")}); len(wrong) != 2 {
		t.Errorf("%q", wrong)
	}
	if got := ParseWithout(" PLANNING -> REVIEW "); got != (Without{Planning, Review}) {
		t.Errorf("%v", got)
	}
}

// TestTheTable: the product's table is the one of the rules, with their states.
func TestTheTable(t *testing.T) {
	t.Parallel()
	got := map[[3]string]string{}
	for _, r := range Table {
		var states []string
		for _, s := range r.Status {
			states = append(states, short[string(s)])
		}
		got[[3]string{short[string(r.From)], string(r.Trigger), short[string(r.To)]}] = strings.Join(states, " ")
	}
	for row, states := range table {
		a, b := strings.Fields(states), strings.Fields(got[row])
		slices.Sort(a)
		slices.Sort(b)
		if !reflect.DeepEqual(a, b) {
			t.Errorf("row %v has %q, want %q", row, b, a)
		}
	}
	if len(got) != len(table) {
		t.Errorf("%d rows, want %d", len(got), len(table))
	}
}

// A turn does not end while something is approved and has not begun: the approval would stand in the list for ever, approved, and nothing
// would ever come of it.
func TestNoTurnEndsWithAnApprovedCall(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)
	s, _ := play(t, machine, New(), append(begin(),
		Answered{Step: Execution, Next: NextContinue, Calls: []Proposal{{ID: "c", Ask: true, Approval: "a", Digest: "d", Until: at.Add(time.Hour)}}},
		Decided{Approval: "a", Digest: "d", Decision: Approve, At: at, Start: at.Add(time.Hour)})...)
	after, _, err := machine.Apply(s, Stopped{Reason: ReasonBudget})
	var refused *RefusedError
	if !errors.As(err, &refused) || refused.Code != RefusedState {
		t.Errorf("got %v", err)
	}
	if len(after.Calls) != 1 || after.Calls[0].Progress != Approved {
		t.Errorf("the approved call is gone: %+v", after)
	}
}
