package session

import (
	"slices"
	"time"
)

// Limits bound a machine. All are counts.
type Limits struct {
	// Recoveries are how often a task may go back to PLANNING by an error before a person is asked (C5).
	Recoveries int
	// Reasks are how often a model is asked again for an answer that cannot be read (C19).
	Reasks int
	// ModelCalls are calls of the model from one message of a person to the next (C42).
	ModelCalls int
	// Failures are failed calls in a row that count as an error (C65).
	Failures int
	// Denials are denials in a row that end the turn (S28), Refusals refusals of the same that do (C24); 0: none do.
	Denials  int
	Refusals int
	// PickUps are take-overs of an open turn without progress that end it (C54).
	PickUps int
	// Queue are messages that wait.
	Queue int
	// Edits are edits of one call (C74).
	Edits int
	// Attempts are how often a call may start that was proven not done.
	Attempts int
}

// DefaultLimits are those of the notes.
func DefaultLimits() Limits {
	return Limits{Recoveries: 3, Reasks: 2, ModelCalls: 20, Failures: 3, Denials: 3, Refusals: 4, PickUps: 3, Queue: 16, Edits: 10, Attempts: 2}
}

// Machine applies events to states. The zero value of Limits allows nothing: take DefaultLimits.
type Machine struct {
	Limits Limits
	// Without are rows that the configuration takes away. CheckWithout has passed.
	Without []Without
}

// State is what the rules go by. Texts, arguments and diffs are kept elsewhere, under the ids.
type State struct {
	Step      Step      `json:"step"`
	Status    Status    `json:"status"`
	Lifecycle Lifecycle `json:"lifecycle"`
	Turn      Turn      `json:"turn,omitzero"`
	// Calls are the batch of the turn: tool calls in their order, or one plan or result. They stay until the model has their results.
	Calls []Call `json:"calls,omitempty"`
	// Queue are the messages that wait, oldest first.
	Queue []string `json:"queue,omitempty"`
	// Question is what the model asked a person, until the next message (C32).
	Question Question `json:"question,omitzero"`
	// Reason is why the last turn stopped, and LastError what went wrong, until the next turn.
	Reason    Reason `json:"reason,omitempty"`
	LastError string `json:"last_error,omitempty"`
	// Recoveries of this task; one that an event opened goes on with those of the task before (C66). ResultApproved: REVIEW may end in DONE
	// (C41). PickUps since the last progress (C54).
	Recoveries     int  `json:"recoveries,omitempty"`
	ResultApproved bool `json:"result_approved,omitempty"`
	PickUps        int  `json:"pick_ups,omitempty"`
	// Hard: what runs still of work that is being stopped is ended at once.
	Hard bool `json:"hard,omitempty"`
	// Spent are the model calls since the last message of a person (C42).
	Spent int `json:"spent,omitempty"`
}

// Turn is the open turn: from a message of a person until a stop (C60).
type Turn struct {
	Running Running `json:"running"`
	ID      string  `json:"id"`
	// Utterance is new for each message, continue and recovery.
	Utterance string `json:"utterance"`
	// Next is the message that opens a turn when the work has stopped.
	Next string `json:"next,omitempty"`
	// Moved: the one move of the utterance is spent (C5). Blocked: a check said no in it (C63).
	Moved   bool `json:"moved,omitempty"`
	Blocked bool `json:"blocked,omitempty"`
	Reasks  int  `json:"reasks,omitempty"`
	// ModelCalls are those that are left; Failures and Denials are counted in a row. As many Failures as are an error stay until the
	// batch has ended.
	ModelCalls int `json:"model_calls,omitempty"`
	Failures   int `json:"failures,omitempty"`
	Denials    int `json:"denials,omitempty"`
	// Discarded are answers that were not taken, since the session was changed or its work stopped while the model gave them.
	Discarded int `json:"discarded,omitempty"`
	// Refused is what was refused last, and Refusals how often in a row, over all utterances.
	Refused  string `json:"refused,omitempty"`
	Refusals int    `json:"refusals,omitempty"`
}

// Question is what a model asked. It authorises nothing (S17).
type Question struct {
	ID      string    `json:"id"`
	Expires time.Time `json:"expires"`
}

// Kind is what an approval is about.
type Kind string

// The kinds of approvals. Calls are of the first three; an outcome is asked for a tool call.
const (
	KindTool    Kind = "TOOL_CALL"
	KindPlan    Kind = "PLAN"
	KindResult  Kind = "RESULT"
	KindOutcome Kind = "OUTCOME"
)

// Progress is how far a call is: its approval and its work are one line (field/review-agent.md 2c).
type Progress string

// How far a call is.
const (
	Pending        Progress = "PENDING"
	Approved       Progress = "APPROVED" // and not consumed
	Permitted      Progress = "ALLOWED"  // by policy
	Denied         Progress = "DENIED"
	Expired        Progress = "EXPIRED"
	Superseded     Progress = "SUPERSEDED"
	CallCanceled   Progress = "CANCELED"
	Intent         Progress = "INTENT"
	Executed       Progress = "EXECUTED"
	CallFailed     Progress = "FAILED"
	OutcomePending Progress = "OUTCOME_PENDING" // a person is asked whether it happened
	Unknown        Progress = "UNKNOWN"         // for good
	NotHappened    Progress = "NOT_HAPPENED"    // as a person said
	Voided         Progress = "VOIDED"
)

// Runnable says that the call will start: approved or allowed.
func (p Progress) Runnable() bool { return p == Approved || p == Permitted }

// Asks says that a person is asked.
func (p Progress) Asks() bool { return p == Pending || p == OutcomePending }

// Final says that nothing more comes of it.
func (p Progress) Final() bool { return !p.Runnable() && !p.Asks() && p != Intent }

// Call is a tool call of the model, or its plan or result that a person judges.
type Call struct {
	ID       string   `json:"id"`
	Kind     Kind     `json:"kind"`
	Progress Progress `json:"progress"`
	// Approval is the id under which a person is or was asked, and Digest what was shown there; empty where policy allowed.
	Approval string `json:"approval,omitempty"`
	Digest   string `json:"digest,omitempty"`
	// Until: pending, when it expires; approved, until when it must have started (C37). An allowed call has none.
	Until time.Time `json:"until,omitzero"`
	// Edits of it, Attempts to run it.
	Edits    int `json:"edits,omitempty"`
	Attempts int `json:"attempts,omitempty"`
	// Reason is why it was voided or refused.
	Reason Reason `json:"reason,omitempty"`
}

// Due says that the time of a call is over.
func (c Call) Due(at time.Time) bool { return !c.Until.IsZero() && !at.Before(c.Until) }

// New is the state of a new session: nothing moves until a message comes (C25).
func New() State { return State{Step: Planning, Status: RequiresInput, Lifecycle: Open} }

// AwaitsApproval is the seed's pending_gate (5.4), which is derived (C16).
func (s State) AwaitsApproval() bool { return s.any(Progress.Asks) }

func (s State) any(is func(Progress) bool) bool {
	return slices.ContainsFunc(s.Calls, func(c Call) bool { return is(c.Progress) })
}

func (s State) has(all ...Progress) bool {
	return s.any(func(p Progress) bool { return slices.Contains(all, p) })
}

// closing says that nothing new starts: the work is being stopped.
func (s State) closing() bool { return s.Lifecycle == Canceling || s.Turn.Running == Stopping }
