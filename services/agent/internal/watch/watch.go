// Package watch tells what happens to a session: the session as it is, then every row of its audit once, in order, as an event with what it
// is about. Events are read from the store and never sent past it, so that a watcher that comes late, reads slowly or comes again
// after a restart misses nothing, and holds nobody up (cases/agent.md c19, c20).
package watch

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/tsumugi-dev/tsumugi/services/agent/internal/envelope"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/ledger"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/session"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/store"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/tool"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/turn"
)

// Poll is how often a session is looked at where another process may change it.
const Poll = time.Second

// Ledger keeps sessions.
type Ledger interface {
	Span(ctx context.Context, ns, id string) (s ledger.Session, oldest int64, err error)
	Tail(ctx context.Context, ns, id string, after int64) (ledger.Tail, error)
	Listen(ns, id string) (rang <-chan struct{}, stop func())
	Read(ctx context.Context, ns string, fn func(store.View) error) error
}

// Texts reads what is kept apart from the rows.
type Texts interface {
	Message(ctx context.Context, ns, session, message string) (string, error)
	Answer(ctx context.Context, ns, session, id string) (envelope.Envelope, bool, error)
	Result(ctx context.Context, ns, session, call string) (tool.Result, error)
	Aside(ctx context.Context, ns, session, message string) (turn.Answer, error)
}

// Service begins streams.
type Service struct {
	Ledger Ledger
	Texts  Texts
}

// GapError says that what a watcher asks for is kept no longer, or never was.
type GapError struct{ From, Oldest, Last int64 }

func (e *GapError) Error() string {
	if e.From > e.Last {
		return fmt.Sprintf("there is no event %d yet: the last one is %d", e.From, e.Last)
	}
	return fmt.Sprintf("the events behind %d are kept no longer: the oldest is %d; begin with the session as it is", e.From, e.Oldest)
}

// Stream is what one watcher reads. Close it.
type Stream struct {
	*Service
	ns, id  string
	seq     int64
	pending []Event
	rang    <-chan struct{}
	stop    func()
	over    func(ledger.Session) bool
	ended   bool
	// shown says that the last thing told is the session as it is.
	shown bool
}

// Watch begins with the session as it is; from is the number up to which everything is known; nil: what happens from this moment on is told. Of a session whose task has ended
// the stream ends, too. store.ErrNotFound, *GapError.
func (s *Service) Watch(ctx context.Context, ns, id string, from *int64) (*Stream, error) {
	w := s.stream(ns, id, ended)
	now, oldest, err := s.Ledger.Span(ctx, ns, id)
	if err != nil {
		w.Close()
		return nil, err
	}
	last := int64(now.Head.Seq)
	w.seq = last
	if from != nil {
		if *from < oldest-1 || *from > last {
			w.Close()
			return nil, &GapError{From: *from, Oldest: oldest, Last: last}
		}
		w.seq = *from
	}
	w.pending, w.shown = []Event{{Seq: w.seq, Time: now.Updated, Of: Snapshot{now}}}, true
	return w, nil
}

// Follow tells what comes of a message behind a row, until its turn has ended or waits for a person; the last event is the session as it is. A message
// that decided is none: it is empty, and the turn is that which goes on.
func (s *Service) Follow(ns, id, message string, after int64) *Stream {
	w := s.stream(ns, id, func(s ledger.Session) bool { return settled(s, message) })
	w.seq, w.ended = after, false
	return w
}

func (s *Service) stream(ns, id string, over func(ledger.Session) bool) *Stream {
	w := &Stream{Service: s, ns: ns, id: id, over: over}
	w.rang, w.stop = s.Ledger.Listen(ns, id)
	return w
}

// ended says that nothing more comes before somebody sends something, and the task is over.
func ended(s ledger.Session) bool {
	st := s.State
	return (st.Lifecycle == session.Completed || st.Lifecycle == session.Canceled || st.Lifecycle == session.Failed) &&
		st.Turn.Running == session.NoTurn && len(st.Queue) == 0
}

// settled says that the turn of a message, or the one that is open, has ended or waits for a person.
func settled(s ledger.Session, message string) bool {
	st := s.State
	for _, waits := range st.Queue {
		if waits == message {
			return st.Turn.Running == session.Waiting // Nothing moves before a person does.
		}
	}
	if message != "" && st.Turn.Next == message || st.Turn.Running == session.Stopping || st.Lifecycle == session.Canceling {
		return false
	}
	return st.Turn.Running == session.NoTurn || st.Turn.Running == session.Waiting
}

// Close ends the stream.
func (w *Stream) Close() { w.stop() }

// Seq is up to where everything is told.
func (w *Stream) Seq() int64 { return w.seq }

// Next gives the next event, when there is one. io.EOF when the stream has ended, store.ErrNotFound when the session was deleted, the error of ctx, or
// one of the store.
func (w *Stream) Next(ctx context.Context) (Event, error) {
	for {
		if len(w.pending) > 0 {
			e := w.pending[0]
			w.pending = w.pending[1:]
			w.seq = max(w.seq, e.Seq)
			return e, nil
		}
		if w.ended {
			return Event{}, io.EOF
		}
		if err := w.more(ctx); err != nil {
			return Event{}, err
		}
		if len(w.pending) > 0 || w.ended {
			continue
		}
		if err := w.wait(ctx); err != nil {
			return Event{}, err
		}
	}
}

// more reads the next rows.
func (w *Stream) more(ctx context.Context) error {
	t, err := w.Ledger.Tail(ctx, w.ns, w.id, w.seq)
	if err != nil {
		return err
	}
	for _, row := range t.Rows {
		e, err := w.event(ctx, row)
		if err != nil {
			return err
		}
		w.pending, w.shown = append(w.pending, e), false
	}
	if t.Last && w.over(t.Session) {
		w.ended = true
		if w.shown {
			return nil
		}
		w.pending = append(w.pending, Event{Seq: int64(t.Session.Head.Seq), Time: t.Session.Updated, Of: Snapshot{t.Session}})
	}
	return nil
}

// wait waits until the session was changed, here or by another process.
func (w *Stream) wait(ctx context.Context) error {
	again := time.NewTimer(Poll)
	defer again.Stop()
	select {
	case <-w.rang:
	case <-again.C:
	case <-ctx.Done():
		return ctx.Err()
	}
	return nil
}
