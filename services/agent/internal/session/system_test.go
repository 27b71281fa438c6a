package session

import (
	"fmt"
	"strings"
)

// system is what the owner does next, or the model answers.
func (u *universe) system(w world) {
	switch {
	case w.closing() && w.pc != "":
		u.stopping(w)
		return
	case w.pc == "M":
		u.answers(w)
		return
	case w.pc != "":
		u.running(w)
		return
	}
	todo := u.next(w)
	switch todo.Duty {
	case OpenTurn:
		u.add('S', "a turn opens", w, TurnOpened{Turn: w.gen("t"), Utterance: "v"}, func(n *world) {
			if w.Lifecycle != Open {
				n.deny = false
			}
		})
	case CallModel:
		u.put('S', "call the model", w, func(n *world) { n.pc = "M" })
	case BeginCall:
		u.begin(w, w.index(todo.Call))
	case Reconcile:
		u.reconcile(w, w.index(todo.Call))
	case EndBatch:
		u.add('S', "the batch ends with a failure", w, BatchFailed{}, nil)
	case Recover:
		u.add('S', "the recovery turn opens", w, Recovered{"v"}, nil)
	case StopBudget:
		u.add('S', "budget spent", w, Stopped{Reason: ReasonBudget}, nil)
	case BreakLoop:
		u.add('S', "third pick-up without progress", w, CrashLooped{}, nil)
	case FinishStop:
		u.add('S', "work has stopped", w, WorkStopped{Turn: w.gen("t"), Utterance: "v"}, nil)
	case Expire:
		i := w.index(todo.Call)
		u.add('S', of("expire ", "", i), w, Lapsed{todo.ID, now}, func(n *world) {
			if i < len(n.ghosts) && w.Calls[i].Progress == Pending {
				n.ghosts[i].outcomes++
			}
		})
	}
}

func (w world) index(call string) int {
	for i, c := range w.Calls {
		if c.ID == call {
			return i
		}
	}
	return -1
}

// stopping: nothing new starts, what runs ends or is killed.
func (u *universe) stopping(w world) {
	if w.pc[0] == 'C' {
		u.put('S', "nothing starts", w, func(n *world) { n.pc = "" })
	}
	if w.pc == "M" {
		if _, _, ok := u.apply(w, Answered{Step: w.Step, Next: NextDone}); ok {
			u.broken("I6", "an answer is taken while the work is being stopped")
		}
		u.put('S', "abort the call of the model", w, func(n *world) { n.pc = "" })
		return
	}
	u.running(w)
	if w.pc[0] != 'X' {
		return
	}
	i := int(w.pc[1] - '0')
	call := w.Calls[i].ID
	if u.file {
		u.add('S', of("kill ", ": before the rename", i), w, ProvenUndone{call}, func(n *world) { n.pc = "" })
		return
	}
	u.add('S', of("kill ", ": outcome unknown", i), w, NotProven{Call: call}, func(n *world) { n.pc = "" })
	if w.stalled == "" {
		u.add('S', of("kill ", ": outcome unknown, may still land", i), w, NotProven{Call: call}, func(n *world) { n.pc, n.stalled = "", w.pc })
	}
}

func (u *universe) begin(w world, i int) {
	void := Reason("")
	switch {
	case w.deny:
		void = VoidPolicy
	case u.file && w.stalled != "" && !u.without.rule(lockStart):
		u.add('S', of("call ", ": the folder is locked by another process", i), w, ParkedFor{}, nil)
		return
	case u.world && w.fs != 'B':
		void = VoidStale
	}
	if void == "" && u.without.rule(atomicIntent) {
		u.put('S', of("call ", ": checks pass", i), w, func(n *world) { n.pc = fmt.Sprintf("C%d", i) })
		return
	}
	u.intent(w, i, void)
}

// intent is the transaction in which a call begins or is voided.
func (u *universe) intent(w world, i int, void Reason) {
	c := w.Calls[i]
	u.add('S', of("call ", ": INTENT or void", i), w, Began{c.ID, c.Digest, void, now}, func(n *world) {
		if n.Calls[i].Progress == Voided {
			return
		}
		n.pc = fmt.Sprintf("X%d", i)
		switch {
		case c.Due(now):
			u.broken("I7", "an approval has lapsed and its call starts")
		case w.deny:
			u.broken("I3", "a call starts although policy says DENY")
		case c.Progress == Approved && w.ghosts[i].shown != c.Digest:
			u.broken("I3", "a call starts with arguments that the approver did not see")
		case c.Progress == Approved && w.ghosts[i].ack != 'a', c.Progress != Approved && c.Progress != Permitted:
			u.broken("I7", fmt.Sprintf("call %d is %s, and nobody was told that it is approved; it starts", i, c.Progress))
		case w.Step != Execution:
			u.broken("T3", "a call starts in "+string(w.Step))
		case u.file && w.stalled != "":
			u.broken("T5", "a call starts while a stalled owner is in the middle of an effect")
		}
	})
}

// effect is the effect of a call, outside the store; false where the tool's own last check refuses.
func (u *universe) effect(w world, i int) (world, bool) {
	if u.world && w.fs != 'B' {
		switch {
		case w.fs == 'L' && u.without.rule(rootWrite):
			u.broken("I8", "the write goes through a link that leads out of the folder")
		case w.fs == 'O' && u.without.rule(swapCheck):
			u.broken("O6", "the write replaces content that the approver never saw")
		}
		return w, false
	}
	n := w.clone()
	if n.ghosts[i].effects++; n.ghosts[i].effects > 1 {
		u.broken("I4", fmt.Sprintf("the effect of call %d happens twice", i))
	}
	if u.world {
		n.fs = 'A'
	}
	return n, true
}

func (u *universe) running(w world) {
	i := int(w.pc[1] - '0')
	call := w.Calls[i].ID
	idle := func(n *world) { n.pc = "" }
	if w.pc[0] == 'C' {
		u.intent(w, i, "")
		return
	}
	if w.pc[0] == 'Y' {
		u.add('S', of("call ", ": EXECUTED", i), w, Ended{Call: call}, idle)
		return
	}
	if n, ok := u.effect(w, i); ok {
		n.pc = fmt.Sprintf("Y%d", i)
		u.out = append(u.out, edge{'S', of("call ", ": effect", i), n, nil})
	}
	u.add('S', of("call ", ": fails, nothing done", i), w, Ended{call, true}, idle)
	if !u.file && !w.closing() {
		unknown := NotProven{call, fmt.Sprintf("%s.%d", w.gen("o"), i), "d", future}
		u.add('S', of("call ", ": timeout", i), w, unknown, idle)
		if w.stalled == "" {
			u.add('S', of("call ", ": timeout, may still land", i), w, unknown, func(n *world) { n.pc, n.stalled = "", w.pc })
		}
	}
}

// reconcile is an INTENT without outcome, found by the next owner.
func (u *universe) reconcile(w world, i int) {
	call := w.Calls[i].ID
	provable := u.file && (w.stalled != fmt.Sprintf("X%d", i) || u.without.rule(folderLock)) // the folder's lock is free
	done := w.ghosts[i].effects > 0
	if u.world && u.without.rule(exactWitness) { // by the content of the target
		done, provable = w.fs == 'A', provable && (w.fs == 'A' || w.fs == 'B')
	}
	switch {
	case provable && done:
		u.add('S', of("call ", ": proven done", i), w, Ended{Call: call}, nil)
	case provable:
		u.add('S', of("call ", ": proven not done", i), w, ProvenUndone{call}, nil)
	default:
		u.add('S', of("call ", ": outcome unknown", i), w, NotProven{call, fmt.Sprintf("%s.%d", w.gen("o"), i), "d", future}, nil)
	}
}

// saying is what the answers of a model depend on here.
type saying struct {
	step Step
	gen  string
	deny bool
}

type answer struct {
	label string
	event Event
}

// answers are all that a model can say.
func (u *universe) answers(w world) {
	k := saying{w.Step, w.gen("a"), w.deny}
	all, ok := u.said[k]
	if !ok {
		all = u.words(w)
		u.said[k] = all
	}
	for _, a := range all {
		u.add('S', a.label, w, a.event, func(n *world) { n.pc = "" })
	}
}

func (u *universe) words(w world) []answer {
	all := []answer{
		{"the model cannot be reached", Stopped{Reason: ReasonUnreachable, Called: true}},
		{"invalid envelope", Unreadable{}},
		{"a failed read, one too many", Answered{Step: w.Step, Next: NextContinue, ReadFailed: []bool{true}}},
		{"answer: reads", Answered{Step: w.Step, Next: NextContinue, ReadFailed: []bool{false}}},
		{"answer: refused calls", Answered{Step: w.Step, Next: NextContinue, Others: 1}},
		{"answer: no, with calls", Answered{Step: w.Step, No: true, Calls: u.proposals(w, "a")[0], Next: NextContinue}},
	}
	say := func(label string, e Event) { all = append(all, answer{label, e}) }
	for _, no := range []bool{true, false} {
		for _, step := range []Step{Planning, Execution, Review, Awaiting, Done} {
			for _, next := range []Next{NextDone, NextUser, NextDefer, NextContinue} {
				for _, asks := range u.asksFor(w.Step, step, next) {
					e := Answered{Step: step, Next: next, No: no, AskPlan: asks, AskResult: asks, Utterance: "v", Gate: u.proposals(w, "a")[0][0]}
					if u.question {
						e.Question = Question{"q", future}
					}
					say(fmt.Sprintf("answer: step %s, %s, no %v, asks %v", step, next, no, asks), e)
				}
			}
		}
	}
	for _, step := range []Step{w.Step, Execution, Review} {
		for _, asks := range u.asksFor(w.Step, step, "") {
			if step != w.Step {
				say("answer: step "+string(step)+" with reads", Answered{Step: step, Next: NextDone, AskPlan: asks, ReadFailed: []bool{false}})
			}
			if w.deny {
				continue // Policy refuses the calls.
			}
			for _, calls := range u.proposals(w, "al") {
				e := Answered{Step: step, Next: NextDone, AskPlan: asks, Calls: calls}
				say(fmt.Sprintf("answer: step %s with %d calls", step, len(calls)), e)
				if u.mixed {
					e.ReadFailed = []bool{true}
					say(fmt.Sprintf("answer: step %s with %d calls and a failed read, one too many", step, len(calls)), e)
				}
			}
		}
	}
	return all
}

// asksFor is asks where the answer of policy changes anything.
func (u *universe) asksFor(from, to Step, next Next) []bool {
	if from == Planning && to == Execution || from == Review && next == NextDone {
		return u.asks()
	}
	return []bool{u.askAlways}
}

func (u *universe) asks() []bool {
	switch {
	case u.askAlways:
		return []bool{true}
	case u.ask:
		return []bool{false, true}
	}
	return []bool{false}
}

// proposals are batches of calls, each a word of letters: a asked for, l allowed.
func (u *universe) proposals(w world, letters string) [][]Proposal {
	words, last := []string(nil), []string{""}
	for range u.calls {
		var longer []string
		for _, l := range last {
			for _, c := range letters {
				longer = append(longer, l+string(c))
			}
		}
		words, last = append(words, longer...), longer
	}
	var all [][]Proposal
	for _, word := range words {
		var calls []Proposal
		for i, c := range strings.Split(word, "") {
			id := fmt.Sprintf("%s.%d", w.gen("a"), i)
			calls = append(calls, Proposal{ID: fmt.Sprintf("c%d", i), Ask: c == "a", Approval: id, Digest: "d", Until: future})
		}
		all = append(all, calls)
	}
	return all
}
