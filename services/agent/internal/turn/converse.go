package turn

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"github.com/tsumugi-dev/tsumugi/services/agent/internal/gate"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/ledger"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/session"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/stack"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/store"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/words"
)

// Accepted says once what became of a message: what it was, with the session as it is then, or why it is not stored.
type Accepted func(Receipt, error)

// Converse is Send and Drive in one. The message to a session that rests is stored together with its first answer, in one transaction
// (field/review-agent.md C71), if the model is as quick as Limits.Together; if not, the message and its turn are stored alone, so that
// nobody waits for the model to know that, and the turn can be seen and cancelled. Until then it is not acknowledged: accepted is called
// after the commit. A session that changed meanwhile has it in its queue. caller is whoever waits for accepted: one that has gone before
// anything is stored has sent nothing. The results are those of Drive; of a message that is not stored accepted alone tells.
func (e *Engine) Converse(ctx, caller context.Context, ns, id string, m Message, accepted Accepted) (time.Time, error) {
	t, err := e.talk(ctx, ns, id, m)
	if err != nil {
		accepted(Receipt{}, err)
		return time.Time{}, nil
	}
	t.told = accepted
	var kept bool
	if t.direct {
		kept, err = t.run(ctx, caller)
	} else {
		kept = t.queue(ctx)
	}
	if !kept || err != nil || t.rests {
		return time.Time{}, err
	}
	return e.Drive(ctx, ns, id)
}

// Rests says that nothing is to be done in a session before somebody writes to it or a time comes. After a message of Converse whose
// session rests, nothing more is done in it.
func (e *Engine) Rests(s ledger.Session) bool {
	duty := s.Next(e.Machine, e.Clock.Now()).Duty
	return s.ID != "" && (duty == session.Rest || duty == session.WaitUntil)
}

// talk is a message on its way, with the turn that it opens.
type talk struct {
	e    *Engine
	ns   string
	m    Message
	told Accepted
	// now is what the turn makes of the session as it was read. direct: it can be opened at once.
	now    ledger.Session
	turn   opening
	direct bool
	// rests: the session does, since the message was stored.
	rests bool
	// taken: what the model said was written, or may have been.
	taken bool
}

// talk prepares the turn of a message.
func (e *Engine) talk(ctx context.Context, ns, id string, m Message) (*talk, error) {
	if wrong := m.check(); len(wrong) > 0 {
		return nil, &ledger.FieldsError{Wrong: wrong}
	}
	t := &talk{e: e, ns: ns, m: m}
	known := false
	err := e.Ledger.Look(ctx, ns, id, func(s ledger.Session, v store.View) (err error) {
		t.now = s
		known, err = m.known(reader{view: v, session: id})
		return err
	})
	if err != nil {
		return nil, err
	}
	s := &t.now
	t.turn = e.opening(t.now, m.ID, !m.byPerson())
	if known || m.Mode != session.Queue || s.State.Turn.Running != session.NoTurn || len(s.State.Queue) > 0 || e.Limits.Together <= 0 {
		return t, nil
	}
	for _, event := range []session.Event{m.Sent, t.turn.event} {
		next, notes, err := e.Machine.Apply(t.now.State, event)
		if err != nil {
			return t, nil //nolint:nilerr // Send tells it.
		}
		t.now.Follow(next, notes)
	}
	m.spoke(&t.now, int64(s.Head.Seq)+1)
	t.turn.begin(&t.now)
	t.direct = e.spent(e.asides.counted(ns, t.now)) == ""
	return t, nil
}

// queue sends the message as to any session, of whoever has it now, and says whether it is stored.
func (t *talk) queue(ctx context.Context) bool {
	r, err := t.e.Under(nil).Send(ctx, t.ns, t.now.ID, t.m)
	t.tell(r, err)
	return err == nil
}

func (t *talk) tell(r Receipt, err error) {
	t.rests = t.e.Rests(r.Session)
	t.told(r, err)
}

// think calls the model.
func (t *talk) think(ctx context.Context) <-chan thought {
	thoughts := make(chan thought, 1)
	go func() {
		var out thought
		defer func() {
			if p := recover(); p != nil {
				out.panicked = fmt.Sprintf("%v\n%s", p, debug.Stack())
			}
			thoughts <- out
		}()
		stack.Reserve()
		out = t.e.think(ctx, t.ns, &t.now, map[string]string{textOf(t.m.ID): t.m.Text})
	}()
	return thoughts
}

// run has the model think, and stores the message with what it says, or before it. kept: it is stored. The model is paid for also where nothing of
// what it says is taken, such as since the sender has left.
func (t *talk) run(ctx, caller context.Context) (kept bool, err error) {
	ctx, stop := context.WithCancel(ctx)
	thoughts := t.think(ctx)
	var first *thought
	defer func() {
		stop()
		if first == nil {
			got := <-thoughts
			first = &got
		}
		if !t.taken {
			t.e.charge(ctx, t.ns, t.now.ID, t.now.State.Turn.ID, *first)
		}
	}()
	timer := time.NewTimer(t.e.Limits.Together)
	defer timer.Stop()
	select {
	case got := <-thoughts:
		first = &got
	case <-timer.C:
	case <-caller.Done():
	}
	if err := errors.Join(ctx.Err(), caller.Err()); err != nil {
		t.tell(Receipt{}, err)
		return false, nil
	}
	var answer func(*ledger.Work) error
	if first != nil {
		answer = first.write
	}
	kept, done, err := t.store(ctx, answer)
	if !kept || done || err != nil {
		return kept, err
	}
	if first == nil {
		got := <-thoughts
		first = &got
	}
	return true, t.write(ctx, *first)
}

// store stores the message with its turn, and the answer, if there is one. done: there is nothing to write of the answer any more. The
// error is that of the answer: it takes the message with it as little as one that comes later.
func (t *talk) store(ctx context.Context, answer func(*ledger.Work) error) (kept, done bool, err error) {
	var late bool
	var wrong error
	r := Receipt{Why: words.NotAForm}
	s, err := t.e.Ledger.Change(ctx, t.ns, t.now.ID, t.m.actor(), func(w *ledger.Work) error {
		wrong, t.taken = nil, false
		if late = w.Session.Version != t.now.Version; late {
			var err error
			if r.Replayed, err = before(w, t.m, &r.Decided); err == nil && !r.Replayed {
				err = t.e.receive(w, t.m)
			}
			if err == nil && answer != nil {
				w.Actor = model
				err = refusedAlready(answer(w)) // It is to a turn that was not opened: its call is charged, no more.
				t.taken = err == nil
			}
			return err
		}
		if err := t.open(w); err != nil || answer == nil {
			return err
		}
		w.Actor = model
		wrong = answer(w)
		t.taken = wrong == nil
		return wrong
	})
	var held *store.HeldError
	switch {
	case errors.As(err, &held) || errors.Is(err, store.ErrFenced):
		return t.queue(ctx), true, nil
	case err != nil && wrong != nil:
		kept, done, err = t.store(ctx, nil)
		if !kept || done {
			return kept, done, err
		}
		return true, true, refusedAlready(wrong)
	}
	r.Session = s
	t.tell(r, err)
	return err == nil, late || answer != nil, nil
}

// open opens the turn of the message.
func (t *talk) open(w *ledger.Work) error {
	if err := t.m.keep(w); err != nil {
		return err
	}
	if _, err := w.Apply(t.m.Sent, gate.Change{}); err != nil {
		return err
	}
	w.Actor = system
	t.turn.begin(w.Session)
	_, err := w.Apply(t.turn.event, gate.Change{})
	return err
}

// write writes what the model said after its turn was stored.
func (t *talk) write(ctx context.Context, first thought) error {
	if first.panicked != "" {
		panic(first.panicked)
	}
	if first.err != nil {
		return first.err
	}
	_, err := t.e.Ledger.Change(ctx, t.ns, t.now.ID, model, first.write)
	err = refusedAlready(err)
	t.taken = err == nil || ctx.Err() == nil // as in ask
	return err
}
