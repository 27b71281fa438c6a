package session

import (
	"slices"
	"testing"

	"github.com/tsumugi-dev/tsumugi/services/internal/testkit"
)

// mutants are rules taken away alone, where that can be done to the machine's answer, and what must notice it (field/review-agent.md 3).
var mutants = []struct {
	rule, scope string
	properties  []string
	mutate      func(before State, e Event, after State) State
}{
	{"C25 no turn, not IN_PROGRESS", "bounds", []string{"L1"}, func(_ State, e Event, s State) State {
		if a, ok := e.(Answered); ok && a.Next == NextDefer && s.Turn.Running == NoTurn {
			s.Status = InProgress
		}
		return s
	}},
	{"C26 an error does not rest", "bounds", []string{"L1"}, func(_ State, e Event, s State) State {
		if _, ok := e.(Unreadable); ok && s.Turn.Running == NoTurn {
			s.Status = Error
		}
		return s
	}},
	{"C27 CANCEL leaves AWAITING_APPROVAL", "bounds", []string{"I1", "T1"}, func(before State, e Event, s State) State {
		if _, ok := e.(CancelSent); ok {
			s.Step = before.Step
		}
		return s
	}},
	{"C29 SUPERSEDE voids what can run", "opaque", []string{"O3", "O7"}, func(before State, e Event, s State) State {
		if m, ok := e.(Sent); ok && m.Mode == Supersede && before.has(Approved, Permitted) {
			s.Calls = slices.DeleteFunc(slices.Clone(before.Calls), func(c Call) bool { return !c.Progress.Runnable() })
		}
		return s
	}},
	{"C36 the deadline is judged with the decision", "late", []string{"I7"}, func(before State, e Event, s State) State {
		if d, ok := e.(Decided); ok && d.Decision == Approve && before.Calls[0].due(now) {
			s = before
			s.Calls = slices.Clone(s.Calls)
			s.Calls[0].Progress = Approved
		}
		return s
	}},
	{"C37 an approval lapses", "opaque", []string{"I7"}, func(before State, e Event, s State) State { return start(before, e, s, VoidLapsed) }},
	{"C38 what will not run is voided", "opaque", []string{"O3"}, func(before State, e Event, s State) State {
		if _, ok := e.(CancelSent); ok && before.has(Approved, Permitted) {
			s.Calls = before.Calls
		}
		return s
	}},
	{"C40 effects in EXECUTION alone", "opaque", []string{"O3", "I1"}, func(before State, e Event, s State) State {
		if a, ok := e.(Answered); ok && len(a.Calls) > 0 && before.Step == Planning && s.Step == Awaiting {
			s.Step, s.Status, s.Turn.Running, s.Calls = Planning, InProgress, Working, slices.Clone(s.Calls)
			for i := range s.Calls {
				s.Calls[i].Progress = Permitted
			}
		}
		return s
	}},
	{"C41 SUPERSEDE forgets an approved result", "always", []string{"O8"}, func(before State, e Event, s State) State {
		if m, ok := e.(Sent); ok && m.Mode == Supersede {
			s.ResultApproved = before.ResultApproved
		}
		return s
	}},
	{"C42 each call of the model is charged", "bounds", []string{"L2"}, func(before State, e Event, s State) State {
		if _, ok := e.(Answered); ok && s.Turn.Running == Working {
			s.Turn.ModelCalls = before.Turn.ModelCalls
		}
		return s
	}},
	{"C44 a cancel closes what waits", "bounds", []string{"L5"}, func(before State, e Event, s State) State {
		if _, ok := e.(CancelSent); ok {
			s.Queue = before.Queue
		}
		return s
	}},
	{"C46 the approval is consumed by the INTENT", "opaque", []string{"I4", "O7"}, func(before State, e Event, s State) State {
		if _, ok := e.(Began); ok && s.has(Intent) {
			s.Calls, s.PickUps = before.Calls, before.PickUps
		}
		return s
	}},
	{"C48 DENY is judged again", "opaque", []string{"I3"}, func(before State, e Event, s State) State { return start(before, e, s, VoidPolicy) }},
	{"C49 an unknown outcome is not run again", "opaque", []string{"I4", "O5"}, func(before State, e Event, s State) State {
		if n, ok := e.(NotProven); ok && s.has(OutcomePending) {
			s = before
			s.Calls = slices.Clone(s.Calls)
			i := slices.IndexFunc(s.Calls, func(c Call) bool { return c.ID == n.Call })
			s.Calls[i].Progress = Permitted
		}
		return s
	}},
	{"C50 a timeout is unknown", "opaque", []string{"O5"}, func(before State, e Event, s State) State {
		if n, ok := e.(NotProven); ok && s.has(OutcomePending) {
			s = before
			s.Calls = slices.Clone(s.Calls)
			i := slices.IndexFunc(s.Calls, func(c Call) bool { return c.ID == n.Call })
			s.Calls[i].Progress = CallFailed
		}
		return s
	}},
	{"C53 a cancel waits for nobody", "opaque", []string{"L3"}, func(before State, e Event, s State) State {
		if n, ok := e.(NotProven); ok && s.closing() {
			s.Calls = slices.Clone(s.Calls)
			i := slices.IndexFunc(s.Calls, func(c Call) bool { return c.ID == n.Call })
			s.Calls[i].Progress = OutcomePending
		}
		return s
	}},
	{"C54 pick-ups are counted", "loop", []string{"L2"}, func(before State, e Event, s State) State {
		if _, ok := e.(PickedUp); ok {
			s.PickUps = 0
		}
		return s
	}},
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
		t.Run(m.rule, func(t *testing.T) {
			t.Parallel()
			i := slices.IndexFunc(scopes, func(c scope) bool { return c.name == m.scope })
			x := explore(scopes[i], m.mutate, m.properties...)
			if !x.over() {
				t.Errorf("nothing of %v is broken in %d states, but %v", m.properties, len(x.parent), x.found)
			}
		})
	}
}
