// Package session is the state machine of an agent's session: a model proposes, the table disposes.
//
// Machine.Apply is one pure function: a state and an event give the next state and notes of all that changed. Machine.Next says what
// the owner of a session has to do now. Neither calls a clock or a random number: times and ids come with the events. Whoever stores
// a session applies an event in the transaction that writes its result, so that a check and the change that it allows are one.
//
// The table and the rules are those of field/review-agent.md 2 and 3, which an exhaustive model check passed; the tests here explore
// the same universe with this code. The steps are seed 001's (4.1, 6.2), the table is 6.2 as corrected there.
package session

// Step is what the session does (seed 001, 4.1).
type Step string

// The steps. Done is the end of a task (field/agent.md C4); a model never asks for it by name.
const (
	Planning  Step = "PLANNING"
	Execution Step = "EXECUTION"
	Review    Step = "REVIEW"
	Awaiting  Step = "AWAITING_APPROVAL"
	Done      Step = "DONE"
)

// Status is how it goes (seed 001, 4.2). It is one value: an error that rests is RequiresInput with a last error (C26).
type Status string

// The states.
const (
	InProgress    Status = "IN_PROGRESS"
	Success       Status = "SUCCESS"
	Error         Status = "ERROR"
	RequiresInput Status = "REQUIRES_USER_INPUT"
)

// Lifecycle is how far the session's task is.
type Lifecycle string

// The lifecycles. Failed is for good; from Completed and Canceled the next utterance opens a new task.
const (
	Open      Lifecycle = "OPEN"
	Completed Lifecycle = "DONE"
	Canceling Lifecycle = "CANCELING"
	Canceled  Lifecycle = "CANCELED"
	Failed    Lifecycle = "FAILED"
)

// Trigger is why a step changes (field/agent.md C1).
type Trigger string

// The triggers.
const (
	ByModel     Trigger = "MODEL"
	ByGate      Trigger = "GATE"
	ByDecision  Trigger = "DECISION"
	ByExpiry    Trigger = "EXPIRY"
	BySupersede Trigger = "SUPERSEDE"
	ByCancel    Trigger = "CANCEL"
	ByFatal     Trigger = "FATAL"
	ByError     Trigger = "ERROR"
	ByNewTask   Trigger = "NEW_TASK"
)

// Running is what the open turn does.
type Running string

// What a turn does. The zero value: there is none.
const (
	NoTurn   Running = ""
	Working  Running = "run"
	Waiting  Running = "wait"     // in A, for decisions
	Parked   Running = "park"     // until a tool or folder can be reached
	Stopping Running = "stopping" // an interrupting message waits until the work has stopped
)

// Reason is why a turn stopped or a call was voided.
type Reason string

// Why a turn stopped.
const (
	ReasonDone        Reason = "DONE"
	ReasonPendingUser Reason = "PENDING_USER"
	ReasonDeferred    Reason = "DEFERRED"
	ReasonRefused     Reason = "TRANSITION_REFUSED"
	ReasonBlocked     Reason = "CHECK_SAID_NO"
	ReasonInvalid     Reason = "INVALID_ANSWER"
	ReasonUnreachable Reason = "MODEL_UNREACHABLE"
	ReasonBudget      Reason = "BUDGET"
	ReasonStuck       Reason = "STUCK"
	ReasonDenials     Reason = "DENIALS"
	ReasonExpired     Reason = "EXPIRED"
	ReasonErrors      Reason = "ERRORS"
	ReasonCrashLoop   Reason = "CRASH_LOOP"
	ReasonCanceled    Reason = "CANCELED"
)

// ReasonNotAsked is why a part of an answer was refused that a person would be asked: no transition, and nothing stops for it.
const ReasonNotAsked Reason = "NOT_ASKED"

// Why a call that could have run was voided (field/review-agent.md 2c).
const (
	VoidCanceled       Reason = "CANCELED"
	VoidSuperseded     Reason = "SUPERSEDED"
	VoidStale          Reason = "STALE_TARGET"
	VoidLapsed         Reason = "LAPSED"
	VoidPolicy         Reason = "POLICY_DENY"
	VoidToolChanged    Reason = "TOOL_CHANGED"
	VoidOutcomeExpired Reason = "OUTCOME_EXPIRED"
	VoidCrashLoop      Reason = "CRASH_LOOP"
	VoidInterrupted    Reason = "INTERRUPTED"
	VoidNotDone        Reason = "NOT_DONE" // what was proven not done while the work was being stopped
)
