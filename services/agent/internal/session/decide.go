package session

import (
	"slices"
	"time"
)

// asked finds the call about which an approval asks.
func (c *change) asked(approval string) (int, error) {
	i := slices.IndexFunc(c.Calls, func(x Call) bool { return x.Approval == approval && approval != "" })
	if i < 0 {
		return 0, refuse(RefusedUnknown, "approval %q is not one that is asked for now", approval)
	}
	if !c.Calls[i].Progress.Asks() {
		return 0, refuse(RefusedLate, "approval %q is closed: it is %s", approval, c.Calls[i].Progress)
	}
	return i, nil
}

func (e Decided) apply(c *change) error {
	i, err := c.asked(e.Approval)
	if err != nil {
		return err
	}
	call := &c.Calls[i]
	outcome := call.Progress == OutcomePending
	switch fits := e.Decision == Happened || e.Decision == DidNotOccur; {
	case e.Digest != call.Digest:
		return refuse(RefusedDigest, "the digest %q is not that of approval %q: look at it again", e.Digest, e.Approval)
	case outcome != fits || !outcome && e.Decision != Approve && e.Decision != Deny:
		return refuse(RefusedState, "%q is no answer to approval %q: an outcome is told as HAPPENED or NOT_HAPPENED, anything else as APPROVE or DENY", e.Decision, e.Approval)
	case call.Due(e.At):
		if e.Decision == Deny {
			c.note(Note{Of: OfApproval, ID: e.Approval, To: "late_denial"})
		}
		return Lapsed{e.Approval, e.At}.apply(c)
	}
	switch e.Decision {
	case Approve:
		c.to(i, Approved, "")
		call.Until = e.Start
		c.Turn.Denials = 0
	case Deny:
		c.to(i, Denied, "")
		c.Turn.Denials++
	case Happened:
		c.to(i, Executed, "")
	case DidNotOccur:
		c.to(i, NotHappened, "")
	}
	return c.settle(ByDecision, outcome)
}

// settle is the row out of AWAITING_APPROVAL: it goes by the set of outcomes, not by their order (C34).
func (c *change) settle(t Trigger, outcome bool) error {
	if c.AwaitsApproval() {
		return nil
	}
	switch {
	case outcome || c.ran(KindTool) || c.ran(KindPlan):
		plan := c.ran(KindPlan)
		if err := c.step(t, Execution, InProgress); err != nil {
			return err
		}
		c.Turn.Running = Working
		if plan {
			c.consume()
		}
		return nil
	case c.ran(KindResult):
		if err := c.step(t, Review, InProgress); err != nil {
			return err
		}
		c.Turn.Running, c.ResultApproved = Working, true
		c.consume()
		return nil
	case c.has(Denied):
		if limit := c.m.Limits.Denials; limit > 0 && c.Turn.Denials >= limit {
			return c.rest(t, ReasonDenials)
		}
		c.Turn.Running = Working
		return c.step(t, Planning, InProgress)
	}
	if c.has(CallCanceled) {
		return c.rest(t, VoidToolChanged)
	}
	return c.rest(t, ReasonExpired)
}

// rest goes back to PLANNING and waits for a person.
func (c *change) rest(t Trigger, why Reason) error {
	if err := c.step(t, Planning, RequiresInput); err != nil {
		return err
	}
	return c.stop(RequiresInput, why)
}

// ran says that a call of a kind is approved or allowed.
func (c *change) ran(k Kind) bool {
	return slices.ContainsFunc(c.Calls, func(x Call) bool { return x.Kind == k && x.Progress.Runnable() })
}

// consume takes the approval of a plan or result: it authorised the row, and never a call (C64).
func (c *change) consume() {
	c.note(Note{Of: OfApproval, ID: c.Calls[0].Approval, To: "CONSUMED"})
	c.Calls = nil
}

func (e Edited) apply(c *change) error {
	i, err := c.asked(e.Approval)
	if err != nil {
		return err
	}
	call := &c.Calls[i]
	switch {
	case call.Kind != KindTool || call.Progress != Pending:
		return refuse(RefusedState, "only the arguments of a tool call can be changed")
	case e.Digest != call.Digest:
		return refuse(RefusedDigest, "the digest %q is not that of approval %q: look at it again", e.Digest, e.Approval)
	case call.Due(e.At):
		return Lapsed{e.Approval, e.At}.apply(c)
	case call.Edits >= c.m.Limits.Edits:
		return refuse(RefusedFull, "the call was changed %d times, as often as it may be: approve or deny it", call.Edits)
	}
	c.note(Note{Of: OfApproval, ID: e.Approval, From: string(Pending), To: "EDITED", Text: e.NewApproval})
	call.Approval, call.Digest, call.Until, call.Edits = e.NewApproval, e.NewDigest, e.Until, call.Edits+1
	return nil
}

func (e Extended) apply(c *change) error {
	i, err := c.asked(e.Approval)
	if err != nil {
		return err
	}
	if c.Calls[i].Due(e.At) {
		return Lapsed{e.Approval, e.At}.apply(c)
	}
	c.Calls[i].Until = e.Until
	c.note(Note{Of: OfApproval, ID: e.Approval, To: "EXTENDED", Text: e.Until.UTC().Format(time.RFC3339)})
	return nil
}

func (e Lapsed) apply(c *change) error {
	i, err := c.asked(e.Approval)
	if err != nil {
		return err
	}
	if !c.Calls[i].Due(e.At) {
		return refuse(RefusedState, "approval %q has time until %s", e.Approval, c.Calls[i].Until.UTC().Format(time.RFC3339))
	}
	if c.Calls[i].Progress == Pending {
		c.to(i, Expired, "")
		return c.settle(ByExpiry, false)
	}
	c.to(i, Unknown, VoidOutcomeExpired) // Nobody knows: what came after it does not run (C49).
	for j := range c.Calls {
		if c.Calls[j].Progress.Runnable() {
			c.to(j, Voided, VoidOutcomeExpired)
		}
	}
	return c.rest(ByExpiry, ReasonExpired)
}

func (e ToolChanged) apply(c *change) error {
	i, err := c.asked(e.Approval)
	if err != nil {
		return err
	}
	if c.Calls[i].Kind != KindTool || c.Calls[i].Progress != Pending {
		return refuse(RefusedState, "approval %q is about no call of a tool that waits", e.Approval)
	}
	c.to(i, CallCanceled, VoidToolChanged)
	return c.settle(ByExpiry, false)
}

func (e QuestionLapsed) apply(c *change) error {
	if c.Question.ID == "" || e.At.Before(c.Question.Expires) {
		return refuse(RefusedState, "no question is over")
	}
	c.closeQuestion()
	return nil
}
