package clienttool

import (
	"context"
	"errors"
	"time"

	"github.com/tsumugi-dev/tsumugi/services/agent/internal/ledger"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/router"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/tool"
)

// Clock tells the time.
type Clock interface{ Now() time.Time }

// Desk is where clients see what they have to do and hand in results, and where those who drive sessions look for them. It keeps nothing of
// its own. Safe for concurrent use.
type Desk struct {
	ledger *ledger.Ledger
	clock  Clock
}

// New makes a desk.
func New(l *ledger.Ledger, c Clock) *Desk { return &Desk{ledger: l, clock: c} }

// Effects gives what carries out the client tools of a session (router.Router.Effects): nil for tools of others.
func (d *Desk) Effects(ns, session string) func(tool.Definition) router.Effect {
	return func(t tool.Definition) router.Effect {
		if t.Origin.Kind != tool.Client {
			return nil
		}
		return effect{d, ns, session}
	}
}

// errAtWork is a call of which the client has said nothing yet, and whose time is not over.
var errAtWork = errors.New("the client has given no result yet")

// effect is the tools of one session's client.
type effect struct {
	desk        *Desk
	ns, session string
}

var _ router.Resumes = effect{}

// InFolder implements router.Effect: a client works where it is.
func (effect) InFolder() bool { return false }

// Ready implements router.Effect: whether a client is there shows when its time is over.
func (effect) Ready(context.Context) error { return nil }

// Start implements router.Effect. INTENT is what tells the client, and whoever wrote it need not wait: the session may be somebody else's by now.
func (effect) Start(context.Context, router.Intent, []byte) (router.Output, error) {
	return router.Output{}, &router.GoesOnError{Err: errAtWork}
}

// Resume implements router.Resumes. The error is a *RefusedError where the call is over without a result, by what is stored and the clock of the
// server (field/review-agent.md S16), and a *router.GoesOnError where it is not, or nobody can look now.
func (e effect) Resume(ctx context.Context, i router.Intent) (router.Output, error) {
	c, err := e.desk.look(ctx, e.ns, e.session, i.Call)
	switch {
	case err != nil:
		return router.Output{}, &router.GoesOnError{Err: err}
	case c.result != nil: // also one that is looked at after the time, or in a session that is being stopped: it was taken.
		return router.Output{Text: []byte(c.result.Text), Failed: c.result.Failed}, nil
	case c.refused != nil:
		return router.Output{}, c.refused
	}
	return router.Output{}, &router.GoesOnError{Err: errAtWork}
}
