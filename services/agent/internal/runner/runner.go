// Package runner has sessions carried on: it finds those in which something is to be done, and drives each until it rests or waits.
//
// What is to be done stands in the store and nowhere else (store.Due): it is looked through at least each second, so that whatever another
// process wrote, a clock brought about or a crash left is found (field/review-agent.md C68). One goroutine drives one session, under a
// lease that is renewed while the work is long and lost without harm: each write is fenced by it. A session that rests or waits has
// neither goroutine nor lease.
package runner

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/tsumugi-dev/tsumugi/services/agent/internal/ledger"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/session"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/store"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/turn"
)

// Work is the list of sessions in which something is to be done (store.Store).
type Work interface {
	Due(ctx context.Context, owner string, now time.Time, limit int) ([]store.Key, time.Time, error)
}

// Clock tells the time.
type Clock interface{ Now() time.Time }

// Observer hears what goes wrong, for logs and metrics. It does not block.
type Observer interface {
	// Failed: a session could not be carried on. It is tried again when a lease would be over. A *PanicError says where.
	Failed(namespace, session string, err error)
	// Lost: another process took the session over while this one worked on it.
	Lost(namespace, session string)
	// Unread: the list of what is to be done could not be read. It is tried again.
	Unread(err error)
}

// PanicError is a panic of what carried a session on.
type PanicError struct {
	Value any
	Stack []byte
}

func (e *PanicError) Error() string { return fmt.Sprintf("panic: %v", e.Value) }

// Limits bound a runner.
type Limits struct {
	// Sessions are driven at once, at most MaxSessions.
	Sessions int
	// Lease is how long a session belongs to a process that says nothing: after a crash it is taken over then. It is renewed each half.
	Lease time.Duration
	// Sweep is the longest time between two looks at what is to be done, and at whether a session that is driven was stopped.
	Sweep time.Duration
	// Grace is how long a call that has begun may go on after the work was stopped. It is looked at each Sweep, so that with the defaults what
	// runs is ended within 2 s (cases/agent.md c17).
	Grace time.Duration
}

// MaxSessions bounds Limits.Sessions: a page of the store holds twice as many.
const MaxSessions = store.MaxPage / 2

// DefaultLimits are those of the notes.
func DefaultLimits() Limits {
	return Limits{Sessions: 64, Lease: 10 * time.Second, Sweep: time.Second, Grace: time.Second}
}

// Check says in sentences what is wrong with limits, under the names of their fields.
func (l Limits) Check() []session.Violation {
	var wrong []session.Violation
	add := func(ok bool, field, text string) {
		if !ok {
			wrong = append(wrong, session.Violation{Field: field, Description: text})
		}
	}
	add(l.Sessions >= 1 && l.Sessions <= MaxSessions, "sessions", fmt.Sprintf("must be 1 to %d, and is %d", MaxSessions, l.Sessions))
	add(l.Lease >= 100*time.Millisecond && l.Lease <= store.MaxLease, "lease", fmt.Sprintf("must be 100ms to 1h, and is %s", l.Lease))
	add(l.Sweep >= time.Millisecond && l.Sweep <= time.Second, "sweep", fmt.Sprintf("must be 1ms to 1s, and is %s", l.Sweep))
	add(l.Grace >= 0 && l.Grace <= time.Hour, "grace", fmt.Sprintf("must be 0s to 1h, and is %s", l.Grace))
	return wrong
}

// Deps are what a runner is given.
type Deps struct {
	Engine *turn.Engine
	Work   Work
	Clock  Clock
	// Owner names this process in leases. It must be new with each start: whoever has the old name is gone.
	Owner    string
	Observer Observer
	Limits   Limits
	// Follow gives a context in which what a message begins, or a decision, a result or a cancel has go on, is told as a part of its sender's call, such as
	// in traces. It takes neither its end nor its rights: the work goes on without it. nil: it is told by itself. So is what a clock brings about, what
	// another process goes on with, and what had to wait for room: whose call it was is not stored.
	Follow func(ctx, caller context.Context) context.Context
}

// Runner drives sessions. Safe for concurrent use.
type Runner struct {
	Deps
	// woken says that the list is to be looked at.
	woken  chan struct{}
	drives sync.WaitGroup

	mu sync.Mutex
	// ctx is that of Run; nil: nothing is driven.
	ctx context.Context //nolint:containedctx // Send begins drives that outlive their caller.
	// driven are the sessions that have a goroutine.
	driven map[store.Key]*drive
	// crashed are the sessions whose last drive ended in a panic: the next one counts that (C54).
	crashed map[store.Key]bool
	// more says that sessions waited for room when the list was read last.
	more bool
}

// New makes a runner. Limits.Check has passed.
func New(d Deps) *Runner {
	return &Runner{Deps: d, woken: make(chan struct{}, 1), driven: map[store.Key]*drive{}, crashed: map[store.Key]bool{}}
}

// Run drives sessions until ctx ends, and returns when nothing is driven any more. It is called once. What is under way is left as it is
// stored, and given back: the next one goes on with it.
func (r *Runner) Run(ctx context.Context) error {
	r.mu.Lock()
	r.ctx = ctx
	r.mu.Unlock()
	for ctx.Err() == nil {
		timer := time.NewTimer(r.sweep(ctx))
		select {
		case <-ctx.Done():
		case <-r.woken:
		case <-timer.C:
		}
		timer.Stop()
	}
	r.mu.Lock()
	r.ctx = nil
	r.mu.Unlock()
	r.drives.Wait()
	return nil
}

// sweep begins to drive the sessions that wait longest, as many as there is room for, and says how long there is nothing to look for.
func (r *Runner) sweep(ctx context.Context) time.Duration {
	r.mu.Lock()
	driven := len(r.driven)
	r.mu.Unlock()
	room := r.Limits.Sessions - driven
	// Those that are driven and have not claimed yet are in the list, too.
	now := r.Clock.Now()
	keys, next, err := r.Work.Due(ctx, "", now, max(room, 0)+driven)
	if err != nil {
		if ctx.Err() == nil {
			r.Observer.Unread(err)
		}
		return r.Limits.Sweep
	}
	more := false
	for _, k := range keys {
		d, full := r.take(k)
		if more = full; full {
			break
		}
		if d != nil {
			go r.carry(d, nil)
		}
	}
	r.mu.Lock()
	r.more = more || len(keys) == max(room, 0)+driven
	r.mu.Unlock()
	if next.IsZero() {
		return r.Limits.Sweep
	}
	return min(max(next.Sub(now), 0), r.Limits.Sweep)
}

// take makes the drive of a session; nil: it has one, or nothing is driven now. full: there is no room for it.
func (r *Runner) take(k store.Key) (d *drive, full bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.ctx == nil || r.driven[k] != nil:
		return nil, false
	case len(r.driven) >= r.Limits.Sessions:
		return nil, true
	}
	d = &drive{Runner: r, key: k, ctx: r.ctx, hold: ledger.NewHold(r.Owner, r.Limits.Lease), changed: make(chan struct{}, 1)}
	if r.crashed[k] {
		d.hold = d.hold.AfterCrash()
		delete(r.crashed, k)
	}
	d.engine = r.Engine.Under(d.hold)
	r.driven[k] = d
	r.drives.Add(1)
	return d, false
}

// free makes room, and lets the session be driven anew: d does nothing in it any more.
func (r *Runner) free(d *drive) {
	r.mu.Lock()
	was := r.driven[d.key] == d
	if was {
		delete(r.driven, d.key)
	}
	again, more := d.again, r.more
	r.mu.Unlock()
	switch {
	case !was:
	case more: // Those that wait longest come first.
		r.wake()
	case again != nil:
		r.Wake(again, d.key.Namespace, d.key.Session)
	}
}

func (r *Runner) wake() {
	select {
	case r.woken <- struct{}{}:
	default:
	}
}

// Wake says that a session changed by a caller's request, such as a decision or a cancel: it is driven at once, if there is room. It may be
// forgotten without harm: the list is looked through each second.
func (r *Runner) Wake(caller context.Context, namespace, session string) {
	k := store.Key{Namespace: namespace, Session: session}
	if d, _ := r.take(k); d != nil {
		d.caller = caller
		go r.carry(d, nil)
		return
	}
	r.mu.Lock()
	d := r.driven[k]
	if d != nil {
		d.again = caller
	}
	r.mu.Unlock()
	if d == nil {
		r.wake()
		return
	}
	select {
	case d.changed <- struct{}{}:
	default:
	}
}

// Send takes a message: it is stored when Send returns, and the session is carried on (turn.Engine.Converse). The errors are those of
// turn.Engine.Send; after any other one nobody knows whether it is stored, and whoever sends the same message again finds out.
func (r *Runner) Send(ctx context.Context, namespace, id string, m turn.Message) (turn.Receipt, error) {
	if m.Mode == session.Queue {
		if d, _ := r.take(store.Key{Namespace: namespace, Session: id}); d != nil {
			d.caller = ctx
			said := &message{Message: m, told: make(chan answer, 1)}
			go r.carry(d, said)
			select {
			case a := <-said.told:
				return a.receipt, a.err
			case <-ctx.Done():
				return turn.Receipt{}, ctx.Err()
			}
		}
	}
	out, err := r.Engine.Send(ctx, namespace, id, m)
	if err == nil {
		r.Wake(ctx, namespace, id)
	}
	return out, err
}
