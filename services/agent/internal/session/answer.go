package session

import (
	"fmt"
	"strings"
)

// answered is the beginning of each event that a call of the model ends with: what the batch before it gave is with the model now,
// and the call is charged (C42), in the same transaction.
func (c *change) answered() error {
	switch {
	case c.Lifecycle != Open || c.Turn.Running != Working || c.Status != InProgress:
		return refuse(RefusedState, "no answer is waited for: the session is %s, %s", c.Lifecycle, c.Status)
	case c.any(func(p Progress) bool { return !p.Final() }):
		return refuse(RefusedState, "a call of the turn is open: the model is not asked before it has a result (O7)")
	case c.Turn.ModelCalls <= 0:
		return refuse(RefusedState, "the budget of model calls is spent")
	}
	c.Calls = nil
	c.PickUps = 0
	c.Turn.ModelCalls--
	c.Spent++
	c.note(Note{Of: OfTurn, ID: c.Turn.ID, From: string(Working), To: ToAnswered, Text: c.Turn.Utterance})
	return nil
}

func (e Unreadable) apply(c *change) error {
	if err := c.answered(); err != nil {
		return err
	}
	c.note(Note{Of: OfRefusal, ID: c.Turn.Utterance, Reason: ReasonInvalid, Text: e.Why})
	if c.Turn.Reasks < c.m.Limits.Reasks {
		c.Turn.Reasks++
		return nil
	}
	c.LastError = e.Why
	c.note(Note{Of: OfStatus, From: string(c.Status), To: string(Error)}) // C26: it does not rest there.
	c.Status = Error
	return c.stop(RequiresInput, ReasonInvalid)
}

func (e Stopped) apply(c *change) error {
	if e.Called {
		if err := c.answered(); err != nil {
			return err
		}
	}
	if c.Lifecycle != Open || c.Turn.Running != Working {
		return refuse(RefusedState, "no turn is working")
	}
	c.LastError = e.Why
	if e.Reason == ReasonBudget {
		c.why = e.Why
	}
	return c.stop(RequiresInput, e.Reason)
}

func (e Answered) apply(c *change) error {
	if err := c.answered(); err != nil {
		return err
	}
	last := c.Turn
	c.Turn.Refused, c.Turn.Refusals = "", 0
	if err := e.take(c); err != nil || c.Turn.Refused == "" {
		return err
	}
	if c.Turn.Refusals = 1; c.Turn.Refused == last.Refused {
		c.Turn.Refusals += last.Refusals
	}
	if limit := c.m.Limits.Refusals; limit <= 0 || c.Turn.Refusals < limit {
		return nil
	}
	c.LastError = fmt.Sprintf("the same was refused %d times in a row: %s", c.Turn.Refusals, c.Turn.Refused)
	return c.stop(RequiresInput, ReasonStuck)
}

func (e Answered) take(c *change) error {
	for _, failed := range e.ReadFailed {
		c.called(failed)
	}
	if len(e.Calls) == 0 && e.Others == 0 && len(e.ReadFailed) == 0 {
		return e.speak(c)
	}
	if err := e.work(c); err != nil || len(c.Calls) > 0 || !c.m.failing(c.State) {
		return err
	}
	return c.fail(oneAfterTheOther)
}

// work is an answer with calls: they win over next_step and over a gate of another kind (C33). The move comes first and the calls are
// judged in the new step, both or neither (C62).
func (e Answered) work(c *change) error {
	if e.No {
		c.Turn.Blocked = true
	}
	if reason, why := c.bars(e); why != "" {
		c.refused(e, reason, why)
		return nil
	}
	if e.Step != c.Step && e.Step != Awaiting {
		c.Turn.Moved = true
		if err := c.step(ByModel, e.Step, InProgress); err != nil {
			return err
		}
	}
	e.beside(c)
	if len(e.Calls) == 0 {
		return nil
	}
	return c.propose(e.Calls)
}

// beside refuses what a person would be asked beside calls: one answer opens one gate, of one kind, and calls win (C33).
func (e Answered) beside(c *change) {
	var all []string
	if e.Step == Awaiting {
		all = append(all, "the approval that is asked for")
	}
	if e.Plan {
		all = append(all, "the plan")
	}
	if e.Question.ID != "" {
		all = append(all, "the question")
	}
	if len(all) == 0 {
		return
	}
	e.Step = ""
	c.refused(e, ReasonNotAsked, "beside calls nothing else is asked: "+strings.Join(all, ", ")+" had no effect; give it in an answer without calls")
}

// unasked refuses the question of an answer that is taken and asks nothing: a question ends the turn and waits for a person (C32), and one answer opens
// one gate, of one kind (C33).
func (e Answered) unasked(c *change) {
	if e.Question.ID == "" {
		return
	}
	why := "a question waits for the user, and next_step " + string(e.Next) + " does not"
	if c.Turn.Running == Waiting {
		why = "beside an approval nothing else is asked"
	}
	e.Step = ""
	c.refused(e, ReasonNotAsked, why+": the question had no effect; ask it with next_step pending_user, beside nothing else that a person is asked")
}

// Bars says why nothing of an answer with calls is taken, in words for the model; empty: each call is judged by itself. Whoever carries out reads
// asks before the first one: they run before the answer is applied, and no more than all calls without its move or after a no (C62, C63).
func (m Machine) Bars(s State, e Answered) string {
	c := &change{m: m, State: s}
	_, why := c.bars(e)
	return why
}

// anew is how a model comes to the next utterance, where this one forbids what it wants.
const anew = "an answer without calls, with next_step continue, opens the next utterance, in which "

func (c *change) bars(e Answered) (Reason, string) {
	switch {
	case e.No:
		return ReasonBlocked, "a check says no: nothing is called in this utterance; " + anew + "calls are looked at again"
	case c.Turn.Blocked && len(e.Calls)+e.Others > 0:
		return ReasonBlocked, "a check said no in this utterance: nothing is called in it; " + anew + "calls are looked at again"
	case e.Step != c.Step && e.Step != Awaiting:
		return ReasonRefused, c.barred(e)
	}
	return "", ""
}

// barred says why an answer with calls cannot move; empty: it can.
func (c *change) barred(e Answered) string {
	_, ok := c.m.row(c.Step, ByModel, e.Step)
	switch {
	case !ok || e.Step == Done:
		return "there is no such move from " + string(c.Step)
	case c.Turn.Moved:
		return "one move an utterance: this one is spent; " + anew + "there is another"
	case c.Turn.Blocked && e.Step == Execution:
		return "a check said no in this utterance"
	case c.Step == Planning && e.Step == Execution && e.AskPlan:
		return "the plan needs an approval first: ask for AWAITING_APPROVAL"
	case len(e.Calls) > 0 && e.Step != Execution:
		return "calls with effects go with EXECUTION"
	}
	return ""
}

// refused refuses an answer. One that is refused whole counts as a step in a circle (C24).
func (c *change) refused(e Answered, why Reason, text string) {
	if e.Step != "" {
		c.Turn.Refused = string(e.Step) + ", " + text
	}
	note := Note{Of: OfRefusal, ID: c.Turn.Utterance, From: string(c.Step), To: string(e.Step), Reason: why, Text: text}
	if why != ReasonNotAsked { // It is no move that was refused.
		note.Allowed = c.m.Allowed(c.Step, e.AskPlan)
	}
	c.note(note)
}

// refusedEnd refuses the end of the task: the whole answer, but for a move that it made first.
func (c *change) refusedEnd(e Answered, moved bool, why Reason, text string) {
	if moved {
		e.unasked(c)
		e.Step = ""
	}
	c.refused(e, why, text)
}

// propose takes calls with effects: one batch, and one gate if any of them is asked for.
func (c *change) propose(calls []Proposal) error {
	asked := false
	for _, p := range calls {
		call := Call{ID: p.ID, Kind: KindTool, Progress: Permitted}
		if p.Ask || c.Step != Execution { // C40
			call.Progress, call.Approval, call.Digest, call.Until = Pending, p.Approval, p.Digest, p.Until
			asked = true
		}
		c.Calls = append(c.Calls, call)
		c.note(Note{Of: OfCall, ID: p.ID, To: string(call.Progress), Text: call.Approval})
	}
	if !asked {
		return nil
	}
	return c.gate()
}

// gate waits for the decisions on what is pending.
func (c *change) gate() error {
	c.Turn.Running = Waiting
	return c.step(ByGate, Awaiting, RequiresInput)
}

// judge opens the gate of a plan or a result.
func (e Answered) judge(c *change, kind Kind) error {
	p := e.Gate
	c.Calls = []Call{{ID: p.ID, Kind: kind, Progress: Pending, Approval: p.Approval, Digest: p.Digest, Until: p.Until}}
	c.note(Note{Of: OfCall, ID: p.ID, To: string(Pending), Text: p.Approval})
	if err := c.gate(); err != nil {
		return err
	}
	e.unasked(c)
	return nil
}

// speak is an answer without calls: a step that is asked for, and what comes next (C61).
func (e Answered) speak(c *change) error {
	if e.No {
		c.Turn.Blocked = true
	}
	switch e.Step {
	case c.Step:
		return e.then(c, false)
	case Awaiting:
		return e.askFor(c)
	}
	_, ok := c.m.row(c.Step, ByModel, e.Step)
	if !ok || e.Step == Done || e.No || c.Turn.Blocked && e.Step == Execution {
		return e.illegal(c)
	}
	if c.Turn.Moved {
		c.refused(e, ReasonRefused, "one move an utterance: this one is spent, the next one may move")
		c.utterance(e.Utterance)
		return nil
	}
	if c.Step == Planning && e.Step == Execution && e.AskPlan {
		if e.Gate.Approval == "" {
			return e.illegal(c)
		}
		return e.judge(c, KindPlan)
	}
	c.Turn.Moved = true
	if err := c.step(ByModel, e.Step, InProgress); err != nil {
		return err
	}
	return e.then(c, true)
}

// illegal is a step that there is no way to: it takes the whole answer with it.
func (e Answered) illegal(c *change) error {
	why := ReasonRefused
	if e.No || c.Turn.Blocked {
		why = ReasonBlocked
	}
	text := "there is no such move now"
	switch {
	case e.Step == Awaiting:
		text = "an approval is asked for with a plan in PLANNING, with a result in REVIEW, and elsewhere with calls"
	case why == ReasonRefused && c.Step == Planning && e.Step == Execution && e.AskPlan:
		text = "the plan needs an approval first: give it as the plan"
	}
	c.refused(e, why, text)
	if e.Next == NextContinue {
		c.utterance(e.Utterance)
		return nil
	}
	return c.stop(RequiresInput, why)
}

// askFor is a model that asks for an approval: of its plan or its result (C64), never for leave to call something.
func (e Answered) askFor(c *change) error {
	kinds := map[Step]Kind{Planning: KindPlan, Review: KindResult}
	kind, ok := kinds[c.Step]
	if !ok || c.Turn.Blocked || e.Gate.Approval == "" {
		return e.illegal(c)
	}
	return e.judge(c, kind)
}

// then is next_step, judged in the step after the move (C23, C61). moved says that the answer made one.
func (e Answered) then(c *change, moved bool) error {
	switch e.Next {
	case NextContinue:
		e.unasked(c)
		c.utterance(e.Utterance)
		return nil
	case NextDefer:
		e.unasked(c)
		return c.stop(RequiresInput, ReasonDeferred)
	case NextUser:
		if err := c.stop(RequiresInput, ReasonPendingUser); err != nil {
			return err
		}
		if c.Question = e.Question; c.Question.ID != "" {
			c.note(Note{Of: OfQuestion, ID: c.Question.ID, To: "OPEN"})
		}
		return nil
	case NextDone:
	default:
		return refuse(RefusedState, "%q is no next_step", e.Next)
	}
	switch {
	case c.Step != Review:
		e.unasked(c)
		return c.stop(Success, ReasonDone)
	case c.Turn.Blocked:
		c.refusedEnd(e, moved, ReasonBlocked, "a check said no in this utterance: the task does not end in it")
		return c.stop(RequiresInput, ReasonBlocked)
	case c.Turn.Moved: // C31
		c.refusedEnd(e, moved, ReasonRefused, "one move an utterance: the next one may end the task")
		c.utterance(e.Utterance)
		return nil
	case e.AskResult && !c.ResultApproved && e.Gate.Approval == "":
		return e.illegal(c)
	case e.AskResult && !c.ResultApproved:
		return e.judge(c, KindResult)
	}
	e.unasked(c)
	if err := c.step(ByModel, Done, Success); err != nil {
		return err
	}
	c.lifecycle(Completed)
	return c.stop(Success, ReasonDone)
}
