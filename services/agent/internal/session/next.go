package session

import "time"

// Duty is what the owner of a session has to do now.
type Duty string

// The duties.
const (
	Rest          Duty = "REST"           // until somebody sends something
	OpenTurn      Duty = "OPEN_TURN"      // TurnOpened
	CallModel     Duty = "CALL_MODEL"     // Answered, Unreadable or Stopped
	BeginCall     Duty = "BEGIN_CALL"     // Began, or ParkedFor
	Reconcile     Duty = "RECONCILE"      // a call has begun: Ended, ProvenUndone or NotProven
	EndBatch      Duty = "END_BATCH"      // BatchFailed
	Recover       Duty = "RECOVER"        // Recovered
	StopBudget    Duty = "STOP_BUDGET"    // Stopped
	BreakLoop     Duty = "BREAK_LOOP"     // CrashLooped
	FinishStop    Duty = "FINISH_STOP"    // WorkStopped
	Expire        Duty = "EXPIRE"         // Lapsed
	CloseQuestion Duty = "CLOSE_QUESTION" // QuestionLapsed
	Retry         Duty = "RETRY"          // Resumed, when the owner's timer says so
	WaitUntil     Duty = "WAIT_UNTIL"     // a time, or for somebody
)

// Todo is a duty, the call or approval that it is about, and until when to wait.
type Todo struct {
	Duty  Duty
	Call  string
	ID    string // of an approval
	Until time.Time
}

// Next says what the owner has to do. It is for an owner that runs nothing just now: a call that is an INTENT is to be reconciled.
func (m Machine) Next(s State, at time.Time) Todo {
	switch {
	case s.Lifecycle == Failed:
		return Todo{Duty: Rest}
	case s.closing():
		return s.finish()
	case s.Turn.Running == NoTurn && len(s.Queue) > 0:
		return Todo{Duty: OpenTurn}
	case s.Turn.Running == NoTurn:
		return s.idle(at)
	case s.Turn.Running == Waiting:
		return s.deadline(at)
	case s.Turn.Running == Parked:
		return Todo{Duty: Retry}
	}
	return m.work(s)
}

func (s State) finish() Todo {
	for _, c := range s.Calls {
		if c.Progress == Intent {
			return Todo{Duty: Reconcile, Call: c.ID}
		}
	}
	return Todo{Duty: FinishStop}
}

func (s State) idle(at time.Time) Todo {
	switch {
	case s.Question.ID == "":
		return Todo{Duty: Rest}
	case at.Before(s.Question.Expires):
		return Todo{Duty: WaitUntil, Until: s.Question.Expires}
	}
	return Todo{Duty: CloseQuestion}
}

// deadline is the first approval whose time is over, or the next time at which one is.
func (s State) deadline(at time.Time) Todo {
	next := Todo{Duty: WaitUntil}
	for _, c := range s.Calls {
		switch {
		case !c.Progress.Asks():
		case c.Due(at):
			return Todo{Duty: Expire, Call: c.ID, ID: c.Approval}
		case next.Until.IsZero() || c.Until.Before(next.Until):
			next.Until = c.Until
		}
	}
	return next
}

func (m Machine) work(s State) Todo {
	if s.PickUps >= m.Limits.PickUps {
		return Todo{Duty: BreakLoop}
	}
	if s.Status == Error {
		return Todo{Duty: Recover}
	}
	for _, c := range s.Calls {
		if c.Progress == Intent {
			return Todo{Duty: Reconcile, Call: c.ID}
		}
	}
	for _, c := range s.Calls {
		if c.Progress.Runnable() {
			return Todo{Duty: BeginCall, Call: c.ID}
		}
	}
	switch {
	case m.failed(s):
		return Todo{Duty: EndBatch}
	case s.Turn.ModelCalls <= 0:
		return Todo{Duty: StopBudget}
	}
	return Todo{Duty: CallModel}
}
