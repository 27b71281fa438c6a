package session

import (
	"fmt"
	"slices"
)

// Subject is what a note is about.
type Subject string

// What notes are about.
const (
	OfStep      Subject = "step"
	OfStatus    Subject = "status"
	OfLifecycle Subject = "lifecycle"
	OfTurn      Subject = "turn"
	OfCall      Subject = "call"
	OfApproval  Subject = "approval"
	OfQueue     Subject = "queue"
	OfQuestion  Subject = "question"
	OfRefusal   Subject = "refusal"
	OfCancel    Subject = "cancel" // that is made harder
)

// What a note about a turn that goes on has as To, beside the values of Running.
const (
	ToAnswered = "answered"
	ToPickedUp = "picked_up"
)

// Note is one thing that an event changed, or refused: a row of the audit and an event for watchers.
type Note struct {
	Of Subject `json:"of"`
	// ID of the call, approval, turn, message or question.
	ID string `json:"id,omitempty"`
	// From and To are what it was and is; of a turn To may also be ToAnswered or ToPickedUp: it goes on. Of a refusal To is the step that
	// the answer asked for; empty where the rest of the answer was taken.
	From string `json:"from,omitempty"`
	To   string `json:"to,omitempty"`
	// Trigger of a step.
	Trigger Trigger `json:"trigger,omitempty"`
	Reason  Reason  `json:"reason,omitempty"`
	Text    string  `json:"text,omitempty"`
	// Allowed steps, of a refusal.
	Allowed []Step `json:"allowed,omitempty"`
}

// Whole says that it refuses an answer with all that the answer would change (C61).
func (n Note) Whole() bool { return n.Of == OfRefusal && n.To != "" }

// RefusedError is an event that cannot happen now. Nothing changed.
type RefusedError struct {
	// Code says what kind of refusal it is.
	Code Refusal
	// Why is a sentence for the caller.
	Why string
	// Subject is what the event names wrongly, where the code alone says something else.
	Subject string
}

func (e *RefusedError) Error() string { return e.Why }

// Refusal is a kind of RefusedError.
type Refusal string

// The kinds of refusals.
const (
	// RefusedState: not in this lifecycle, step or turn.
	RefusedState Refusal = "STATE"
	// RefusedLate: it names what is no longer there, or not what is there now.
	RefusedLate Refusal = "LATE"
	// RefusedFull: the queue, or the edits of a call.
	RefusedFull Refusal = "FULL"
	// RefusedDigest: it names another digest than the one that is asked about.
	RefusedDigest Refusal = "DIGEST"
	// RefusedUnknown: there is no such call or approval.
	RefusedUnknown Refusal = "UNKNOWN"
	// RefusedQuestion: it answers a question that is not open.
	RefusedQuestion Refusal = "QUESTION"
)

func refuse(code Refusal, format string, args ...any) error {
	return &RefusedError{Code: code, Why: fmt.Sprintf(format, args...)}
}

// Apply gives the state after an event, and what changed. An error is a *RefusedError, and leaves the state as it was.
func (m Machine) Apply(s State, e Event) (State, []Note, error) {
	c := &change{m: m, State: s}
	c.Calls, c.Queue = slices.Clone(s.Calls), slices.Clone(s.Queue)
	if err := e.apply(c); err != nil {
		return s, nil, err
	}
	return c.State, c.notes, nil
}

// change is a state in the making.
type change struct {
	m Machine
	State
	notes []Note
	// why is what the note of a stop says beside its reason.
	why string
}

func (c *change) note(n Note) { c.notes = append(c.notes, n) }

// step moves along a row of the table. That there is one was asked before, or is so for every state.
func (c *change) step(t Trigger, to Step, status Status) error {
	if r, ok := c.m.row(c.Step, t, to); !ok || !slices.Contains(r.Status, status) {
		return refuse(RefusedState, "there is no way from %s to %s, %s, by %s", c.Step, to, status, t)
	}
	c.note(Note{Of: OfStep, From: string(c.Step), To: string(to), Trigger: t})
	c.Step = to
	if to != Review && to != Awaiting {
		c.ResultApproved = false // Every row that leaves REVIEW but to a gate forgets it (C41).
	}
	c.status(status)
	return nil
}

func (c *change) status(to Status) {
	if c.Status != to {
		c.note(Note{Of: OfStatus, From: string(c.Status), To: string(to)})
	}
	c.Status = to
}

func (c *change) lifecycle(to Lifecycle) {
	c.note(Note{Of: OfLifecycle, From: string(c.Lifecycle), To: string(to)})
	c.Lifecycle = to
}

// to sets how far a call is, and tells it of its approval, too.
func (c *change) to(i int, p Progress, why Reason) {
	call := &c.Calls[i]
	c.note(Note{Of: OfCall, ID: call.ID, From: string(call.Progress), To: string(p), Reason: why})
	call.Progress, call.Reason = p, why
}

// utterance begins a new one, in the same turn.
func (c *change) utterance(id string) {
	c.Turn.Utterance, c.Turn.Moved, c.Turn.Blocked, c.Turn.Reasks = id, false, false, 0
}

// open opens a turn for a message (field/review-agent.md 2b).
func (c *change) open(message, turn, utterance string, event bool) {
	if c.Question.ID != "" {
		c.closeQuestion()
	}
	if !event {
		c.Spent = 0
		if c.Recoveries >= c.m.Limits.Recoveries {
			c.Recoveries = 0 // C66
		}
	}
	c.Calls, c.PickUps, c.Reason, c.LastError = nil, 0, "", ""
	c.Turn = Turn{Running: Working, ID: turn, Utterance: utterance, ModelCalls: max(c.m.Limits.ModelCalls-c.Spent, 0)}
	c.note(Note{Of: OfTurn, ID: turn, To: string(Working), Text: message})
	c.status(InProgress)
}

// stop ends the turn. What is left of its budget goes with it.
func (c *change) stop(status Status, why Reason) error {
	if c.any(func(p Progress) bool { return !p.Final() }) {
		return refuse(RefusedState, "the turn cannot end: a call of it is open")
	}
	c.note(Note{Of: OfTurn, ID: c.Turn.ID, From: string(c.Turn.Running), Reason: why, Text: c.why})
	c.Calls, c.Turn, c.PickUps, c.Reason = nil, Turn{}, 0, why
	c.status(status)
	return nil
}

func (c *change) closeQuestion() {
	c.note(Note{Of: OfQuestion, ID: c.Question.ID, To: "CLOSED"})
	c.Question = Question{}
}

// find gives the index of a call.
func (c *change) find(id string) (int, error) {
	i := slices.IndexFunc(c.Calls, func(x Call) bool { return x.ID == id })
	if i < 0 {
		return 0, refuse(RefusedUnknown, "the turn has no call %q", id)
	}
	return i, nil
}

// fail is the trigger ERROR: the work of the step failed (C65).
func (c *change) fail(why string) error {
	c.Calls = nil
	c.Turn.Failures = 0
	c.LastError = why
	if c.Recoveries < c.m.Limits.Recoveries {
		c.Recoveries++
		c.PickUps = 0
		return c.step(ByError, Planning, Error)
	}
	if err := c.step(ByError, Planning, RequiresInput); err != nil {
		return err
	}
	return c.stop(RequiresInput, ReasonErrors)
}
