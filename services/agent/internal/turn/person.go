package turn

import (
	"context"

	"github.com/tsumugi-dev/tsumugi/services/agent/internal/audit"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/gate"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/ledger"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/session"
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

// Cancel stops the task of a session. *session.RefusedError.
func (e *Engine) Cancel(ctx context.Context, ns, id, turn string, who audit.Actor) (ledger.Session, error) {
	return e.Ledger.Change(ctx, ns, id, who, func(w *ledger.Work) error {
		return e.carry(w, session.CancelSent{TurnID: turn}, gate.Change{})
	})
}
