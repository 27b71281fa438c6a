package ledger

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/tsumugi-dev/tsumugi/services/agent/internal/session"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/store"
)

// Hold is the ownership of one session while it is carried on: its lease (field/review-agent.md C55). The first change under it claims the
// session, each one is fenced by the epoch, and the one after which nothing is to be done gives it back: no transaction is for the lease
// alone but where the work is long (C71). Safe for concurrent use.
type Hold struct {
	owner string
	life  time.Duration
	// crashed says that whatever had the session last in this process ended as a process does that is killed.
	crashed bool

	// writing lines up what writes to the lease: none of it is judged by an epoch that another one has changed.
	writing sync.Mutex
	mu      sync.Mutex
	epoch   int64
}

// NewHold makes one that has claimed nothing yet. owner is the name of a process' one life; life is how long the lease is good without
// being renewed.
func NewHold(owner string, life time.Duration) *Hold { return &Hold{owner: owner, life: life} }

// AfterCrash is a hold behind a panic of the same owner: what that had begun is picked up, as from a process that is gone.
func (h *Hold) AfterCrash() *Hold { return &Hold{owner: h.owner, life: h.life, crashed: true} }

// Epoch is that of the lease; 0: nothing is claimed.
func (h *Hold) Epoch() int64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.epoch
}

func (h *Hold) set(epoch int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.epoch = epoch
}

// Under is the ledger with changes of the holder alone: *store.HeldError where another one has the session, store.ErrFenced where it was
// taken over. Nothing is written then.
func (l *Ledger) Under(h *Hold) *Ledger {
	under := *l
	under.hold = h
	return &under
}

// Claimed says that changes need no claim first: the session is held, or nobody holds sessions here.
func (l *Ledger) Claimed() bool { return l.hold == nil || l.hold.Epoch() > 0 }

// enter is the beginning of a change under a hold: it is fenced, or may claim. A turn that whoever had the lease before did not leave in
// order is picked up in the transaction that claims it (C54). What the owner itself has shelved it only tries again: that nothing could be
// written, or had, is no crash.
func (w *Work) enter() (err error) {
	h := w.ledger.hold
	if h == nil {
		return nil
	}
	if epoch := h.Epoch(); epoch > 0 {
		return w.Fence(w.Session.ID, epoch)
	}
	if w.lease, err = w.Lease(w.Session.ID); err != nil || w.lease.Owner == "" {
		return err
	}
	own := w.lease.Owner == h.owner
	if !own && !w.lease.Over(w.ledger.clock.Now()) {
		return &store.HeldError{Owner: w.lease.Owner, Until: w.lease.Until}
	}
	if s := w.Session.State; (!own || h.crashed) && s.Lifecycle == session.Open && s.Turn.Running == session.Working {
		w.worked = 0
		return w.event(session.PickedUp{})
	}
	return nil
}

// leave is the end of a change under a hold: a session that rests or waits is nobody's (C68). It gives the epoch that is held then.
func (w *Work) leave() (epoch int64, err error) {
	h := w.ledger.hold
	if h == nil {
		return 0, nil
	}
	rests := w.ledger.wake(*w.Session, w.Now) != w.Now
	epoch = h.Epoch()
	if epoch == 0 {
		if rests && w.lease.Owner == "" {
			return 0, nil // claimed and given back at once
		}
		lease, err := w.claim(h)
		if err != nil {
			return 0, err
		}
		epoch = lease.Epoch
	}
	if !rests {
		return epoch, nil
	}
	return 0, w.Release(w.Session.ID, epoch)
}

func (w *Work) claim(h *Hold) (store.Lease, error) {
	now := w.ledger.clock.Now()
	return w.Claim(w.Session.ID, h.owner, now, now.Add(h.life))
}

// Renew gives the lease its whole time again, for work that takes long. store.ErrFenced where somebody took the session over.
func (l *Ledger) Renew(ctx context.Context, ns, id string) error {
	l.hold.writing.Lock()
	defer l.hold.writing.Unlock()
	epoch := l.hold.Epoch()
	if epoch == 0 {
		return nil
	}
	return l.store.Update(ctx, ns, func(tx store.Tx) error {
		if err := tx.Fence(id, epoch); err != nil {
			return err
		}
		return l.keep(tx, id)
	})
}

// Shelve keeps everybody from a session that could not be carried on, for the life of a lease: whoever takes it then picks it up, but for the
// owner itself.
func (l *Ledger) Shelve(ctx context.Context, ns, id string) error {
	l.hold.writing.Lock()
	defer l.hold.writing.Unlock()
	return l.store.Update(ctx, ns, func(tx store.Tx) error { return l.keep(tx, id) })
}

func (l *Ledger) keep(tx store.Tx, id string) error {
	now := l.clock.Now()
	_, err := tx.Claim(id, l.hold.owner, now, now.Add(l.hold.life))
	return err
}

// Release gives back a session that is not to be carried on here any more; one that was taken over is somebody else's.
func (l *Ledger) Release(ctx context.Context, ns, id string) error {
	l.hold.writing.Lock()
	defer l.hold.writing.Unlock()
	epoch := l.hold.Epoch()
	if epoch == 0 {
		return nil
	}
	err := l.store.Update(ctx, ns, func(tx store.Tx) error { return tx.Release(id, epoch) })
	if err == nil || errors.Is(err, store.ErrFenced) {
		l.hold.set(0)
		return nil
	}
	return err
}
