package sessionservice

import (
	"context"
	"errors"
	"slices"

	"github.com/tsumugi-dev/tsumugi/services/agent/internal/clienttool"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/session"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/store"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/turn"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/watch"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/words"
)

// Message is what a caller sends to a session.
type Message struct {
	Text string
	Mode session.OnPending
	// Turn and Approvals are what its sender saw (C59).
	Turn      string
	Approvals []string
	// Question is the one that it answers, or empty.
	Question string
	// RequestID is a UUID, or empty.
	RequestID string
}

// Taken says that a message is stored.
type Taken struct {
	// Message is its id, Position how many turns come before its own.
	Message  string
	Position int
	// Decided is the approval that its words decided; then it is no message, and its turn is that of the approval. Why says of a text that looks like a decision why it is none.
	Decided, Why string
	Replayed     bool
	// Session is as it was with the message, Seq the row behind which what comes of it begins.
	Session View
	Seq     int64
}

// Send takes a message, and follows what comes of it. *Violations, *NotFoundError, *ReusedError,
// *session.RefusedError, *gate.Refusal.
func (s *Service) Send(ctx context.Context, w Who, id string, m Message) (Taken, *watch.Stream, error) {
	message := s.idOf(w, m.RequestID, "message")
	sent := session.Sent{ID: message, Mode: m.Mode, Approvals: m.Approvals, TurnID: m.Turn, Question: m.Question}
	before, err := s.Ledger.Get(ctx, w.Namespace, id)
	if err != nil {
		return Taken{}, nil, found(aSession, id, err)
	}
	got, err := s.Runner.Send(ctx, w.Namespace, id, turn.Message{Sent: sent, Text: m.Text, Who: w, Event: w.Session != ""})
	if errors.Is(err, store.ErrTaken) {
		err = &ReusedError{m.RequestID}
	}
	if err != nil {
		return Taken{}, nil, found(aSession, id, err)
	}
	t := Taken{Message: message, Replayed: got.Replayed, Seq: int64(before.Head.Seq)}
	if got.Why != words.NotAForm {
		t.Why = string(got.Why)
	}
	if t.Session, err = s.View(ctx, w.Namespace, got.Session); err != nil {
		return Taken{}, nil, err
	}
	if got.Decided != nil {
		t.Message, t.Decided = "", got.Decided.ID
		return t, s.watches.Follow(w.Namespace, id, "", t.Seq), nil
	}
	if t.Position = slices.Index(got.Session.State.Queue, message) + 1; t.Position > 0 && got.Session.State.Turn.Running == session.NoTurn {
		t.Position--
	}
	return t, s.watches.Follow(w.Namespace, id, message, t.Seq), nil
}

// idOf is the id of what a request makes: that of its request id, if it has one.
func (s *Service) idOf(w Who, request, what string) string {
	if id := own(w, request, what); id != "" {
		return id
	}
	return s.IDs.ID()
}

// Aside answers a message from what the session is now, beside its work. *Violations, *NotFoundError, *ReusedError, *session.RefusedError.
func (s *Service) Aside(ctx context.Context, w Who, id string, m Message) (watch.Aside, turn.Answer, error) {
	message := s.idOf(w, m.RequestID, "message")
	a, err := s.Engine.Aside(ctx, w.Namespace, id, w.Actor(), message, m.Text)
	if errors.Is(err, store.ErrTaken) {
		err = &ReusedError{m.RequestID}
	}
	return watch.Aside{Message: message, Reply: a.Text}, a, found(aSession, id, err)
}

// Submit takes the result of a call of a client tool. *NotFoundError, *clienttool.RefusedError, *Violations.
func (s *Service) Submit(ctx context.Context, w Who, id, call string, r clienttool.Result) (replayed bool, err error) {
	replayed, err = s.Desk.Submit(ctx, w.Namespace, id, call, r, w.Actor())
	if err == nil {
		s.Runner.Wake(ctx, w.Namespace, id)
	}
	return replayed, found(aSession, id, err)
}
