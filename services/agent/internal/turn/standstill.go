package turn

import (
	"context"
	"fmt"

	"github.com/tsumugi-dev/tsumugi/services/agent/internal/gate"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/ledger"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/session"
)

// maxStill is how often a duty is done without a change of the session before its record counts as broken.
const maxStill = 2

// standstill counts how often the same was to be done in the same version of a session. Whatever a duty comes to is written; one of which nothing is
// was refused by the state machine that asked for it, and would be done for ever: the model would be called without a charge.
type standstill struct {
	version int64
	duty    session.Duty
	about   string
	times   int
}

// still says that it was done often enough, and counts it.
func (t *standstill) still(version int64, todo session.Todo) bool {
	if about := todo.Call + " " + todo.ID; *t != (standstill{version, todo.Duty, about, t.times}) {
		*t = standstill{version: version, duty: todo.Duty, about: about}
	}
	t.times++
	return t.times > maxStill
}

// standsStill ends a session that does not get on, unless it has changed meanwhile. The error is for the log: the session says it, too.
func (e *Engine) standsStill(ctx context.Context, ns string, s ledger.Session, duty session.Duty) error {
	why := fmt.Sprintf("its record does not fit together: %s was to be done next in step %s, %s, and was refused %d times as what cannot be now", duty, s.State.Step, s.State.Status, maxStill)
	moved := false
	_, err := e.Ledger.Change(ctx, ns, s.ID, system, func(w *ledger.Work) error {
		if moved = w.Session.Version != s.Version; moved {
			return nil
		}
		return e.carry(w, session.Broken{Why: why}, gate.Change{})
	})
	if err != nil || moved {
		return err
	}
	return fmt.Errorf("session %s: %s", s.ID, why)
}
