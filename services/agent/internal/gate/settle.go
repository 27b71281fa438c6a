package gate

import (
	"fmt"
	"slices"
	"time"

	"github.com/tsumugi-dev/tsumugi/services/agent/internal/audit"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/canon"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/session"
)

// Change is what an event of the session brings for the approvals, beside the notes of Machine.Apply.
type Change struct {
	At time.Time
	// Seq is the number of the session's record that tells the event; each event has another one.
	Seq int64
	// Actor is who caused it: whoever sent a message or a cancel. Empty: the gate itself.
	Actor audit.Actor
	// Decision is what a person decided, if the event is that.
	Decision *Decision
	// Made are approvals that the event may raise. Those that no note raises are left out: a call that is allowed has none.
	Made []Approval
}

// SettleError says that records and notes do not fit each other. The transaction must leave nothing.
type SettleError struct{ Why string }

func (e *SettleError) Error() string { return "the approvals do not follow the session: " + e.Why }

func unfit(format string, args ...any) error { return &SettleError{fmt.Sprintf(format, args...)} }

// Needed are the ids of the approvals that Settle has to be given for an event on a state.
func Needed(s session.State) []string {
	var out []string
	for _, c := range s.Calls {
		if c.Approval != "" {
			out = append(out, c.Approval)
		}
	}
	return out
}

// Settle gives the approvals that change with the notes of an event, as they are to be stored in its transaction. all are those of Needed
// before the event, in any order; others of the session do no harm. It is the only function that moves an approval.
func Settle(all []Approval, notes []session.Note, c Change) ([]Approval, error) {
	s := settling{Change: c, all: slices.Clone(all), changed: map[string]bool{}}
	for _, n := range notes {
		var err error
		switch n.Of {
		case session.OfCall:
			err = s.call(n)
		case session.OfApproval:
			err = s.approval(n)
		}
		if err != nil {
			return nil, err
		}
	}
	var changed []Approval
	for i := range s.all {
		if s.changed[s.all[i].ID] {
			changed = append(changed, s.all[i])
		}
	}
	return changed, nil
}

type settling struct {
	Change
	all     []Approval
	changed map[string]bool
}

// closings say what becomes of an approval when its call moves (field/review-agent.md 2c).
var closings = map[[2]session.Progress]State{
	{session.Pending, session.Approved}:     Approved,
	{session.Pending, session.Denied}:       Denied,
	{session.Pending, session.Expired}:      Expired,
	{session.Pending, session.CallCanceled}: Canceled,
	{session.Pending, session.Superseded}:   Superseded,
	{session.Approved, session.Intent}:      Consumed,
	{session.Approved, session.Voided}:      Voided,

	{session.OutcomePending, session.Executed}:    Happened,
	{session.OutcomePending, session.NotHappened}: NotHappened,
}

// unknowns say why an outcome stays unknown for good.
var unknowns = map[session.Reason]State{
	session.VoidOutcomeExpired: Expired, session.VoidSuperseded: Superseded, session.VoidCanceled: Canceled, session.VoidInterrupted: Canceled,
}

func (s *settling) call(n session.Note) error {
	from, to := session.Progress(n.From), session.Progress(n.To)
	switch {
	case from == "" && to == session.Pending:
		return s.raise(n.ID, n.Text)
	case to == session.OutcomePending:
		return s.raiseOutcome(n.ID)
	case from == session.OutcomePending && to == session.Unknown:
		state, ok := unknowns[n.Reason]
		if !ok {
			return unfit("the outcome of %q stays unknown for the reason %q", n.ID, n.Reason)
		}
		return s.close(n, canon.KindOutcome, Pending, state)
	case from == session.OutcomePending:
		return s.close(n, canon.KindOutcome, Pending, closings[[2]session.Progress{from, to}])
	case from == session.Pending, from == session.Approved:
		return s.close(n, "", State(from), closings[[2]session.Progress{from, to}])
	}
	return nil // A call that policy allowed, or what happens after INTENT: the approval is consumed for good.
}

// close moves the approval of a call.
func (s *settling) close(n session.Note, kind canon.Kind, from, to State) error {
	i := slices.IndexFunc(s.all, func(a Approval) bool {
		return a.Call == n.ID && a.State == from && (a.Kind == canon.KindOutcome) == (kind == canon.KindOutcome)
	})
	if i < 0 && from == Approved && slices.ContainsFunc(s.all, func(a Approval) bool { return a.Call == n.ID && a.State == Consumed }) {
		return nil // It was proven not done, and goes on under the same consumption (2c).
	}
	if i < 0 || to == "" {
		return unfit("call %q goes from %s to %s, and has no approval for that", n.ID, n.From, n.To)
	}
	a := &s.all[i]
	s.move(a, to)
	switch to {
	case Consumed:
		a.ConsumedAt = s.At
	case Voided:
		a.Void = n.Reason
	case Approved, Denied, Happened, NotHappened:
		if s.Decision == nil || s.Decision.Approval != a.ID {
			return unfit("approval %q becomes %s, and nobody decided that", a.ID, to)
		}
		a.Decision = s.Decision
	}
	return nil
}

func (s *settling) move(a *Approval, to State) {
	a.State, a.StateAt, a.StateSeq = to, s.At, s.Seq
	s.changed[a.ID] = true
}

// raise takes a new approval in.
func (s *settling) raise(call, id string) error {
	i := slices.IndexFunc(s.Made, func(a Approval) bool { return a.ID == id && a.Call == call && a.State == Pending })
	switch {
	case i < 0:
		return unfit("call %q waits for approval %q, which was not made", call, id)
	case slices.ContainsFunc(s.all, func(a Approval) bool { return a.ID == id }):
		return unfit("approval %q is there already: what an id means never changes", id) // C58
	}
	s.all = append(s.all, s.Made[i])
	s.changed[id] = true
	return nil
}

func (s *settling) raiseOutcome(call string) error {
	i := slices.IndexFunc(s.Made, func(a Approval) bool { return a.Call == call && a.Kind == canon.KindOutcome })
	if i < 0 {
		return unfit("nobody was asked whether call %q happened", call)
	}
	return s.raise(call, s.Made[i].ID)
}

// approval follows the notes that name an approval by its id.
func (s *settling) approval(n session.Note) error {
	i := slices.IndexFunc(s.all, func(a Approval) bool { return a.ID == n.ID })
	if i < 0 {
		return unfit("approval %q is not among the records", n.ID)
	}
	a := &s.all[i]
	switch n.To {
	case "CONSUMED":
		if a.State != Approved {
			return unfit("approval %q is consumed, and is %s", a.ID, a.State)
		}
		s.move(a, Consumed)
		a.ConsumedAt = s.At
	case "EDITED":
		if a.State != Pending {
			return unfit("approval %q is changed, and is %s", a.ID, a.State)
		}
		s.move(a, Edited)
		a.ReplacedBy, a.Decision = n.Text, s.Decision
		return s.raise(a.Call, n.Text)
	case "EXTENDED":
		until, err := time.Parse(time.RFC3339, n.Text)
		if err != nil || a.State != Pending {
			return unfit("approval %q gets time until %q, and is %s", a.ID, n.Text, a.State)
		}
		a.Expires = until
		s.changed[a.ID] = true
	case "late_denial":
		if s.Decision == nil || s.Decision.Approval != a.ID {
			return unfit("approval %q was denied late by nobody", a.ID)
		}
		a.LateDenial = s.Decision
		s.changed[a.ID] = true
	default:
		return unfit("nobody knows what %q means for approval %q", n.To, a.ID)
	}
	return nil
}

// Agree says whether the approvals of a session are those of its state: for the check of a record (ledger.Agree). all are all of them. The
// error is a *SettleError with the first that differs.
func Agree(s session.State, all []Approval) error {
	byID := map[string]Approval{}
	for _, a := range all {
		byID[a.ID] = a
	}
	named := map[string]bool{}
	for _, c := range s.Calls {
		if c.Approval == "" {
			continue
		}
		named[c.Approval] = true
		a, ok := byID[c.Approval]
		if !ok || a.Call != c.ID || string(a.Digest) != c.Digest {
			return unfit("call %q has the approval %q, and no record of it fits", c.ID, c.Approval)
		}
		if !fits(a, c) {
			return unfit("call %q is %s, and its approval %q is %s", c.ID, c.Progress, a.ID, a.State)
		}
	}
	for _, a := range all {
		if a.State.Open() && !named[a.ID] {
			return unfit("approval %q is %s, and the session knows nothing of it", a.ID, a.State)
		}
	}
	return nil
}

// fits says whether a record is where its call is.
func fits(a Approval, c session.Call) bool {
	if a.Kind == canon.KindOutcome {
		switch c.Progress {
		case session.OutcomePending:
			return a.State == Pending && a.Expires.Equal(c.Until)
		case session.Executed:
			return a.State == Happened
		case session.NotHappened:
			return a.State == NotHappened
		case session.Unknown:
			return a.State == unknowns[c.Reason]
		}
		return false
	}
	switch c.Progress {
	case session.Pending:
		return a.State == Pending && a.Expires.Equal(c.Until)
	case session.Approved:
		return (a.State == Approved || a.State == Consumed && c.Attempts > 0) && a.Decision != nil && a.Decision.Start.Equal(c.Until)
	case session.Voided:
		return a.State == Voided && a.Void == c.Reason || a.State == Consumed && c.Attempts > 0
	case session.Intent, session.Executed, session.CallFailed, session.Unknown:
		return a.State == Consumed
	case session.Denied, session.Expired, session.Superseded, session.CallCanceled:
		return a.State == closings[[2]session.Progress{session.Pending, c.Progress}]
	}
	return false
}
