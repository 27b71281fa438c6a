package clienttool

import (
	"context"
	"sync"
	"time"

	"github.com/tsumugi-dev/tsumugi/services/agent/internal/ledger"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/router"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/tool"
)

const (
	// Poll is how often somebody who waits looks for what another process has taken; what this one takes is told at once.
	Poll = 2 * time.Second
	// lastLook bounds the look of who has to go. It is within the router's grace.
	lastLook = time.Second
)

// Clock tells the time.
type Clock interface{ Now() time.Time }

// Desk is where those who drive sessions wait for results, and clients hand them in. Safe for concurrent use.
//
// Whoever waits is a goroutine, that of the session's turn: there are as many as sessions are driven at once, which is bounded there. It
// holds no slot of a model server, no lock and no transaction.
type Desk struct {
	ledger *ledger.Ledger
	clock  Clock
	poll   time.Duration

	mu      sync.Mutex
	waiting map[place]chan struct{}
}

// place is a call.
type place struct{ ns, session, call string }

// New makes a desk. poll takes the place of Poll; 0 leaves that.
func New(l *ledger.Ledger, c Clock, poll time.Duration) *Desk {
	if poll <= 0 {
		poll = Poll
	}
	return &Desk{ledger: l, clock: c, poll: poll, waiting: map[place]chan struct{}{}}
}

// Effects gives what carries out the client tools of a session (router.Router.Effects): nil for tools of others.
func (d *Desk) Effects(ns, session string) func(tool.Definition) router.Effect {
	return func(t tool.Definition) router.Effect {
		if t.Origin.Kind != tool.Client {
			return nil
		}
		return effect{d, ns, session}
	}
}

// Wake has whoever waits for a call of a session look at once whether it still is to wait, as after a cancel.
func (d *Desk) Wake(ns, session string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for p, woken := range d.waiting {
		if p.ns == ns && p.session == session {
			ring(woken)
		}
	}
}

func ring(woken chan struct{}) {
	select {
	case woken <- struct{}{}:
	default: // It is about to look anyway.
	}
}

// watch gives what is rung when there is something to see, until stop. One goroutine drives a session, so one waits for a call; if another
// one does all the same, the first is left to its poll.
func (d *Desk) watch(p place) (woken chan struct{}, stop func()) {
	woken = make(chan struct{}, 1)
	d.mu.Lock()
	defer d.mu.Unlock()
	d.waiting[p] = woken
	return woken, func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		if d.waiting[p] == woken {
			delete(d.waiting, p)
		}
	}
}

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

// Start implements router.Effect. INTENT is what tells the client, so that nothing is left but to wait.
func (e effect) Start(ctx context.Context, i router.Intent, _ []byte) (router.Output, error) {
	return e.desk.wait(ctx, place{e.ns, e.session, i.Call})
}

// Resume implements router.Resumes.
func (e effect) Resume(ctx context.Context, i router.Intent) (router.Output, error) {
	return e.desk.wait(ctx, place{e.ns, e.session, i.Call})
}

// wait waits until a call has its result, or is over without one: a *RefusedError. Timers and contexts only wake it: what is stored and the
// clock of the server decide (field/review-agent.md S16). Where it has to go before, or cannot look, it gives a *router.GoesOnError.
func (d *Desk) wait(ctx context.Context, p place) (router.Output, error) {
	woken, stop := d.watch(p)
	defer stop()
	for ctx.Err() == nil {
		c, err := d.look(ctx, p)
		switch {
		case err != nil && ctx.Err() != nil:
			continue
		case err != nil || c.result != nil || c.refused != nil:
			return c.output(err)
		}
		timer := time.NewTimer(min(d.poll, c.until.Sub(d.clock.Now())))
		select {
		case <-ctx.Done():
		case <-woken:
		case <-timer.C:
		}
		timer.Stop()
	}
	looking, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastLook)
	defer cancel()
	c, err := d.look(looking, p)
	if err == nil && c.result == nil && c.refused == nil {
		err = context.Cause(ctx)
	}
	return c.output(err)
}
