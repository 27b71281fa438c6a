package session

import (
	"slices"
	"strings"
)

// kindQuestion is a question as an approval, which C32 says that it is not.
const kindQuestion Kind = "QUESTION"

// refusing are rules by which the machine refuses something, or that do: without them it takes it, or refuses more.
var refusing = []mutant{
	{name: "C30 an error that was one too many ends in PLANNING", scope: "opaque", properties: []string{"L1"}, refuses: func(m Machine, s State, e Event) bool {
		_, ok := e.(BatchFailed)
		return ok && s.Recoveries >= m.Limits.Recoveries && s.Step != Planning
	}},
	{name: "C31 R to D is a move, too", scope: "bounds", properties: []string{"I2"}, instead: func(m Machine, s State, e Event) (State, []Note, bool) {
		if a, ok := e.(Answered); !ok || s.Step != Review || a.Step != Review || a.Next != NextDone || !s.Turn.Moved {
			return s, nil, false
		}
		s.Turn.Moved = false
		return applied(m, s, e)
	}},
	{name: "C32 a question is no approval", scope: "bounds", properties: []string{"I1"}, instead: asksByApproval},
	{name: "C33 one gate has one kind", scope: "opaque", properties: []string{"L1"}, instead: func(m Machine, s State, e Event) (State, []Note, bool) {
		a, ok := e.(Answered)
		if !ok || s.Step != Review || a.Step != Awaiting {
			return s, nil, false
		}
		after, notes, ok := applied(m, s, e)
		if ok && after.Step == Awaiting {
			also := Call{ID: "c1", Kind: KindTool, Progress: Pending, Approval: a.Gate.Approval + "t", Digest: a.Gate.Digest, Until: a.Gate.Until}
			after.Calls = append(after.Calls, also)
		}
		return after, notes, ok
	}},
	{name: "C35 a late denial changes no outcome", scope: "gate", properties: []string{"O1"}, instead: func(_ Machine, s State, e Event) (State, []Note, bool) {
		d, ok := e.(Decided)
		i := slices.IndexFunc(s.Calls, func(c Call) bool { return c.Approval == d.Approval && c.Progress == Expired })
		if !ok || d.Decision != Deny || i < 0 {
			return s, nil, false
		}
		return s.with(i, Denied), nil, true
	}},
	{name: "C39 a batch runs to its end", scope: "opaque", properties: []string{"O3"}, next: func(s State, todo Todo) Todo {
		if todo.Duty == BeginCall && s.has(CallFailed) {
			todo.Duty = EndBatch
		}
		return todo
	}, instead: func(_ Machine, s State, e Event) (State, []Note, bool) {
		if _, ok := e.(BatchFailed); !ok || !s.any(Progress.Runnable) {
			return s, nil, false
		}
		s.Step, s.Status = Planning, Error
		return s, []Note{{Of: OfStep, From: string(Execution), To: string(Planning), Trigger: ByError}}, true
	}},
	{name: "C43 what waits is taken whenever no turn is open", scope: "always", properties: []string{"L1"}, refuses: func(_ Machine, s State, e Event) bool {
		_, ok := e.(TurnOpened)
		return ok && s.Status != Success
	}},
	{name: "C45 a canceled task can be followed by another", scope: "always", properties: []string{"L1"}, refuses: func(_ Machine, s State, e Event) bool {
		_, ok := e.(TurnOpened)
		return ok && s.Lifecycle == Canceled
	}},
	{name: "C56 a decision is conditional on PENDING", scope: "late", properties: []string{"O1"}, instead: func(_ Machine, s State, e Event) (State, []Note, bool) {
		d, ok := e.(Decided)
		i := slices.IndexFunc(s.Calls, func(c Call) bool { return c.Approval == d.Approval && c.Approval != "" && c.Progress.Final() })
		if !ok || d.Decision != Approve || i < 0 {
			return s, nil, false
		}
		return s.with(i, Approved), []Note{{Of: OfCall, ID: s.Calls[i].ID, To: string(Approved)}}, true
	}},
	{name: "C58 a decision names the digest of now", scope: "gate", properties: []string{"I3"}, instead: func(m Machine, s State, e Event) (State, []Note, bool) {
		d, ok := e.(Decided)
		i := slices.IndexFunc(s.Calls, func(c Call) bool { return c.Approval == d.Approval && strings.TrimSuffix(c.Digest, "e") == d.Digest })
		if !ok || i < 0 {
			return s, nil, false
		}
		d.Digest = s.Calls[i].Digest
		return applied(m, s, d)
	}},
	{name: "C59 a cancel names its turn", scope: "late", properties: []string{"U1"}, instead: func(m Machine, s State, e Event) (State, []Note, bool) {
		if _, ok := e.(CancelSent); !ok {
			return s, nil, false
		}
		return applied(m, s, CancelSent{s.Turn.ID})
	}},
	{name: "C59 SUPERSEDE names the approvals", scope: "late", properties: []string{"U1"}, instead: func(m Machine, s State, e Event) (State, []Note, bool) {
		sent, ok := e.(Sent)
		if !ok || sent.Mode != Supersede {
			return s, nil, false
		}
		sent.Approvals = world{State: s}.pending()
		return applied(m, s, sent)
	}},
}

// aroundIt are rules of what is around the machine.
var aroundIt = []mutant{
	{name: "C47 INTENT is one transaction", scope: "opaque", properties: []string{"I3"}, around: atomicIntent},
	{name: "C49 an outcome that is asked about has a deadline", scope: "opaque", properties: []string{"O2"}, around: outcomeClock},
	{name: "C51 a proof under the lock", scope: "file", properties: []string{"O5"}, around: folderLock},
	{name: "C51 a start under the lock", scope: "file", properties: []string{"T5"}, around: lockStart},
	{name: "C52 the staged file is the proof", scope: "world", properties: []string{"I4", "O5"}, around: exactWitness},
	{name: "C55 the epoch fences", scope: "opaque", properties: []string{"T1", "I2"}, around: fence},
	{name: "C57 acknowledged after the commit", scope: "opaque", properties: []string{"O4"}, around: ackFirst},
	{name: "S1 exchange, look, exchange back", scope: "world", properties: []string{"O6"}, around: swapCheck},
	{name: "S2 the write stays within the folder", scope: "world", properties: []string{"I8"}, around: rootWrite},
}

// applied is the machine's own answer.
func applied(m Machine, s State, e Event) (State, []Note, bool) {
	after, notes, err := m.Apply(s, e)
	return after, notes, err == nil
}

// with is a state in which a call is somewhere else.
func (s State) with(i int, p Progress) State {
	s.Calls = slices.Clone(s.Calls)
	s.Calls[i].Progress = p
	return s
}

// asksByApproval has a question asked as an approval, out of which no row leads.
func asksByApproval(m Machine, s State, e Event) (State, []Note, bool) {
	switch e := e.(type) {
	case Answered:
		after, _, ok := applied(m, s, e)
		if !ok || after.Question.ID == "" || after.Step != s.Step {
			return s, nil, false
		}
		after = s
		notes := []Note{{Of: OfStep, From: string(s.Step), To: string(Awaiting), Trigger: ByGate}}
		after.Step, after.Status, after.Turn.Running = Awaiting, RequiresInput, Waiting
		after.Calls = []Call{{ID: "q", Kind: kindQuestion, Progress: Pending, Approval: e.Gate.Approval, Digest: "d", Until: future}}
		return after, notes, true
	case Decided:
		if len(s.Calls) == 1 && s.Calls[0].Kind == kindQuestion && e.Decision == Approve {
			return s.with(0, Approved), nil, true
		}
	}
	return s, nil, false
}
