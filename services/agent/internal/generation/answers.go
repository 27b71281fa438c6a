package generation

import (
	"context"
	"errors"
	"runtime/debug"
	"sync"
)

// Answers are the answers of one request as one watcher reads them. Close them.
type Answers struct {
	// views are those that are read side by side, or, with next, the first one.
	views []*View
	// next attaches to the answer with the given number, behind the last one; nil where there is none.
	next func(ctx context.Context, n int, last Node) (*View, error)
}

// Read gives the events of all answers, each with the number of its answer, to send, one at a time, and waits for them.
// They are opened in the order of their numbers. An answer that is not whole ends with a Broken, and the others go on. The error is that of the first answer, by number,
// that is not whole; where none was opened nothing but the error is given. What send answers ends the reading; so does
// the context. A fault of ours is a *PanicError, here and not in the process.
func (a *Answers) Read(ctx context.Context, send func(n int, e Event) error) (err error) {
	defer caught(&err)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	t := &teller{send: send, cancel: cancel}
	if a.next != nil {
		return a.inTurn(ctx, t)
	}
	errs := make([]error, len(a.views))
	var readers sync.WaitGroup
	turn := make(chan struct{}) // closed when it is the next answer's turn to be opened
	close(turn)
	for n, v := range a.views {
		own, next := turn, make(chan struct{})
		turn = next
		readers.Go(func() {
			defer caught(&errs[n])
			pass := sync.OnceFunc(func() { close(next) })
			defer pass()
			tell := func(e Event) error {
				select {
				case <-own:
				case <-ctx.Done():
					return ctx.Err()
				}
				defer pass()
				return t.tell(n, e)
			}
			_, err := listen(ctx, v, tell)
			errs[n] = failing(ctx, err, tell)
		})
	}
	readers.Wait()
	if t.broken != nil {
		return t.broken
	}
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// errUntold is a fault of ours.
var errUntold = errors.New("an answer ended well without telling its node")

// inTurn reads one answer after the other.
func (a *Answers) inTurn(ctx context.Context, t *teller) error {
	for n, v := 0, a.views[0]; ; n++ {
		tell := func(e Event) error { return t.tell(n, e) }
		last, cut := listen(ctx, v, tell)
		switch {
		case last == nil && cut == nil:
			return errUntold
		case last == nil:
			return failing(ctx, cut, tell)
		}
		v.Close()
		var err error
		if v, err = a.next(ctx, n+1, *last); err != nil {
			return err
		}
		if v == nil {
			return failing(ctx, cut, tell)
		}
		a.views = append(a.views, v)
	}
}

// caught makes an error of a panic. It is deferred.
func caught(err *error) {
	if p := recover(); p != nil {
		*err = &PanicError{Value: p, Stack: debug.Stack()}
	}
}

// Close detaches the watcher from all answers. It may be called again.
func (a *Answers) Close() {
	for _, v := range a.views {
		v.Close()
	}
}

// teller gives the events of several answers to one watcher.
type teller struct {
	send   func(n int, e Event) error
	cancel context.CancelFunc

	mu sync.Mutex
	// opened: an answer has been opened. Until then failures wait: where no answer is opened, the error alone says it all.
	opened bool
	held   []heldFailure
	// broken is what send answered when it failed.
	broken error
}

type heldFailure struct {
	n int
	e Broken
}

// listen reads one answer to its end, and gives its node where it was told, and why it is not whole where it is not. A
// fault of ours is kept to this one call.
func listen(ctx context.Context, v *View, tell func(Event) error) (last *Node, err error) {
	defer caught(&err)
	for {
		e, err := v.Next(ctx)
		switch {
		case errors.Is(err, ErrEnd):
			return last, nil
		case err != nil:
			return last, err
		}
		if s, ok := e.(Stored); ok {
			last = &s.Node
		}
		if err := tell(e); err != nil {
			return nil, err
		}
	}
}

// failing tells why an answer is not whole, unless nobody listens, and gives that error. nil: it is.
func failing(ctx context.Context, err error, tell func(Event) error) error {
	if err != nil && ctx.Err() == nil {
		_ = tell(Broken{Err: err}) // the error stands for it where it cannot be told
	}
	return err
}

// tell gives one event to the watcher.
func (t *teller) tell(n int, e Event) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if f, ok := e.(Broken); ok && !t.opened {
		t.held = append(t.held, heldFailure{n, f})
		return nil
	}
	if err := t.give(n, e); err != nil {
		return err
	}
	t.opened = true // the first event of every answer is its Opened
	for _, h := range t.held {
		if err := t.give(h.n, h.e); err != nil {
			return err
		}
	}
	t.held = nil
	return nil
}

// give is send, whose first error ends the reading. The caller holds mu.
func (t *teller) give(n int, e Event) error {
	if t.broken == nil {
		if t.broken = t.send(n, e); t.broken != nil {
			t.cancel()
		}
	}
	return t.broken
}
