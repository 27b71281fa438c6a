package runner

import (
	"context"
	"errors"
	"runtime/debug"
	"time"

	"github.com/tsumugi-dev/tsumugi/services/agent/internal/ledger"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/session"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/stack"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/store"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/turn"
)

// leaving is how long it may take to give back a session when the process stops.
const leaving = 5 * time.Second

// unwatched is how long a drive goes on before it is watched: a goroutine for each message that a quick model answers is a fifth of its turn. Whoever
// stops the work earlier is heard then.
const unwatched = 10 * time.Millisecond

// Why the context of a drive ended.
var (
	errStopped = errors.New("the work of the session was stopped")
	errLost    = errors.New("another process took the session over")
)

// drive is one session that is carried on.
type drive struct {
	*Runner
	ctx    context.Context //nolint:containedctx // that of Run
	key    store.Key
	hold   *ledger.Hold
	engine *turn.Engine
	// changed says that the session is to be looked at.
	changed chan struct{}
	// caller is whose call is carried on; nil: nobody's.
	caller context.Context //nolint:containedctx // that of Send or Wake
	// again is who changed it last while it was driven; nil: nobody did. Under the runner's lock.
	again context.Context //nolint:containedctx // that of Wake
}

// message is one that its sender waits for.
type message struct {
	turn.Message
	told chan answer
}

type answer struct {
	receipt turn.Receipt
	err     error
}

// tell answers the sender, once. Whoever gets the answer may write to the session anew, which is driven by another one then.
func (d *drive) tell(m *message) turn.Accepted {
	return func(r turn.Receipt, err error) {
		if err == nil && d.engine.Rests(r.Session) {
			d.free(d)
		}
		select {
		case m.told <- answer{r, err}:
		default:
		}
	}
}

// carry carries a session on, from a message if there is one.
func (r *Runner) carry(d *drive, m *message) {
	defer r.drives.Done()
	defer r.free(d)
	stack.Reserve()
	err := d.once(m)
	for errors.Is(err, errStopped) {
		d.hand()
		err = d.once(nil)
	}
	var held *store.HeldError
	switch {
	case errors.As(err, &held):
	case errors.Is(err, errLost), errors.Is(err, store.ErrFenced):
		r.Observer.Lost(d.key.Namespace, d.key.Session)
	case err == nil, d.ctx.Err() != nil, errors.Is(err, store.ErrNotFound):
		d.release()
	default:
		r.Observer.Failed(d.key.Namespace, d.key.Session, err)
		d.remember(err)
		d.shelve()
	}
}

// remember takes down that a drive ended in a panic.
func (d *drive) remember(err error) {
	var p *PanicError
	if !errors.As(err, &p) {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.crashed[d.key] = true
}

// hand has the work go on as a part of the call that stopped it.
func (d *drive) hand() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.again != nil {
		d.caller = d.again
	}
}

// once drives until the session rests, fails or is stopped.
func (d *drive) once(m *message) error {
	ctx, cancel := context.WithCancelCause(d.ctx)
	watched := make(chan struct{})
	watch := time.AfterFunc(unwatched, func() {
		defer close(watched)
		d.watch(ctx, cancel)
	})
	err := d.guarded(ctx, m)
	if err != nil && ctx.Err() != nil && d.ctx.Err() == nil {
		err = context.Cause(ctx)
	}
	cancel(nil)
	if !watch.Stop() {
		<-watched
	}
	return err
}

// guarded keeps a panic from everybody else.
func (d *drive) guarded(ctx context.Context, m *message) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = &PanicError{p, debug.Stack()}
		}
		if m != nil {
			d.tell(m)(turn.Receipt{}, err) // if it was not told before
		}
	}()
	if d.Follow != nil && d.caller != nil {
		ctx = d.Follow(ctx, d.caller)
	}
	if m == nil {
		_, err = d.engine.Drive(ctx, d.key.Namespace, d.key.Session)
		return err
	}
	_, err = d.engine.Converse(ctx, d.caller, d.key.Namespace, d.key.Session, m.Message, d.tell(m))
	return err
}

// watch renews the lease, and ends the drive where it is lost or the work is stopped.
func (d *drive) watch(ctx context.Context, cancel context.CancelCauseFunc) {
	renew := time.NewTicker(d.Limits.Lease / 2)
	defer renew.Stop()
	look := time.NewTicker(d.Limits.Sweep)
	defer look.Stop()
	var since time.Time
	for {
		select {
		case <-ctx.Done():
			return
		case <-renew.C:
			if err := d.engine.Ledger.Renew(ctx, d.key.Namespace, d.key.Session); errors.Is(err, store.ErrFenced) {
				cancel(errLost)
				return
			}
			continue
		case <-look.C:
		case <-d.changed:
		}
		if d.hold.Epoch() > 0 && d.stopped(ctx, &since) {
			cancel(errStopped)
			return
		}
	}
}

// stopped says that a person stopped the work: at once where nothing has begun or no grace is given, else when that is over. since is when that was seen.
func (d *drive) stopped(ctx context.Context, since *time.Time) bool {
	s, err := d.Engine.Ledger.Get(ctx, d.key.Namespace, d.key.Session)
	if err != nil {
		return false
	}
	if s.State.Lifecycle != session.Canceling && s.State.Turn.Running != session.Stopping {
		return false
	}
	now := d.Clock.Now()
	if since.IsZero() {
		*since = now
	}
	begun := d.Engine.Machine.Next(s.State, now).Duty == session.Reconcile
	return !begun || s.State.Hard || now.Sub(*since) >= d.Limits.Grace
}

// release gives the session back, if it is held still.
func (d *drive) release() {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(d.ctx), leaving)
	defer cancel()
	if err := d.engine.Ledger.Release(ctx, d.key.Namespace, d.key.Session); err != nil {
		d.Observer.Failed(d.key.Namespace, d.key.Session, err)
	}
}

// shelve keeps a session that failed from being tried again at once. Where that cannot be written the room of the drive stays taken for
// a while.
func (d *drive) shelve() {
	err := d.engine.Ledger.Shelve(d.ctx, d.key.Namespace, d.key.Session)
	var held *store.HeldError
	if err == nil || errors.As(err, &held) {
		return
	}
	timer := time.NewTimer(d.Limits.Sweep)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-d.ctx.Done():
	}
}
