package turn

import (
	"context"
	"errors"
	"slices"

	"github.com/tsumugi-dev/tsumugi/services/agent/internal/canon"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/gate"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/ledger"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/session"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/store"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/tool"
)

// ToolsChanged closes the approvals of a namespace that ask about a tool of a server which is no longer what was shown (field/review-agent.md
// S18): tools are all that the server has now. What is approved and has not begun is voided when it would begin, which looks for itself. An error
// is of the store: those that could be closed are.
func (e *Engine) ToolsChanged(ctx context.Context, ns, server string, tools []*tool.Tool) error {
	gone := func(a gate.Approval) bool {
		return a.State == gate.Pending && a.Kind == canon.KindToolCall && a.Subject.Server == server &&
			!slices.ContainsFunc(tools, func(t *tool.Tool) bool { return t.Hash == a.Subject.Definition })
	}
	var wrong []error
	for one, err := range e.stored(ctx, ns, store.ApprovalFilter{State: string(gate.Pending)}, store.Place{}) {
		if err != nil {
			return errors.Join(append(wrong, err)...)
		}
		a, broken := approval(ns, one)
		if broken != nil || !gone(a) { // One that cannot be read can be decided by nobody.
			continue
		}
		_, err = e.Ledger.Change(ctx, ns, a.Session, system, func(w *ledger.Work) error {
			return e.carry(w, session.ToolChanged{Approval: a.ID}, gate.Change{})
		})
		var refused *session.RefusedError
		if err != nil && !errors.As(err, &refused) && !errors.As(err, &broken) { // Somebody else has closed it, or nobody can decide about it.
			wrong = append(wrong, err)
		}
	}
	return errors.Join(wrong...)
}
