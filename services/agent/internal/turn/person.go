package turn

import (
	"context"
	"errors"

	"github.com/tsumugi-dev/tsumugi/services/agent/internal/audit"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/gate"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/ledger"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/session"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/store"
)

// MaxMessage bounds a message of a person, in bytes.
const MaxMessage = 256 << 10

// Send takes a message of a person: it is stored when Send returns. *session.RefusedError.
func (e *Engine) Send(ctx context.Context, ns, id string, who audit.Actor, sent session.Sent, text string) (ledger.Session, error) {
	return e.Ledger.Change(ctx, ns, id, who, func(w *ledger.Work) error {
		if err := put(w, textOf(sent.ID), []byte(text)); err != nil {
			return err
		}
		sent.NewTurn, sent.NewUtterance = e.IDs.ID(), e.IDs.ID()
		before := w.Session.State.Turn.ID
		if _, err := w.Apply(sent, gate.Change{}); err != nil {
			return err
		}
		if turn := w.Session.State.Turn; turn.ID != before && turn.Running == session.Working { // It took the place of what was asked.
			e.begun(w, sent.ID)
		}
		return nil
	})
}

// Decide takes a decision of a person about an approval. *gate.Refusal, store.ErrNotFound.
func (e *Engine) Decide(ctx context.Context, ns, approval string, r gate.Request) (out gate.Approval, err error) {
	var where string
	err = e.Ledger.Read(ctx, ns, func(v store.View) error {
		found, err := v.Approval(approval)
		where = found.Session
		return err
	})
	if err != nil {
		return out, err
	}
	var refused *gate.Refusal
	_, err = e.Ledger.Change(ctx, ns, where, audit.Actor{Name: r.Who.Name, Kind: audit.Person}, func(w *ledger.Work) error {
		a, err := w.Approved(approval)
		if err != nil {
			return err
		}
		var content gate.Content
		if err := (reader{w.Tx, where}).json(contentOf(approval), &content); err != nil && !errors.Is(err, store.ErrNotFound) {
			return err
		}
		r.Now, r.Seq = w.Now, w.Seq()
		ruling := gate.Decide(a, content, r, e.Terms)
		refused = ruling.Refused
		if err := e.rule(w, a, r, ruling); err != nil {
			return err
		}
		out, err = w.Approved(approval)
		return err
	})
	if err == nil && refused != nil {
		return out, refused
	}
	return out, err
}

// rule writes what becomes of a decision.
func (e *Engine) rule(w *ledger.Work, a gate.Approval, r gate.Request, ruling gate.Ruling) error {
	if no := ruling.Refused; no != nil {
		if row, ok := no.Row(a, r.Who, w.Now); ok {
			w.Row(row)
		}
	}
	if ruling.Record != nil {
		if err := w.Keep(*ruling.Record); err != nil {
			return err
		}
		rows(w, gate.Rows([]gate.Approval{*ruling.Record}, ruling.Change))
	}
	if ruling.Event == nil {
		return nil
	}
	if d, ok := ruling.Event.(session.Decided); ok {
		w.Session.Thread = w.Session.Thread.Decide(string(d.Decision) + ": " + a.Subject.Tool + " " + string(a.Kind))
		if d.Decision == session.Deny {
			t := &w.Session.Talk
			t.Denied = latest(append(t.Denied, string(a.Subject.CallHash)), ledger.MaxHashes)
		}
	}
	return e.carry(w, ruling.Event, ruling.Change)
}

// Cancel stops the task of a session. *session.RefusedError.
func (e *Engine) Cancel(ctx context.Context, ns, id, turn string, who audit.Actor) (ledger.Session, error) {
	return e.Ledger.Change(ctx, ns, id, who, func(w *ledger.Work) error {
		return e.carry(w, session.CancelSent{TurnID: turn}, gate.Change{})
	})
}
