package session

import (
	"slices"
	"testing"

	"github.com/tsumugi-dev/tsumugi/services/internal/testkit"
)

// mutant is a rule that is taken away alone, and what must notice it (field/review-agent.md 3; field/agent_model.py, RULES).
type mutant struct {
	name, scope string
	properties  []string
	// mutate is what the machine answers without the rule, where it answers.
	mutate func(before State, e Event, after State) State
	// instead is what it answers in place of its own answer or refusal; false: its own.
	instead func(m Machine, before State, e Event) (State, []Note, bool)
	// refuses are events that it refuses without the rule.
	refuses func(m Machine, before State, e Event) bool
	// next is what the owner does without it.
	next func(s State, todo Todo) Todo
	// around is a rule of what is around the machine: the store, the owner of a session, the folder. The universe has both ways.
	around rule
}

// rule is one of what is around the machine. What holds them in the product are tests of store, ledger, router and workfolder.
type rule string

const (
	outcomeClock rule = "the outcome's approval has a deadline"
	atomicIntent rule = "INTENT is one transaction with what was checked"
	folderLock   rule = "a proof under the folder's lock alone"
	lockStart    rule = "an effect starts under the folder's lock alone"
	exactWitness rule = "the proof is the staged file"
	fence        rule = "writes are fenced by the epoch"
	ackFirst     rule = "a decision is acknowledged after its commit"
	swapCheck    rule = "what comes out of an exchange is looked at"
	rootWrite    rule = "the write stays within the folder"
)

// rule says that one of what is around is taken away.
func (m *mutant) rule(r rule) bool { return m != nil && m.around == r }

// answer is the machine's without the rule; false where it refuses.
func (m *mutant) answer(machine Machine, s State, e Event) (State, []Note, bool) {
	if m != nil && m.refuses != nil && m.refuses(machine, s, e) {
		return s, nil, false
	}
	if m != nil && m.instead != nil {
		if after, notes, ok := m.instead(machine, s, e); ok {
			return after, notes, true
		}
	}
	after, notes, err := machine.Apply(s, e)
	if err == nil && m != nil && m.mutate != nil {
		after = m.mutate(s, e, after)
	}
	return after, notes, err == nil
}

// duty is the owner's without the rule.
func (m *mutant) duty(machine Machine, s State) Todo {
	todo := machine.Next(s, now)
	if m != nil && m.next != nil {
		return m.next(s, todo)
	}
	return todo
}

// mutants are all rules of the model, of the machine itself and of what is around it.
var mutants = slices.Concat(changed, refusing, aroundIt)

// changed are those that show in what the machine makes of an event.
var changed = []mutant{
	{name: "C25 no turn, not IN_PROGRESS", scope: "bounds", properties: []string{"L1"}, mutate: func(_ State, e Event, s State) State {
		if a, ok := e.(Answered); ok && a.Next == NextDefer && s.Turn.Running == NoTurn {
			s.Status = InProgress
		}
		return s
	}},
	{name: "C26 an error does not rest", scope: "bounds", properties: []string{"L1"}, mutate: func(_ State, e Event, s State) State {
		if _, ok := e.(Unreadable); ok && s.Turn.Running == NoTurn {
			s.Status = Error
		}
		return s
	}},
	{name: "C27 CANCEL leaves AWAITING_APPROVAL", scope: "bounds", properties: []string{"I1", "T1"}, mutate: func(before State, e Event, s State) State {
		if _, ok := e.(CancelSent); ok {
			s.Step = before.Step
		}
		return s
	}},
	{name: "C29 SUPERSEDE voids what can run", scope: "opaque", properties: []string{"O3", "O7"}, mutate: func(before State, e Event, s State) State {
		if m, ok := e.(Sent); ok && m.Mode == Supersede && before.has(Approved, Permitted) {
			s.Calls = slices.DeleteFunc(slices.Clone(before.Calls), func(c Call) bool { return !c.Progress.Runnable() })
		}
		return s
	}},
	{name: "C36 the deadline is judged with the decision", scope: "late", properties: []string{"I7"}, mutate: func(before State, e Event, s State) State {
		if d, ok := e.(Decided); ok && d.Decision == Approve && before.Calls[0].Due(now) {
			s = before
			s.Calls = slices.Clone(s.Calls)
			s.Calls[0].Progress = Approved
		}
		return s
	}},
	{name: "C37 an approval lapses", scope: "opaque", properties: []string{"I7"}, mutate: func(before State, e Event, s State) State { return start(before, e, s, VoidLapsed) }},
	{name: "C38 what will not run is voided", scope: "opaque", properties: []string{"O3"}, mutate: func(before State, e Event, s State) State {
		if _, ok := e.(CancelSent); ok && before.has(Approved, Permitted) {
			s.Calls = before.Calls
		}
		return s
	}},
	{name: "C40 effects in EXECUTION alone", scope: "opaque", properties: []string{"O3", "I1"}, mutate: func(before State, e Event, s State) State {
		if a, ok := e.(Answered); ok && len(a.Calls) > 0 && before.Step == Planning && s.Step == Awaiting {
			s.Step, s.Status, s.Turn.Running, s.Calls = Planning, InProgress, Working, slices.Clone(s.Calls)
			for i := range s.Calls {
				s.Calls[i].Progress = Permitted
			}
		}
		return s
	}},
	{name: "C41 SUPERSEDE forgets an approved result", scope: "always", properties: []string{"O8"}, mutate: func(before State, e Event, s State) State {
		if m, ok := e.(Sent); ok && m.Mode == Supersede {
			s.ResultApproved = before.ResultApproved
		}
		return s
	}},
	{name: "C42 each call of the model is charged", scope: "bounds", properties: []string{"L2"}, mutate: func(before State, e Event, s State) State {
		if _, ok := e.(Answered); ok && s.Turn.Running == Working {
			s.Turn.ModelCalls = before.Turn.ModelCalls
		}
		return s
	}},
	{name: "C44 a cancel closes what waits", scope: "bounds", properties: []string{"L5"}, mutate: func(before State, e Event, s State) State {
		if _, ok := e.(CancelSent); ok {
			s.Queue = before.Queue
		}
		return s
	}},
	{name: "C46 the approval is consumed by the INTENT", scope: "opaque", properties: []string{"I4", "O7"}, mutate: func(before State, e Event, s State) State {
		if _, ok := e.(Began); ok && s.has(Intent) {
			s.Calls, s.PickUps = before.Calls, before.PickUps
		}
		return s
	}},
	{name: "C48 DENY is judged again", scope: "opaque", properties: []string{"I3"}, mutate: func(before State, e Event, s State) State { return start(before, e, s, VoidPolicy) }},
	{name: "C49 an unknown outcome is not run again", scope: "opaque", properties: []string{"I4", "O5"}, mutate: func(before State, e Event, s State) State {
		if n, ok := e.(NotProven); ok && s.has(OutcomePending) {
			s = before
			s.Calls = slices.Clone(s.Calls)
			i := slices.IndexFunc(s.Calls, func(c Call) bool { return c.ID == n.Call })
			s.Calls[i].Progress = Permitted
		}
		return s
	}},
	{name: "C50 a timeout is unknown", scope: "opaque", properties: []string{"O5"}, mutate: func(before State, e Event, s State) State {
		if n, ok := e.(NotProven); ok && s.has(OutcomePending) {
			s = before
			s.Calls = slices.Clone(s.Calls)
			i := slices.IndexFunc(s.Calls, func(c Call) bool { return c.ID == n.Call })
			s.Calls[i].Progress = CallFailed
		}
		return s
	}},
	{name: "C53 a cancel waits for nobody", scope: "opaque", properties: []string{"L3"}, mutate: func(before State, e Event, s State) State {
		if n, ok := e.(NotProven); ok && s.closing() {
			s.Calls = slices.Clone(s.Calls)
			i := slices.IndexFunc(s.Calls, func(c Call) bool { return c.ID == n.Call })
			s.Calls[i].Progress = OutcomePending
		}
		return s
	}},
	{name: "C54 pick-ups are counted", scope: "loop", properties: []string{"L2"}, mutate: func(before State, e Event, s State) State {
		if _, ok := e.(PickedUp); ok {
			s.PickUps = 0
		}
		return s
	}},
	{name: "C28 A to E by EXPIRY, too", scope: "opaque", properties: []string{"I1"}, mutate: func(before State, e Event, s State) State {
		if before.Step == Awaiting && s.Step == Execution && expires(before, e) {
			s.Step, s.Status, s.Turn.Running = Awaiting, RequiresInput, Waiting
		}
		return s
	}},
	{name: "C34 the way out goes by all outcomes", scope: "gate", properties: []string{"T2"}, mutate: func(before State, e Event, s State) State {
		if before.Step == Awaiting && s.Step == Planning && expires(before, e) && s.has(Denied) {
			s.Calls, s.Turn, s.Status = nil, Turn{}, RequiresInput
		}
		return s
	}},
	{name: "C41 an approved result is remembered", scope: "always", properties: []string{"L4"}, mutate: func(_ State, e Event, s State) State {
		if _, ok := e.(Decided); ok {
			s.ResultApproved = false
		}
		return s
	}},
	{name: "C77 an INTERRUPT waits until the work has stopped", scope: "opaque", properties: []string{"O7"}, mutate: func(_ State, e Event, s State) State {
		if m, ok := e.(Sent); ok && s.Turn.Running == Stopping {
			s.Calls, s.Turn = nil, Turn{Running: Working, ID: m.NewTurn, Utterance: m.NewUtterance, ModelCalls: 1}
		}
		return s
	}},
}

// expires says that an event is the end of an approval's time.
func expires(before State, e Event) bool {
	switch e := e.(type) {
	case Lapsed:
		return true
	case Decided:
		return slices.ContainsFunc(before.Calls, func(c Call) bool { return c.Approval == e.Approval && c.Due(e.At) })
	}
	return false
}

// start has a call start all the same.
func start(before State, e Event, s State, why Reason) State {
	b, ok := e.(Began)
	if !ok {
		return s
	}
	i := slices.IndexFunc(s.Calls, func(c Call) bool { return c.ID == b.Call })
	if s.Calls[i].Progress == Voided && s.Calls[i].Reason == why {
		s.Calls = slices.Clone(s.Calls)
		s.Calls[i].Progress = Intent
	}
	return s
}

// TestEachPropertyCanBreak: a machine without one rule is found out. Without this a check that never fails would pass for a proof.
func TestEachPropertyCanBreak(t *testing.T) {
	if testkit.Race {
		t.Skip("a pure function: run without the race detector")
	}
	for _, m := range mutants {
		t.Run(m.name, func(t *testing.T) {
			t.Parallel()
			i := slices.IndexFunc(scopes, func(c scope) bool { return c.name == m.scope })
			x := explore(scopes[i], &m, m.properties...)
			if !x.over() {
				t.Errorf("nothing of %v is broken in %d states, but %v", m.properties, len(x.parent), x.found)
			}
		})
	}
}
