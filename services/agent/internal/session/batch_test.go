package session

import (
	"slices"
	"strings"
	"testing"

	"github.com/tsumugi-dev/tsumugi/services/internal/testkit"
)

// TestFailedReadsBesideCalls explores what follows where one read too many fails beside calls: the batch runs to its end, each call on its own
// decision, and the error comes after it (C39, C65); no property breaks.
func TestFailedReadsBesideCalls(t *testing.T) {
	t.Parallel()
	if testkit.Race {
		t.Skip("a pure function: run without the race detector")
	}
	x := explore(scope{name: "mixed", calls: 2, budget: 2, rec: 1, crash: true, mixed: true}, nil)
	for prop, what := range x.found {
		t.Errorf("%s is broken: %s", prop, what)
	}
	if x.rows[[3]string{"P", "ERROR", "P"}] == 0 || x.rows[[3]string{"E", "ERROR", "P"}] == 0 {
		t.Errorf("no batch ended with an error: %v", x.rows)
	}
}

// TestAnErrorWaitsForItsBatch: what is called beside too many failed reads is asked about and carried out, and takes the error not away.
func TestAnErrorWaitsForItsBatch(t *testing.T) {
	t.Parallel()
	ask := Answered{Step: Execution, ReadFailed: []bool{true, true, true}, Calls: []Proposal{{ID: "c", Ask: true, Approval: "a", Digest: "d", Until: future}}}
	s, _ := play(t, machine, New(), append(begin(), ask)...)
	if s.Step != Awaiting || s.Recoveries != 0 {
		t.Fatalf("the batch is not asked about: %+v", s)
	}
	s, _ = play(t, machine, s, Decided{"a", "d", Approve, now, future}, Began{Call: "c", Digest: "d", At: now}, Ended{Call: "c"})
	if got := machine.Next(s, now).Duty; got != EndBatch {
		t.Errorf("a call that works after three that failed takes the error away: next is %s, %+v", got, s)
	}
	if s, _ = play(t, machine, s, BatchFailed{}); s.Step != Planning || s.Status != Error || s.Recoveries != 1 || s.LastError != oneAfterTheOther {
		t.Errorf("%+v", s)
	}
}

// TestAReadThatWorksEndsTheRow: two failed reads, one that works and two more are no error; the third in a row is one, also over several answers
// (C65).
func TestAReadThatWorksEndsTheRow(t *testing.T) {
	t.Parallel()
	read := func(failed ...bool) Event { return Answered{Step: Planning, ReadFailed: failed} }
	s, _ := play(t, machine, New(), append(begin(), read(true, true), read(false), read(true, true))...)
	if s.Status != InProgress || s.Recoveries != 0 {
		t.Fatalf("%+v", s)
	}
	if s, _ = play(t, machine, s, read(true)); s.Status != Error || s.Recoveries != 1 {
		t.Errorf("%+v", s)
	}
}

// TestBars: what Bars says before anything is carried out is what becomes of the answer, from each step, after a move and after a no (C62, C63).
func TestBars(t *testing.T) {
	t.Parallel()
	u := newUniverse(scope{name: "bars", calls: 2, budget: 3, ask: true})
	barred := 0
	for _, turn := range []Turn{{}, {Moved: true}, {Blocked: true}, {Moved: true, Blocked: true}} {
		for _, step := range []Step{Planning, Execution, Review} {
			w := world{State: New()}
			w.Step, w.Status, w.Turn = step, InProgress, turn
			w.Turn.Running, w.Turn.ModelCalls = Working, 3
			for _, a := range u.words(w) {
				e, ok := a.event.(Answered)
				if !ok || len(e.Calls)+e.Others+len(e.ReadFailed) == 0 {
					continue
				}
				_, notes, err := u.m.Apply(w.State, e)
				refused := slices.ContainsFunc(notes, Note.Whole)
				if why := u.m.Bars(w.State, e); err != nil || refused != (why != "") {
					t.Errorf("%s, %+v, %s: refused %v, %v, and before that %q", step, turn, a.label, refused, err, why)
				}
				if refused {
					barred++
				}
			}
		}
	}
	if barred == 0 {
		t.Error("nothing is refused")
	}
}

// TestTheSameRefusals in a row end the turn, over all utterances; another one, or what is taken, begins the count anew (C24).
func TestTheSameRefusals(t *testing.T) {
	t.Parallel()
	ask := Answered{Step: Awaiting, Next: NextContinue, Utterance: "v"}
	other := Answered{Step: Done, Next: NextContinue, Utterance: "v"}
	stays := Answered{Step: Planning, Next: NextContinue, Utterance: "v"}
	open, _ := play(t, machine, New(), begin()...)
	for name, tt := range map[string]struct {
		answers []Event
		stuck   bool
	}{
		"four":                 {[]Event{ask, ask, ask, ask}, true},
		"three":                {[]Event{ask, ask, ask}, false},
		"with another":         {[]Event{ask, ask, other, ask, ask, ask}, false},
		"with one taken":       {[]Event{ask, ask, ask, stays, ask}, false},
		"with an unreadable":   {[]Event{ask, ask, ask, Unreadable{}, ask}, true},
		"that end the turn":    {[]Event{Answered{Step: Awaiting, Next: NextDone}, Sent{ID: "m"}, TurnOpened{Turn: "t2"}, ask, ask, ask}, false},
		"beside calls, a part": {[]Event{Answered{Step: Awaiting, Others: 1}, Answered{Step: Awaiting, Others: 1}, Answered{Step: Awaiting, Others: 1}, Answered{Step: Awaiting, Others: 1}}, false},
	} {
		s, _ := play(t, machine, open, tt.answers...)
		if got := s.Reason == ReasonStuck; got != tt.stuck || got != (s.Turn.Running == NoTurn) || got != strings.Contains(s.LastError, "4 times in a row") {
			t.Errorf("%s: %+v", name, s)
		}
	}
	without := machine
	without.Limits.Refusals = 0
	if s, _ := play(t, without, open, ask, ask, ask, ask, ask); s.Turn.Running != Working {
		t.Errorf("without a limit: %+v", s)
	}
}

// TestCallsWin: what a person would be asked beside calls is refused as a part, whatever it is, and the calls are taken (C33).
func TestCallsWin(t *testing.T) {
	t.Parallel()
	s, _ := play(t, machine, New(), begin()...)
	question := Question{"q", future}
	for _, e := range []Answered{
		{Step: Awaiting, ReadFailed: []bool{false}}, {Step: Planning, Plan: true, ReadFailed: []bool{false}}, {Step: Planning, Next: NextUser, Question: question, Others: 1},
		{Step: Execution, Question: question, Calls: []Proposal{{ID: "c"}}},
	} {
		after, notes, err := machine.Apply(s, e)
		refused := slices.IndexFunc(notes, func(n Note) bool { return n.Of == OfRefusal && !n.Whole() })
		if err != nil || refused < 0 || notes[refused].Reason != ReasonNotAsked || notes[refused].Allowed != nil || after.Turn.Running != Working || len(after.Calls) != len(e.Calls) || after.Question.ID != "" {
			t.Errorf("%+v: %+v, %+v, %v", e, after, notes, err)
		}
	}
}

// TestAQuestionThatIsNotAsked: a question waits for a person with next_step pending_user alone. Elsewhere it is refused as a part, and the rest of the
// answer is taken (C32, C33); with an answer that is refused whole it goes.
func TestAQuestionThatIsNotAsked(t *testing.T) {
	t.Parallel()
	open, _ := play(t, machine, New(), begin()...)
	review, _ := play(t, machine, open, Answered{Step: Review, Next: NextContinue, Utterance: "u2"})
	gate := Proposal{ID: "p", Approval: "a", Until: future}
	for name, tt := range map[string]struct {
		from    State
		e       Answered
		running Running
		part    string // what its refusal says; empty: there is none of a part.
	}{
		"continue":            {open, Answered{Step: Planning, Next: NextContinue, Utterance: "u2"}, Working, "next_step continue does not"},
		"a move, continue":    {open, Answered{Step: Execution, Next: NextContinue, Utterance: "u2"}, Working, "next_step continue does not"},
		"a no, continue":      {open, Answered{Step: Planning, Next: NextContinue, No: true, Utterance: "u2"}, Working, "next_step continue does not"},
		"defer":               {open, Answered{Step: Planning, Next: NextDefer}, NoTurn, "next_step defer does not"},
		"done":                {open, Answered{Step: Planning, Next: NextDone}, NoTurn, "next_step done does not"},
		"the end of the task": {review, Answered{Step: Review, Next: NextDone}, NoTurn, "next_step done does not"},
		"the end with a move": {open, Answered{Step: Review, Next: NextDone, Utterance: "u2"}, Working, "next_step done does not"},
		"a plan":              {open, Answered{Step: Awaiting, Next: NextUser, Plan: true, Gate: gate}, Waiting, "beside an approval nothing else is asked"},
		"a result":            {review, Answered{Step: Review, Next: NextDone, AskResult: true, Gate: gate}, Waiting, "beside an approval nothing else is asked"},
		"no such move":        {open, Answered{Step: Done, Next: NextContinue, Utterance: "u2"}, Working, ""},
		"it is asked":         {open, Answered{Step: Planning, Next: NextUser}, NoTurn, ""},
	} {
		tt.e.Question = Question{"q", future}
		after, notes, err := machine.Apply(tt.from, tt.e)
		var part []string
		for _, n := range notes {
			if n.Of == OfRefusal && !n.Whole() && strings.Contains(n.Text, "question") {
				part = append(part, n.Text)
				if n.Reason != ReasonNotAsked || n.Allowed != nil {
					t.Errorf("%s: it is told as a move: %+v", name, n)
				}
			}
		}
		if err != nil || after.Turn.Running != tt.running || (after.Question.ID != "") != (name == "it is asked") {
			t.Errorf("%s: %+v, %v", name, after, err)
		}
		if (len(part) == 1) != (tt.part != "") || !strings.Contains(strings.Join(part, ""), tt.part) {
			t.Errorf("%s: told %q", name, part)
		}
	}
}
