package turn

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/tsumugi-dev/tsumugi/services/agent/internal/audit"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/gate"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/ledger"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/session"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/store"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/words"
)

// MaxMessage bounds a message of a person, in bytes.
const MaxMessage = 256 << 10

// Message is a text as it arrives.
type Message struct {
	session.Sent
	Text string
	// Who sends it, as authentication verified: no field comes from a request (cases/agent.md c8).
	Who gate.Who
	// Event says that it is no person who writes, but something that happened, such as a webhook. It is an utterance as any other, and
	// never words of approval, whoever's token brings it (cases/agent.md c28).
	Event bool
}

// Receipt says what a message was.
type Receipt struct {
	Session ledger.Session
	// Decided is the approval about which its words decided. Then it is no utterance, and is not kept. nil: it is one.
	Decided *gate.Approval
	// Why says of an utterance that has the form of a decision why it decided nothing; NotAForm for all others.
	Why words.Why
	// Replayed says that this very message had been taken before: nothing changed.
	Replayed bool
}

// Send takes a message: what it says is stored when Send returns. On arrival alone, and where it means to take no one's place, it may be
// words that decide about an approval (S20). *ledger.FieldsError, *session.RefusedError; *gate.Refusal of a decision by words that is not
// taken, and then the message is no utterance either.
func (e *Engine) Send(ctx context.Context, ns, id string, m Message) (out Receipt, err error) {
	if wrong := m.check(); len(wrong) > 0 {
		return out, &ledger.FieldsError{Wrong: wrong}
	}
	var refused *gate.Refusal
	now, err := e.Ledger.Change(ctx, ns, id, m.actor(), func(w *ledger.Work) error {
		out, refused = Receipt{}, nil
		var err error
		if out.Replayed, err = before(w, m, &out.Decided); err != nil || out.Replayed {
			return err
		}
		r, judged, err := byWords(w, m)
		if out.Why = judged.Why; err != nil {
			return err
		}
		if judged.Decision == words.None {
			return e.receive(w, m)
		}
		var a gate.Approval
		if a, refused, err = e.take(w, judged.ID, r, nil); err != nil {
			return err
		}
		if out.Decided = &a; refused == nil {
			err = put(w, decidedOf(m.ID), []byte(m.decided(a.ID)))
		}
		return err
	})
	out.Session = now
	if err == nil && refused != nil {
		return out, refused
	}
	return out, err
}

// known says that a message of this id was taken before: what it came to is for Send to say.
func (m Message) known(r reader) (bool, error) {
	return r.any(textOf(m.ID), decidedOf(m.ID), asideOf(m.ID))
}

// any says whether one of these texts is there.
func (r reader) any(ids ...string) (bool, error) {
	for _, id := range ids {
		if _, err := r.text(id); !errors.Is(err, store.ErrNotFound) {
			return err == nil, err
		}
	}
	return false, nil
}

// decided is what is kept of a message whose words decided: about which approval, and the hash of the words. A text that an earlier version
// kept has no hash, and no message is the same as that one.
func (m Message) decided(approval string) string { return approval + " " + string(sumOf(m.Text)) }

// before says whether this very message was taken before, and what its words decided then: a caller that did not get the answer sends it again
// (S15). store.ErrTaken where another one has its id, one that was answered aside included.
func before(w *ledger.Work, m Message, decided **gate.Approval) (bool, error) {
	r := reader{view: w.Tx, session: w.Session.ID}
	if aside, err := r.any(asideOf(m.ID)); err != nil || aside {
		return false, cmp.Or(err, store.ErrTaken)
	}
	switch text, err := r.text(textOf(m.ID)); {
	case err == nil && text == m.Text:
		return true, nil
	case err == nil:
		return false, store.ErrTaken
	case !errors.Is(err, store.ErrNotFound):
		return false, err
	}
	was, err := r.text(decidedOf(m.ID))
	if err != nil {
		return false, kept(err)
	}
	approval, _, _ := strings.Cut(was, " ")
	if was != m.decided(approval) {
		return false, store.ErrTaken
	}
	a, err := w.Approved(approval)
	*decided = &a
	return true, err
}

func (m Message) check() (wrong []session.Violation) {
	if len(m.Text) > MaxMessage || !utf8.ValidString(m.Text) {
		wrong = append(wrong, session.Violation{Field: "text", Description: fmt.Sprintf("must be UTF-8 of at most %d bytes, and has %d", MaxMessage, len(m.Text))})
	}
	if strings.TrimSpace(m.Text) == "" {
		wrong = append(wrong, session.Violation{Field: "text", Description: "must not be blank"})
	}
	if m.Question != "" && !m.byPerson() {
		wrong = append(wrong, session.Violation{Field: "question", Description: "must be empty: a person alone answers what was asked"})
	}
	if m.Who.Name == "" && m.Who.Session == "" {
		wrong = append(wrong, session.Violation{Field: "who", Description: "must name the sender"})
	}
	return wrong
}

// actor is who sends it in a row.
func (m Message) actor() audit.Actor {
	a := m.Who.Actor()
	if m.Event {
		a.Kind = audit.System
	}
	return a
}

// byPerson says that a person sends it, and neither an event nor a program with a token of the session.
func (m Message) byPerson() bool { return !m.Event && m.Who.Session == "" }

// keep writes what an utterance says, that its sender has spoken, and that it answers what was asked.
func (m Message) keep(w *ledger.Work) error {
	m.spoke(w.Session, w.Seq())
	return put(w, textOf(m.ID), []byte(m.Text))
}

// spoke has a session know that the sender has spoken, and so has answered what was asked.
func (m Message) spoke(s *ledger.Session, seq int64) {
	var senders []ledger.Sender // of what waits still: a cancel closes messages
	for _, one := range s.Talk.Senders {
		if one.Message == s.State.Turn.Next || slices.Contains(s.State.Queue, one.Message) {
			senders = append(senders, one)
		}
	}
	if m.byPerson() {
		senders = append(senders, ledger.Sender{Message: m.ID, Name: m.Who.Name})
	}
	s.Talk.Senders = senders
	if !m.Event {
		s.Talk.Spoke(m.Who.Name, seq)
		answers(s)
	}
}

// receive takes an utterance.
func (e *Engine) receive(w *ledger.Work, m Message) error {
	if err := m.keep(w); err != nil {
		return err
	}
	m.NewTurn, m.NewUtterance, m.ByEvent = e.IDs.ID(), e.IDs.ID(), !m.byPerson()
	before := w.Session.State.Turn.ID
	if _, err := w.Apply(m.Sent, gate.Change{}); err != nil {
		return err
	}
	if turn := w.Session.State.Turn; turn.ID != before && turn.Running == session.Working { // It took the place of what was asked.
		if err := e.shelve(w, replaced); err != nil {
			return err
		}
		begun(&w.Session.Talk, m.ID)
	}
	return nil
}

// byWords says what a message decides. Approvals are looked at only where the whole of it has the form of a decision.
func byWords(w *ledger.Work, m Message) (gate.Request, words.Judgement, error) {
	if _, ok := words.Parse(m.Text); !ok || m.Mode != session.Queue || m.Question != "" {
		return gate.Request{}, words.Judgement{Why: words.NotAForm}, nil
	}
	// The newest are enough: those that wait are among them, and if more were made since, the word is not about the only one.
	all, err := approvalsOf(w.Tx, w.Session.ID)
	if err != nil {
		return gate.Request{}, words.Judgement{}, err
	}
	if m.Event {
		m.Who.Name = ""
	}
	r, judged := gate.ByWords(all, gate.Message{Text: m.Text, Who: m.Who, Since: w.Session.Talk.Since(m.Who.Name), Now: w.Now, Seq: w.Seq()})
	return r, judged, nil
}

// Cancel stops the task of a session: what runs may end within the grace of its owner. *session.RefusedError.
func (e *Engine) Cancel(ctx context.Context, ns, id, turn string, who audit.Actor) (ledger.Session, error) {
	return e.Ledger.Change(ctx, ns, id, who, func(w *ledger.Work) error {
		return e.carry(w, session.CancelSent{TurnID: turn}, gate.Change{})
	})
}

// CancelHard is Cancel that gives what runs no grace, also where the task is being canceled already. *session.RefusedError.
func (e *Engine) CancelHard(ctx context.Context, ns, id, turn string, who audit.Actor) (ledger.Session, error) {
	return e.Ledger.Change(ctx, ns, id, who, func(w *ledger.Work) error {
		if err := e.carry(w, session.CancelSent{TurnID: turn}, gate.Change{}); err != nil || w.Session.State.Lifecycle != session.Canceling {
			return err
		}
		return e.carry(w, session.Hastened{}, gate.Change{})
	})
}
