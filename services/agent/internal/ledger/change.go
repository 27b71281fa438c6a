package ledger

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/tsumugi-dev/tsumugi/services/agent/internal/audit"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/canon"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/gate"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/session"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/store"
)

// ClockBehindError refuses what the clock must be right for: it is behind the last row of the session (S16). Denials and cancels work.
type ClockBehindError struct{ Now, Last time.Time }

func (e *ClockBehindError) Error() string {
	return fmt.Sprintf("the clock of this machine says %s, and the session's last row is of %s: nothing is approved or begun until the clock is right",
		e.Now.Format(time.RFC3339), e.Last.Format(time.RFC3339))
}

// Work is a change in the making, within its transaction. What it holds when the function ends is written.
type Work struct {
	store.Tx
	Session *Session
	// Now is the time of the change.
	Now time.Time
	// Actor is who does it.
	Actor audit.Actor

	// Asked is the hash of what is judged, such as a model's answer: rows that refuse it name it. Empty: of the refusal itself.
	Asked canon.Hash
	// Answer is the id of the text that a model answered with: the row that tells of the answer names it.
	Answer string
	// Reply is what that text says to the person, where somebody has read it already.
	Reply string
	// Read says what was done so that the answer could be read, a word or two each: that row names it, too. Empty: nothing.
	Read []string

	ledger *Ledger
	ns     string
	behind bool
	texts  map[string]string
	kept   []kept
	// lease is that which is there before a change that may claim the session.
	lease store.Lease
	// worked is how long the session has worked since it was changed last.
	worked  time.Duration
	entries []audit.Entry
	// stored is the body that was written, and text that of the session in it; nil: none was. then is what is done when it is durable.
	stored, text []byte
	then         []func()
	// told are the calls and approvals of which an event said something, by id: the hashes by which their rows are known.
	told map[string]session.Call
	// calls are those that were in the session at any moment of the change, as it has left them.
	calls map[string]session.Call
}

// Change changes a session in one transaction, which is durable when it returns. fn may be run again; its error leaves nothing.
func (l *Ledger) Change(ctx context.Context, ns, id string, actor audit.Actor, fn func(*Work) error) (Session, error) {
	var epoch int64
	if l.hold != nil {
		l.hold.writing.Lock()
		defer l.hold.writing.Unlock()
	}
	var w *Work
	err := l.store.Update(ctx, ns, func(tx store.Tx) error {
		found, err := tx.Session(id)
		if err != nil {
			return err
		}
		s, before, err := l.read(tx, ns, found)
		if err != nil {
			return err
		}
		if err := gone(s); err != nil {
			return err
		}
		w = &Work{Tx: tx, Session: &s, Actor: actor, ledger: l, ns: ns}
		w.Now, w.behind = l.now(s.Head.Time)
		w.worked = s.WorkedUntil(w.Now) - s.Talk.Worked
		if err := w.enter(); err != nil {
			return err
		}
		if err := fn(w); err != nil {
			return err
		}
		if err := w.write(before); err != nil {
			return err
		}
		epoch, err = w.leave()
		return err
	})
	if err != nil {
		return Session{}, err
	}
	l.recent.wrote(w.Session, w.stored, w.text)
	for _, then := range w.then {
		then()
	}
	l.bell.ring(store.Key{Namespace: ns, Session: id})
	if l.hold != nil {
		l.hold.set(epoch)
	}
	return *w.Session, nil
}

// Claim takes a session for the holder before work that comes ahead of its first change. It is written with what else the claim means.
func (l *Ledger) Claim(ctx context.Context, ns, id string, actor audit.Actor) error {
	_, err := l.Change(ctx, ns, id, actor, func(*Work) error { return nil })
	return err
}

// Trusted is nil while the clock may be believed where something is to begin; else a *ClockBehindError (S16).
func (w *Work) Trusted() error {
	if w.behind {
		return &ClockBehindError{w.ledger.clock.Now().UTC(), w.Session.Head.Time}
	}
	return nil
}

// PutText writes a text of the session. The last row of the change seals its hash.
func (w *Work) PutText(t store.Text) error {
	if w.texts == nil {
		w.texts = map[string]string{}
	}
	w.texts[t.ID] = string(t.Body)
	w.seal(keptText(t))
	return w.Tx.PutText(t)
}

// PutApproval writes an approval of the session. The last row of the change seals its hash.
func (w *Work) PutApproval(a store.Approval) error {
	w.seal(keptApproval(a))
	return w.Tx.PutApproval(a)
}

// PutOutgoing writes something of the session that is to be told. The last row of the change seals its hash; that it was acknowledged has no row.
func (w *Work) PutOutgoing(o store.Outgoing) error {
	w.seal(keptOutgoing(o))
	return w.Tx.PutOutgoing(o)
}

// Then has something done when the change is durable, which does not block and need not be done: the process may end before.
func (w *Work) Then(do func()) { w.then = append(w.then, do) }

// Fresh are the texts that the change wrote, by id: they need not be read again.
func (w *Work) Fresh() map[string]string { return w.texts }

// Namespace is that of the session.
func (w *Work) Namespace() string { return w.ns }

// Seq is the number of the next row: what a gate.Change is told by.
func (w *Work) Seq() int64 { return int64(w.Session.Head.Seq) + int64(len(w.entries)) + 1 }

// Apply has the state machine judge an event, and writes down all that it changed: the approvals follow it (gate.Settle), and rows tell of
// the session and of its approvals. Rows of what a call itself does (allowed, begun, done) are the caller's, by Row; write refuses a
// change of a call that no row tells. c has what the event brings for approvals; its time, number and actor are set here.
// *session.RefusedError, *ClockBehindError, *gate.SettleError.
func (w *Work) Apply(e session.Event, c gate.Change) ([]session.Note, error) {
	if err := w.Trusted(); err != nil && needsClock(e) {
		return nil, err
	}
	before := w.Session.State
	next, notes, err := w.ledger.machine.Apply(before, e)
	if err != nil {
		return nil, err
	}
	c.At, c.Seq, c.Actor = w.Now, w.Seq(), w.Actor
	if err := w.settle(before, notes, c); err != nil {
		return nil, err
	}
	w.Session.Follow(next, notes)
	w.Session.Parked = w.Session.Parked.after(e, w.Now)
	w.tell(before, next, notes)
	w.follow(before, next, notes)
	return notes, nil
}

// follow keeps what became of the calls of a turn, which go from the session with the turn.
func (w *Work) follow(before, next session.State, notes []session.Note) {
	left := func(c session.Call) {
		if w.calls == nil { // Most changes have no calls.
			w.calls = map[string]session.Call{}
		}
		w.calls[c.ID] = c
	}
	for _, c := range before.Calls {
		left(c)
	}
	for _, n := range notes {
		if n.Of == session.OfCall {
			c := w.calls[n.ID]
			c.ID, c.Progress, c.Reason = n.ID, session.Progress(n.To), n.Reason
			left(c)
		}
	}
	for _, c := range next.Calls {
		left(c)
	}
}

// Call is a call as the change has left it, also where its turn has ended in the change.
func (w *Work) Call(id string) (session.Call, bool) {
	c, ok := w.calls[id]
	return c, ok
}

// event applies one that brings nothing for approvals.
func (w *Work) event(e session.Event) error {
	_, err := w.Apply(e, gate.Change{})
	return err
}

// Follow takes over a state that the machine gave, and what is said of it elsewhere.
func (s *Session) Follow(next session.State, notes []session.Note) {
	s.Spent.ModelCalls += max(next.Spent-s.State.Spent, 0)
	s.State = next
	s.Thread = s.Thread.Changed(notes)
	for _, n := range notes {
		switch {
		case n.Of == session.OfTurn && n.From == "" && n.To == string(session.Working):
			s.Turns++
		case n.Of == session.OfCall && (n.To == string(session.OutcomePending) || n.To == string(session.Unknown)):
			s.Doubt(n.ID)
		}
	}
}

// settle has the approvals follow the notes, and writes those that changed.
func (w *Work) settle(before session.State, notes []session.Note, c gate.Change) error {
	var all []gate.Approval
	for _, id := range gate.Needed(before) {
		a, err := w.Approved(id)
		if err != nil {
			return err
		}
		all = append(all, a)
	}
	changed, err := gate.Settle(all, notes, c)
	if err != nil || len(changed) == 0 {
		return err
	}
	for _, a := range changed {
		if err := w.Keep(a); err != nil {
			return err
		}
		w.Session.warn(a)
	}
	for _, e := range gate.Rows(changed, c) {
		w.Row(e)
	}
	return nil
}

// Keep writes an approval. The last row of the change seals its hash, and the session keeps it while its call is open.
func (w *Work) Keep(a gate.Approval) error {
	body, err := json.Marshal(a)
	if err != nil {
		return err
	}
	put := store.Approval{ID: a.ID, Session: a.Session, State: string(a.State), Created: a.Created, Body: body}
	if err := w.PutApproval(put); err != nil {
		return err
	}
	w.Session.call(a.Call, func(c *Call) { c.Sealed = w.kept[len(w.kept)-1].Hash })
	return nil
}

// tell writes the rows of the session itself, and keeps of which calls a row is owed.
func (w *Work) tell(before, next session.State, notes []session.Note) {
	if w.told == nil {
		w.told = map[string]session.Call{}
	}
	w.entries = slices.Grow(w.entries, len(notes))
	for _, n := range notes {
		switch n.Of {
		case session.OfCall:
			for _, c := range append(slices.Clone(before.Calls), next.Calls...) {
				if c.ID == n.ID {
					w.told[n.ID] = c
				}
			}
		case session.OfApproval: // by gate.Rows
		default:
			w.entries = append(w.entries, w.entry(n))
		}
	}
}

// needsClock says that a wrong clock would let something begin.
func needsClock(e session.Event) bool {
	switch e := e.(type) {
	case session.Decided:
		return e.Decision == session.Approve
	case session.Began:
		return e.Void == ""
	}
	return false
}

// Row adds a row that no event of the state machine stands for, such as a refusal of policy or a change of the five items.
func (w *Work) Row(e audit.Entry) { w.entries = append(w.entries, w.complete(e)) }

// complete fills in what every row of the change has.
func (w *Work) complete(e audit.Entry) audit.Entry {
	e.Time, e.Namespace, e.Session, e.Task = w.Now, w.ns, w.Session.ID, w.Session.Task
	if e.Turn == "" {
		e.Turn = w.Session.State.Turn.ID
	}
	if e.Actor == (audit.Actor{}) {
		e.Actor = w.Actor
	}
	return e
}

// write writes the session and its rows. Of the calls of which nothing is open any more only the rows tell.
func (w *Work) write(before []byte) error {
	s := w.Session
	if err := w.closed(); err != nil {
		return err
	}
	if err := w.owed(); err != nil {
		return err
	}
	maps.DeleteFunc(s.Calls, func(id string, _ Call) bool {
		return !slices.ContainsFunc(s.State.Calls, func(c session.Call) bool { return c.ID == id })
	})
	if len(s.Calls) == 0 {
		s.Calls = nil
	}
	if len(w.entries)+len(w.kept) == 0 {
		if same, err := json.Marshal(s); err != nil || bytes.Equal(before, same) {
			return err // Nothing happened, such as a cancel that came twice.
		}
	}
	s.Updated = w.Now
	s.Talk.Worked += w.worked
	after, err := json.Marshal(s)
	if err != nil {
		return err
	}
	changed, err := delta(before, after)
	if err != nil {
		return err
	}
	if err := w.rows(changed); err != nil {
		return err
	}
	err = w.putSession(after)
	s.Version++
	return err
}

// putSession writes the session, of which raw is the text.
func (w *Work) putSession(raw []byte) error {
	s := w.Session
	body, err := w.ledger.encode(raw, s.Head)
	if err != nil {
		return err
	}
	w.stored, w.text = body, body[len(textOpens):][:len(raw)]
	kept := w.ledger.row(*s, w.Now)
	kept.Body = body
	return w.PutSession(kept)
}

// row is a session as the store finds it, written at a time, without its body. VerifyAudit holds what is stored to it: another rule for a column has to
// know of sessions that were written by the one before.
func (l *Ledger) row(s Session, now time.Time) store.Session {
	lifecycle := string(s.State.Lifecycle)
	if !s.Deleted.IsZero() {
		lifecycle = deleted
	}
	return store.Session{
		ID: s.ID, Owner: s.Owner, Lifecycle: lifecycle, Waits: s.State.AwaitsApproval() || s.State.Question.ID != "",
		Created: s.Created, Wake: l.wake(s, now), Version: s.Version,
	}
}
