package ledger

import (
	"time"

	"github.com/tsumugi-dev/tsumugi/services/agent/internal/gate"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/session"
)

// Earliest is a time at which a session is to be looked at, or that of a call without a model, if there is one.
func (d *Direct) Earliest(at time.Time) time.Time {
	if d != nil && (at.IsZero() || d.Until.Before(at)) {
		return d.Until
	}
	return at
}

// wake is when the owner of a session has to look at it: now, where there is something to do; the zero time, when somebody sends something.
func (l *Ledger) wake(s Session, now time.Time) time.Time {
	at := s.Direct.Earliest(l.duty(s, now))
	if !at.IsZero() && at.Before(now) {
		return now
	}
	return at
}

// Next says what the owner of a session has to do, as session.Machine.Next does. Nobody has to do anything about a call that the caller of
// the session carries out: until its result is there, its time is over or the work is stopped, the session waits for the caller.
func (s Session) Next(m session.Machine, now time.Time) session.Todo {
	todo := m.Next(s.State, now)
	stopping := s.State.Lifecycle != session.Open || s.State.Turn.Running != session.Working
	if until := s.Calls[todo.Call].Client; todo.Duty == session.Reconcile && !stopping && now.Before(until) {
		return session.Todo{Duty: session.WaitUntil, Call: todo.Call, Until: until}
	}
	return todo
}

// duty is when there is something to do for the state machine, or to be told.
func (l *Ledger) duty(s Session, now time.Time) time.Time {
	switch todo := s.Next(l.machine, now); {
	case todo.Duty == session.Rest:
		return time.Time{}
	case todo.Duty == session.WaitUntil:
		if _, soon := s.Warning(); !soon.IsZero() && soon.Before(todo.Until) {
			return soon
		}
		return todo.Until
	case todo.Duty == session.Retry && s.Parked.Until.After(now):
		return s.Parked.Until
	default:
		return now
	}
}

// warn sets when watchers are told that an approval will expire: anew where it was given more time.
func (s *Session) warn(a gate.Approval) {
	s.call(a.Call, func(c *Call) {
		if c.Warn = (time.Time{}); a.State == gate.Pending {
			c.Warn = a.Warn()
		}
	})
}

// call changes what is kept of a call.
func (s *Session) call(id string, change func(*Call)) {
	if s.Calls == nil {
		s.Calls = map[string]Call{}
	}
	c := s.Calls[id]
	change(&c)
	s.Calls[id] = c
}

// Warning is the approval that expires next of which watchers were not told, and when they are to be; the zero time: there is none.
func (s Session) Warning() (approval string, at time.Time) {
	for _, c := range s.State.Calls {
		if warn := s.Calls[c.ID].Warn; c.Progress.Asks() && !warn.IsZero() && (at.IsZero() || warn.Before(at)) {
			approval, at = c.Approval, warn
		}
	}
	return approval, at
}

// ForClient takes down that the caller of the session carries a call out, and how long it may take from now on.
func (w *Work) ForClient(call string, timeout time.Duration) {
	c := w.Session.Calls[call]
	c.Client = w.Now.Add(timeout)
	w.Session.Calls[call] = c
}

// FromClient takes down that the caller has given the result of a call: the session is to be carried on.
func (w *Work) FromClient(call string) {
	c := w.Session.Calls[call]
	c.Client = time.Time{}
	w.Session.Calls[call] = c
}

// Warned takes down that watchers were told.
func (w *Work) Warned(a gate.Approval) {
	c := w.Session.Calls[a.Call]
	c.Warn = time.Time{}
	w.Session.Calls[a.Call] = c
	w.Row(a.Warning(w.Now))
}
