package generation

import (
	"context"
	"errors"
	"time"
)

// ErrEnd is what a View gives after its last event when the answer is whole. It is no error of any other package, so that
// none is taken for it. Test with errors.Is.
var ErrEnd = errors.New("the answer is whole and has been read")

// View is one watcher's reading of a generation. It is used by one goroutine.
type View struct {
	clock     Clock
	heartbeat time.Duration
	g         *generation
	// after is the number of the last event that the watcher has.
	after   int
	greeted bool
	// upto is the piece up to which the next Texts are joined; 0 for single pieces.
	upto   int
	closed bool
}

// newView attaches a watcher that has the events up to after.
func (s *Service) newView(g *generation, after int) *View {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.watchers++
	return &View{clock: s.clock, heartbeat: s.limits.Heartbeat, g: g, after: after}
}

// Next gives the next event and waits for it. The first one is always an Opened. After the last event it gives ErrEnd
// when the answer is whole, else why it is not, such as a *CutError; of a node that was there already after its Stored. *RangeError, instead of any event, when the watcher
// claims to have events that are not there; the context's error when that ends. No watcher slows the generation, nor
// another watcher.
func (v *View) Next(ctx context.Context) (Event, error) {
	for {
		event, news, err := v.step()
		if news == nil {
			return event, err
		}
		quiet, err := v.await(ctx, news)
		if err != nil {
			return nil, err
		}
		// Nothing comes before the Opened, so that a call that fails early fails with a plain error.
		if quiet && v.greeted {
			return Heartbeat{}, nil
		}
	}
}

// await returns at the next news, or, quiet, when there was none for the length of a heartbeat.
func (v *View) await(ctx context.Context, news <-chan struct{}) (quiet bool, err error) {
	timer := v.clock.NewTimer(v.heartbeat)
	defer timer.Stop()
	select {
	case <-news:
		return false, nil
	case <-timer.C:
		return true, nil
	case <-ctx.Done():
		return false, ctx.Err()
	}
}

// step gives the next event if it is there, else what to wait for.
func (v *View) step() (Event, <-chan struct{}, error) {
	g := v.g
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case g.opened != nil && !v.greeted:
		return v.greet()
	case v.after < len(g.ends):
		return v.said(), nil, nil
	case g.end == nil:
		return nil, g.news(), nil
	case g.end.err != nil:
		return nil, nil, g.end.err
	case v.after > len(g.ends) && g.end.cut != nil:
		return nil, nil, g.end.cut
	case v.after > len(g.ends):
		return nil, nil, ErrEnd
	}
	v.after = len(g.ends) + 1
	stored := Stored{ID: v.after, Node: *g.end.node, Cache: g.end.cache, Replayed: g.end.replayed}
	if stored.Replayed {
		stored.ID = 0
	}
	return stored, nil, nil
}

// greet opens the view. Where only the node is left its events have no numbers, and the watcher gets the node.
func (v *View) greet() (Event, <-chan struct{}, error) {
	if v.g.end != nil && v.g.end.replayed {
		v.after = 0
	}
	if last := v.g.lastEvent(v.g.end); v.after > last {
		return nil, nil, &RangeError{After: v.after, Last: last}
	}
	v.greeted = true
	return *v.g.opened, nil, nil
}

// said gives the next piece, which is a Detail where the model was told of a node.
func (v *View) said() Event {
	d, ok := v.g.details[v.after+1]
	if !ok {
		return v.text()
	}
	v.passed(d.ID)
	return d
}

// passed says that the watcher has the events up to one.
func (v *View) passed(id int) {
	if v.after = id; v.after >= v.upto {
		v.upto = 0
	}
}

// text gives the next piece. A watcher that is far behind is told so, and then gets all that is there in as few Texts as
// can hold it.
func (v *View) text() Event {
	if behind := len(v.g.ends) - v.after; v.upto == 0 && behind > maxBehind {
		v.upto = len(v.g.ends)
		return Lagged{Joined: behind}
	}
	upto := v.g.joined(v.after, max(v.upto, v.after+1))
	t := Text{ID: upto, Text: v.g.piece(v.after, upto)}
	v.passed(upto)
	return t
}

// Close detaches the watcher. The last one to leave ends a generation that shall not outlive its watchers.
func (v *View) Close() {
	g := v.g
	g.mu.Lock()
	defer g.mu.Unlock()
	if v.closed {
		return
	}
	v.closed = true
	g.watchers--
	if g.watchers == 0 && !g.lasting && g.end == nil {
		g.cutFor(&CutError{Finish: FinishDisconnected})
	}
}
