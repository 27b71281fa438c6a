package session

import "time"

// Event is something that happened to a session: what a person sent, a model answered, a tool did, or a clock says.
type Event interface {
	apply(c *change) error
}

// OnPending is what a message does while the session works or waits (seed 001, 4.4; c14).
type OnPending string

// What a message does.
const (
	Queue     OnPending = "QUEUE"
	Supersede OnPending = "SUPERSEDE" // takes the place of what is asked
	Interrupt OnPending = "INTERRUPT" // stops the work
)

// Sent is a message of a person.
type Sent struct {
	ID   string
	Mode OnPending
	// Approvals that its sender saw, for Supersede and for Interrupt in AWAITING_APPROVAL: all that are pending must be among them (C59).
	Approvals []string
	// TurnID for an Interrupt: the turn that its sender saw.
	TurnID string
	// Question is the one that its sender answers; empty: the one that is open, if one is (C32).
	Question string
	// ByEvent: the message is no person's, so that its turn has of the model calls and recoveries what the last message of a person has
	// left (C42, C66).
	ByEvent bool
	// NewTurn and NewUtterance are ids in case that it opens a turn at once.
	NewTurn, NewUtterance string
}

// TurnOpened takes the oldest message of the queue; after DONE and CANCELED it begins a new task.
type TurnOpened struct {
	Turn, Utterance string
	// ByEvent: as in Sent.
	ByEvent bool
}

// Recovered opens the recovery turn after an error.
type Recovered struct{ Utterance string }

// PickedUp is a take-over of the session by a new owner (C54).
type PickedUp struct{}

// CrashLooped ends a turn that was picked up too often.
type CrashLooped struct{}

// Next is what a model says comes next (seed 001, 7.1; C23).
type Next string

// What comes next.
const (
	NextDone     Next = "done"
	NextUser     Next = "pending_user"
	NextDefer    Next = "defer"
	NextContinue Next = "continue"
)

// Proposal is a call that policy does not refuse.
type Proposal struct {
	ID string
	// Ask: policy asks for it. Approval, Digest and Until are those of the approval, also where Ask is false: an effect that is
	// allowed outside of EXECUTION is asked for all the same (C40).
	Ask              bool
	Approval, Digest string
	Until            time.Time
}

// Answered is a valid answer of the model, with the reads among its calls already done.
type Answered struct {
	Step Step
	Next Next
	// No: a check said no (C63).
	No bool
	// Calls with effects, in their order. Others counts calls beside them that were refused, or are not looked at because Bars says
	// so: with them the turn goes on. ReadFailed says of each read that was carried out, in order, whether it failed.
	Calls      []Proposal
	Others     int
	ReadFailed []bool
	// AskPlan and AskResult: policy asks for the plan, or the result. Gate is the approval that such an answer, or one that asks for
	// AWAITING_APPROVAL, opens; without one nothing is asked, and the answer is refused.
	AskPlan, AskResult bool
	Gate               Proposal
	// Plan: it has a plan. Question is what it asks a person with NextUser; empty: nothing that expires. Beside calls both are refused, and so is a
	// question beside an approval or with another Next (C32, C33).
	Plan     bool
	Question Question
	// Utterance is the id of the next one, if it continues.
	Utterance string
}

// Unreadable is an answer that is no envelope. It is asked for again while Limits.Reasks lasts.
type Unreadable struct{ Why string }

// Stopped ends the turn for a reason of the owner: MODEL_UNREACHABLE, BUDGET, STUCK. Called says that the model was called.
type Stopped struct {
	Reason Reason
	Why    string
	Called bool
}

// Decision is what a person says to an approval.
type Decision string

// The decisions. The zero value is none.
const (
	Approve     Decision = "APPROVE"
	Deny        Decision = "DENY"
	Happened    Decision = "HAPPENED"
	DidNotOccur Decision = "NOT_HAPPENED"
)

// Decided is a decision. It names the digest that was shown (C58). Where its time is over the approval expires instead, and a
// denial stays as a note (C35, C36).
type Decided struct {
	Approval, Digest string
	Decision         Decision
	At               time.Time
	// Start is until when an approved call must have started (C37).
	Start time.Time
}

// Edited changes the arguments of a pending call: its approval closes, and a new one opens (C58).
type Edited struct {
	Approval, Digest       string // that was shown
	NewApproval, NewDigest string
	At, Until              time.Time
}

// Extended gives an approval more time (C74).
type Extended struct {
	Approval  string
	At, Until time.Time
}

// Lapsed closes an approval whose time is over.
type Lapsed struct {
	Approval string
	At       time.Time
}

// ToolChanged closes an approval of a call whose tool is no longer what was shown: nobody decides about it any more (S18).
type ToolChanged struct{ Approval string }

// QuestionLapsed closes a question whose time is over.
type QuestionLapsed struct{ At time.Time }

// Began is the INTENT of a call: the next thing is its effect. All that was checked is checked again in its transaction
// (C47, C48): Void is what stands in the way now, such as POLICY_DENY or STALE_TARGET.
type Began struct {
	Call, Digest string
	Void         Reason
	At           time.Time
}

// Ended is the outcome of a call after its INTENT.
type Ended struct {
	Call string
	// Failed: it did nothing.
	Failed bool
}

// NotProven is a call of which nobody can tell whether its effect happened (C49, C50): a person is asked.
type NotProven struct {
	Call, Approval, Digest string
	Until                  time.Time
}

// ProvenUndone is a call whose effect did not happen, as its tool proved (C51, C52): it may run again under the same approval.
type ProvenUndone struct{ Call string }

// BatchFailed ends a batch with a failure: the error is judged once (C39).
type BatchFailed struct{}

// ParkedFor waits for a tool or folder that cannot be reached.
type ParkedFor struct{ Why string }

// Resumed tries again.
type Resumed struct{}

// CancelSent stops the task (C59: it names the turn; empty where none is open).
type CancelSent struct{ TurnID string }

// Hastened has what still runs of work that is being stopped ended at once, without a grace.
type Hastened struct{}

// WorkStopped says that nothing runs any more after a cancel or an interrupt. Turn and Utterance are for the interrupting message.
type WorkStopped struct {
	Turn, Utterance string
	// ByEvent: as in Sent.
	ByEvent bool
}

// Broken is a record that does not decode or verify. The session is read only from then on.
type Broken struct{ Why string }
