package session

func (e Began) apply(c *change) error {
	i, err := c.find(e.Call)
	if err != nil {
		return err
	}
	call := &c.Calls[i]
	switch {
	case c.Lifecycle != Open || c.Turn.Running != Working || c.Step != Execution || c.Status != InProgress:
		return refuse(RefusedState, "nothing may start now: the session is %s in %s", c.Lifecycle, c.Step)
	case !call.Progress.Runnable() || call.Kind != KindTool || c.has(Intent):
		return refuse(RefusedState, "call %q cannot start: it is %s", e.Call, call.Progress)
	case call.Progress == Approved && e.Digest != call.Digest:
		return refuse(RefusedDigest, "call %q was approved as %q, and not as %q", e.Call, call.Digest, e.Digest)
	}
	why := e.Void
	if call.Due(e.At) {
		why = VoidLapsed // C37
	}
	if why != "" {
		c.to(i, Voided, why)
		return nil
	}
	c.to(i, Intent, "")
	call.Attempts++
	c.PickUps = 0
	return nil
}

// begun finds a call that has begun.
func (c *change) begun(id string) (int, error) {
	i, err := c.find(id)
	if err != nil {
		return 0, err
	}
	if c.Calls[i].Progress != Intent {
		return 0, refuse(RefusedState, "call %q has not begun: it is %s", id, c.Calls[i].Progress)
	}
	return i, nil
}

func (e Ended) apply(c *change) error {
	i, err := c.begun(e.Call)
	if err != nil {
		return err
	}
	c.PickUps = 0
	if e.Failed {
		c.to(i, CallFailed, "")
		return nil
	}
	c.to(i, Executed, "")
	c.called(false)
	return nil
}

// oneAfterTheOther is why a batch of which no change failed is an error all the same.
const oneAfterTheOther = "calls failed one after the other"

// called counts failed calls in a row. Too many stay too many, whatever the rest of the batch gives: the error is judged when it has ended (C39, C65).
func (c *change) called(failed bool) {
	switch {
	case c.m.failing(c.State):
	case failed:
		c.Turn.Failures++
	default:
		c.Turn.Failures = 0
	}
}

// failing says that too many calls failed in a row.
func (m Machine) failing(s State) bool {
	return s.Turn.Failures > 0 && s.Turn.Failures >= m.Limits.Failures
}

func (e NotProven) apply(c *change) error {
	i, err := c.begun(e.Call)
	if err != nil {
		return err
	}
	if c.closing() { // C53: it waits for nobody.
		c.to(i, Unknown, VoidCanceled)
		return nil
	}
	if c.Turn.Running != Working || c.Step != Execution {
		return refuse(RefusedState, "no turn is working")
	}
	c.to(i, OutcomePending, "")
	c.Calls[i].Approval, c.Calls[i].Digest, c.Calls[i].Until = e.Approval, e.Digest, e.Until
	c.PickUps = 0
	return c.gate()
}

func (e ProvenUndone) apply(c *change) error {
	i, err := c.begun(e.Call)
	if err != nil {
		return err
	}
	call := &c.Calls[i]
	switch {
	case c.closing():
		c.to(i, Voided, VoidNotDone)
	case call.Attempts >= c.m.Limits.Attempts:
		c.to(i, CallFailed, "")
	case call.Approval == "":
		c.to(i, Permitted, "")
	default:
		c.to(i, Approved, "") // under the same consumption, and all checks again
	}
	return nil
}

// failed says that the batch, when it has ended, is an error (C65).
func (m Machine) failed(s State) bool { return s.has(CallFailed, NotHappened) || m.failing(s) }

func (BatchFailed) apply(c *change) error {
	switch {
	case c.Lifecycle != Open || c.Turn.Running != Working:
		return refuse(RefusedState, "no turn is working")
	case c.any(func(p Progress) bool { return !p.Final() }) || !c.m.failed(c.State):
		return refuse(RefusedState, "no batch has ended with a failure")
	case !c.has(CallFailed, NotHappened):
		return c.fail(oneAfterTheOther)
	}
	return c.fail("a call failed")
}

func (e ParkedFor) apply(c *change) error {
	if c.Lifecycle != Open || c.Turn.Running != Working || c.Step != Execution || !c.any(Progress.Runnable) || c.has(Intent) {
		return refuse(RefusedState, "nothing waits to start")
	}
	c.Turn.Running, c.LastError = Parked, e.Why
	c.note(Note{Of: OfTurn, ID: c.Turn.ID, From: string(Working), To: string(Parked), Text: e.Why})
	c.status(RequiresInput)
	return nil
}

func (Resumed) apply(c *change) error {
	if c.Lifecycle != Open || c.Turn.Running != Parked {
		return refuse(RefusedState, "no turn is parked")
	}
	c.Turn.Running, c.LastError = Working, ""
	c.note(Note{Of: OfTurn, ID: c.Turn.ID, From: string(Parked), To: string(Working)})
	c.status(InProgress)
	return nil
}

func (PickedUp) apply(c *change) error {
	if c.Lifecycle == Failed {
		return refuse(RefusedState, "the session's record is broken: nobody goes on with it")
	}
	if c.Lifecycle == Open && c.Turn.Running == Working {
		c.PickUps = min(c.PickUps+1, c.m.Limits.PickUps)
		c.note(Note{Of: OfTurn, ID: c.Turn.ID, From: string(Working), To: ToPickedUp})
	}
	return nil
}

func (CrashLooped) apply(c *change) error {
	if c.Lifecycle != Open || c.Turn.Running != Working || c.PickUps < c.m.Limits.PickUps {
		return refuse(RefusedState, "the turn was picked up %d times without progress", c.PickUps)
	}
	for i := range c.Calls {
		switch p := c.Calls[i].Progress; {
		case p == Intent:
			c.to(i, Unknown, VoidCrashLoop)
		case p.Runnable():
			c.to(i, Voided, VoidCrashLoop)
		}
	}
	c.LastError = "the turn was begun again and again without progress"
	return c.rest(ByError, ReasonCrashLoop)
}
