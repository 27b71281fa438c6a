package turn

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/tsumugi-dev/tsumugi/services/agent/internal/folder"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/ledger"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/router"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/session"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/store"
)

// maxSweep is how long a folder is kept from everybody else while what crashes left in it is taken away: half of what whoever reconciles a call
// waits for the folder before they say that nobody knows (C51).
const maxSweep = router.ProofWait / 2

// Sweep takes away what changes that a crash cut off have left in a work folder under staged names (field/review-agent.md S3): under the lock of the
// folder, and only where every INTENT of a change, of any session in any folder, is settled: the session knows its folder by a name alone, and the tools
// file may have given that to another path since. No other folder that sessions change may overlap this one: its lock is another. A *folder.Refusal
// with the code Unsettled, or a *folder.BusyError, says that it is to be tried again later; nothing was taken away then.
func (e *Engine) Sweep(ctx context.Context, root folder.Root) (folder.Swept, error) {
	if littered, err := root.Littered(ctx); err != nil || !littered {
		return folder.Swept{}, err
	}
	if _, err := e.settled(ctx); err != nil {
		return folder.Swept{}, err // Nobody is kept from the folder for that.
	}
	ctx, cancel := context.WithTimeout(ctx, maxSweep)
	defer cancel()
	waiting, stop := context.WithTimeout(ctx, router.LockWait)
	defer stop()
	held, err := root.Lock(waiting)
	if err != nil {
		return folder.Swept{}, err
	}
	defer held.Unlock() //nolint:errcheck // It is gone with the descriptor, whatever it says.
	unproven, err := e.settled(ctx)
	if err != nil {
		return folder.Swept{}, err
	}
	return held.Sweep(ctx, unproven)
}

// settled gives what was staged, in whatever work folder, for calls of which nobody knows what became, of the sessions of all namespaces. A *folder.Refusal
// where a change has begun that is not settled, or a session cannot be read: what is staged may be the proof of it.
func (e *Engine) settled(ctx context.Context) (unproven []folder.Staged, err error) {
	for ns, err := range e.Ledger.Namespaces(ctx) {
		if err != nil {
			return nil, err
		}
		for one, err := range e.Ledger.List(ctx, ns, store.SessionFilter{}, store.Place{}) {
			switch s := one.Session; {
			case err != nil:
				return nil, err
			case one.Broken != nil:
				return nil, folder.Refuse(folder.Unsettled, "", "session "+s.ID+" of namespace "+ns+" cannot be read: a change of it may have begun")
			}
			staged, err := e.unproven(ctx, ns, one.Session)
			if err != nil {
				return nil, fmt.Errorf("session %s of namespace %s: %w", one.Session.ID, ns, err)
			}
			unproven = append(unproven, staged...)
		}
	}
	return unproven, nil
}

// unproven is what was staged for calls of a session of which nobody knows what became. A *folder.Refusal where one has begun that is not settled.
func (e *Engine) unproven(ctx context.Context, ns string, s ledger.Session) (all []folder.Staged, err error) {
	begun := open(s)
	if len(begun)+len(s.Unproven) == 0 {
		return nil, nil
	}
	err = e.read(ctx, ns, s.ID, func(r reader) error {
		all = nil
		for _, call := range slices.Concat(begun, s.Unproven) {
			var i router.Intent
			switch err := r.json(intentOf(call), &i); {
			case errors.Is(err, store.ErrNotFound): // It is of a plan or a result.
			case err != nil:
				return err
			case i.Staged == nil || i.Staged.Name == "":
			case slices.Contains(begun, call):
				return folder.Refuse(folder.Unsettled, s.Root, "a change has begun, and nobody knows yet what became of it")
			default:
				all = append(all, *i.Staged)
			}
		}
		return nil
	})
	return all, err
}

// open are the calls of a session that have begun, and of which is not known what became, or a person is asked.
func open(s ledger.Session) (calls []string) {
	for _, c := range s.State.Calls {
		if c.Progress == session.Intent || c.Progress == session.OutcomePending {
			calls = append(calls, c.ID)
		}
	}
	if s.Direct != nil {
		calls = append(calls, s.Direct.Call)
	}
	return calls
}
