package session

import "slices"

func (e Sent) apply(c *change) error {
	if c.Lifecycle == Failed {
		return refuse(RefusedState, "the session's record is broken (%s); it can be read and not continued: begin another one", c.LastError)
	}
	if e.ID == "" {
		return refuse(RefusedState, "a message needs an id")
	}
	if err := e.answers(c); err != nil {
		return err
	}
	switch {
	case e.Mode == Supersede && c.Lifecycle == Open && c.Step == Awaiting, e.Mode == Interrupt && c.Lifecycle == Open && c.Step == Awaiting:
		return e.supersede(c)
	case e.Mode == Supersede:
		return refuse(RefusedLate, "nothing waits for an approval any more: send the message without SUPERSEDE")
	case e.Mode == Interrupt && c.Lifecycle == Open && (c.Turn.Running == Working || c.Turn.Running == Parked):
		return e.interrupt(c)
	case e.Mode == Interrupt && c.Turn.Running == Stopping:
		return refuse(RefusedLate, "the work is being interrupted already: send the message without INTERRUPT, it is queued")
	}
	if len(c.Queue) >= c.m.Limits.Queue {
		return refuse(RefusedFull, "%d messages wait already, as many as may: wait for the turn to end, or cancel it", len(c.Queue))
	}
	at := len(c.Queue)
	if e.Question != "" {
		at = 0 // One that waits would close the question unanswered.
	}
	c.Queue = slices.Insert(c.Queue, at, e.ID)
	c.note(Note{Of: OfQueue, ID: e.ID, To: "QUEUED"})
	return nil
}

// answers looks at whether the question that the message names is open.
func (e Sent) answers(c *change) error {
	switch {
	case e.Question == "" || e.Question == c.Question.ID:
		return nil
	case c.Question.ID != "":
		return refuse(RefusedQuestion, "question %.80q is not open any more; %q is: read the session, and answer that one", e.Question, c.Question.ID)
	}
	return refuse(RefusedQuestion, "question %.80q is not open any more, and no other one is: the session is %s in %s; send the message without it", e.Question, c.Status, c.Step)
}

// supersede closes what is asked, voids what was approved, and opens its own turn before those that wait (C29, C72).
func (e Sent) supersede(c *change) error {
	for _, call := range c.Calls {
		if call.Progress.Asks() && !slices.Contains(e.Approvals, call.Approval) {
			return &RefusedError{Code: RefusedLate, Subject: "approvals", Why: "approvals/" + call.Approval + " waits, too: name all that wait"}
		}
	}
	for i := range c.Calls {
		switch p := c.Calls[i].Progress; {
		case p == Pending:
			c.to(i, Superseded, "")
		case p == OutcomePending:
			c.to(i, Unknown, VoidSuperseded)
		case p.Runnable():
			c.to(i, Voided, VoidSuperseded)
		}
	}
	if err := c.step(BySupersede, Planning, InProgress); err != nil {
		return err
	}
	c.open(e.ID, e.NewTurn, e.NewUtterance, e.ByEvent)
	return nil
}

// interrupt stops the work; the message opens a turn when nothing runs any more (C77).
func (e Sent) interrupt(c *change) error {
	if e.TurnID != c.Turn.ID {
		return refuse(RefusedLate, "turn %q is not the one that works now, %q is: look at the session first", e.TurnID, c.Turn.ID)
	}
	c.closeCalls(VoidInterrupted)
	c.note(Note{Of: OfTurn, ID: c.Turn.ID, From: string(c.Turn.Running), To: string(Stopping), Text: e.ID})
	c.Turn = Turn{Running: Stopping, ID: c.Turn.ID, Utterance: c.Turn.Utterance, Next: e.ID}
	c.PickUps = 0
	c.status(InProgress)
	return nil
}

// closeCalls closes what has not begun: nothing of it will run.
func (c *change) closeCalls(why Reason) {
	for i := range c.Calls {
		switch p := c.Calls[i].Progress; {
		case p == Pending:
			c.to(i, CallCanceled, why)
		case p == OutcomePending:
			c.to(i, Unknown, why)
		case p.Runnable():
			c.to(i, Voided, why)
		}
	}
}

func (e TurnOpened) apply(c *change) error {
	if c.Turn.Running != NoTurn || len(c.Queue) == 0 || c.Lifecycle == Canceling || c.Lifecycle == Failed {
		return refuse(RefusedState, "no turn can be opened: the session is %s, %d messages wait", c.Lifecycle, len(c.Queue))
	}
	message := c.Queue[0]
	c.Queue = slices.Delete(c.Queue, 0, 1)
	if c.Lifecycle != Open {
		if err := c.step(ByNewTask, Planning, InProgress); err != nil {
			return err
		}
		c.lifecycle(Open)
		c.ResultApproved = false
		if !e.ByEvent { // Between two messages of a person there are at most Limits.Recoveries (C66).
			c.Recoveries = 0
		}
	}
	c.open(message, e.Turn, e.Utterance, e.ByEvent)
	return nil
}

func (e Recovered) apply(c *change) error {
	if c.Lifecycle != Open || c.Turn.Running != Working || c.Status != Error {
		return refuse(RefusedState, "there is no error to recover from")
	}
	c.utterance(e.Utterance)
	c.status(InProgress)
	return nil
}

func (e CancelSent) apply(c *change) error {
	switch {
	case c.Lifecycle == Canceling, c.Lifecycle == Canceled:
		return nil // C73: the same result
	case c.Lifecycle != Open:
		return refuse(RefusedState, "the session is %s: there is nothing to cancel", c.Lifecycle)
	case e.TurnID != c.Turn.ID && c.Turn.ID == "":
		return refuse(RefusedLate, "turn %q is not open any more, and no other one is: send turn empty to end the task", e.TurnID)
	case e.TurnID != c.Turn.ID:
		return refuse(RefusedLate, "turn %q is not the one that is open now, %q is: look at the session first", e.TurnID, c.Turn.ID)
	}
	c.closeCalls(VoidCanceled)
	if c.Step == Awaiting {
		if err := c.step(ByCancel, Planning, InProgress); err != nil {
			return err
		}
	}
	c.dropQueue()
	if c.Turn.Running != NoTurn {
		c.note(Note{Of: OfTurn, ID: c.Turn.ID, From: string(c.Turn.Running), Reason: ReasonCanceled})
	}
	c.Turn, c.PickUps, c.ResultApproved = Turn{}, 0, false
	c.lifecycle(Canceling)
	c.status(InProgress)
	return nil
}

// MessageClosed is what becomes of a message that waits when the task is stopped: no turn is its own.
const MessageClosed = "CLOSED"

func (Hastened) apply(c *change) error {
	if !c.closing() {
		return refuse(RefusedState, "the session is %s: nothing is being stopped", c.Lifecycle)
	}
	if !c.Hard {
		c.note(Note{Of: OfCancel, ID: c.Turn.ID, To: "HARD"})
	}
	c.Hard = true
	return nil
}

// dropQueue closes what waits, a message that has interrupted the work first, and the question (C44): whoever watches gets the texts back by the notes.
func (c *change) dropQueue() {
	waiting := c.Queue
	if c.Turn.Next != "" {
		waiting = append([]string{c.Turn.Next}, waiting...)
	}
	for _, id := range waiting {
		c.note(Note{Of: OfQueue, ID: id, To: MessageClosed})
	}
	c.Queue = nil
	if c.Question.ID != "" {
		c.closeQuestion()
	}
}

func (e WorkStopped) apply(c *change) error {
	if !c.closing() || c.any(func(p Progress) bool { return !p.Final() }) {
		return refuse(RefusedState, "the work has not stopped")
	}
	c.Hard = false
	if c.Turn.Running == Stopping {
		c.open(c.Turn.Next, e.Turn, e.Utterance, e.ByEvent)
		return nil
	}
	c.Calls, c.Reason = nil, ReasonCanceled
	c.lifecycle(Canceled)
	c.status(RequiresInput)
	return nil
}

func (e Broken) apply(c *change) error {
	if c.Lifecycle != Open && c.Lifecycle != Canceling {
		return refuse(RefusedState, "the session is %s", c.Lifecycle)
	}
	for i := range c.Calls {
		if c.Calls[i].Progress == Intent {
			c.to(i, Unknown, VoidCanceled)
		}
	}
	c.closeCalls(VoidCanceled)
	if c.Step == Awaiting {
		if err := c.step(ByFatal, Planning, Error); err != nil {
			return err
		}
	}
	c.dropQueue()
	c.Turn, c.PickUps, c.ResultApproved, c.Recoveries, c.LastError, c.Hard = Turn{}, 0, false, 0, e.Why, false
	c.lifecycle(Failed)
	c.status(Error)
	return nil
}
