package summary

import (
	"context"
	"errors"
	"runtime/debug"
	"sync"
	"time"

	"github.com/google/uuid"
)

// Limits bound the work. All are positive.
type Limits struct {
	// Parallel is how many nodes are worked on at once, by all calls and the background together.
	Parallel int
	// Ask is how long one reply may take, Store how long storing it may take, also when nobody waits for it any more.
	Ask, Store time.Duration
	// Heartbeat is how long a caller hears nothing before it is told that the work goes on.
	Heartbeat time.Duration
}

// Deps are what a Service is made of. None may be nil.
type Deps struct {
	Store    Store
	Prompts  Prompts
	Models   Models
	Clock    Clock
	Observer Observer
	Numbers  Numbers
	Limits   Limits
}

// Service makes summaries. Safe for concurrent use; Close it.
type Service struct {
	Deps
	// slots has room for as many nodes as are worked on at once.
	slots chan struct{}
	work  sync.WaitGroup

	mu       sync.Mutex
	draining bool
	calls    map[*call]bool
	// busy are the nodes that are worked on, each with what is closed at the end, and failed those that failed, with the source of
	// the texts that they had.
	busy   map[key]chan struct{}
	failed map[key]string
}

// key names a node: an id says nothing without its namespace.
type key struct {
	ns string
	id uuid.UUID
}

// call is a Build that runs.
type call struct{ cancel context.CancelCauseFunc }

// New makes a Service.
func New(d Deps) *Service {
	return &Service{
		Deps: d, slots: make(chan struct{}, d.Limits.Parallel),
		calls: map[*call]bool{}, busy: map[key]chan struct{}{}, failed: map[key]string{},
	}
}

// Request says which nodes, and how.
type Request struct {
	// Flow is zero, and Nodes empty, for all nodes of the namespace that are marked. Not both.
	Flow  uuid.UUID
	Nodes []uuid.UUID
	// Backend and Locale may be empty for the default.
	Backend, Locale string
	// Parallel is at most Limits.Parallel; 0 for that.
	Parallel int
	// Background: nobody asks, so that nodes that failed are left alone until their texts change.
	Background bool
}

// Refusals are all reasons for which Build would refuse a request before it asks a model server.
func (s *Service) Refusals(ctx context.Context, ns string, req Request) (all []error) {
	if _, err := s.Models.Generator(req.Backend); err != nil {
		all = append(all, err)
	}
	if _, err := s.render(ctx, ns, req.Locale, [2]string{}, ""); err != nil {
		all = append(all, err)
	}
	return all
}

// Build makes the summaries of nodes, and sends what happens, one event at a time. It ends when all are seen, when send
// fails, when the context ends, or with an error for which no node could go on; what was sent as Done is stored in any case.
// *DrainingError; *BackendChangedError.
func (s *Service) Build(ctx context.Context, ns string, req Request, send func(Event) error) error {
	ctx, leave, err := s.enter(ctx)
	if err != nil {
		return err
	}
	defer leave()
	events, ended := make(chan Event), make(chan error, 1)
	tell := func(e Event) {
		select {
		case events <- e:
		case <-ctx.Done():
		}
	}
	go func() {
		defer close(events)
		ended <- guard(func() error { return s.run(ctx, ns, req, tell) })
	}()
	if err := s.pass(events, send); err != nil {
		leave()
		for range events { // until the work has ended
		}
		return err
	}
	return why(ctx, <-ended)
}

// why prefers the cause for which the context ended.
func why(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); err != nil && cause != nil {
		return cause
	}
	return err
}

// pass sends events until there are no more.
func (s *Service) pass(events <-chan Event, send func(Event) error) error {
	for {
		timer := s.Clock.NewTimer(s.Limits.Heartbeat)
		select {
		case e, more := <-events:
			timer.Stop()
			if !more {
				return nil
			}
			if err := send(e); err != nil {
				return err
			}
		case <-timer.C:
			if err := send(Heartbeat{}); err != nil {
				return err
			}
		}
	}
}

// enter takes on a call. leave ends its context, and may be called twice.
func (s *Service) enter(ctx context.Context) (_ context.Context, leave func(), err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.draining {
		return nil, nil, &DrainingError{}
	}
	ctx, cancel := context.WithCancelCause(ctx)
	c := &call{cancel}
	s.calls[c] = true
	s.work.Add(1)
	return ctx, sync.OnceFunc(func() {
		cancel(nil)
		s.mu.Lock()
		delete(s.calls, c)
		s.mu.Unlock()
		s.work.Done()
	}), nil
}

// Drain ends all work, since the process is stopping. A reply that is there is stored. It does not wait, and may be called
// again.
func (s *Service) Drain() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.draining = true
	for c := range s.calls {
		c.cancel(&DrainingError{})
	}
}

// Close drains and waits until all work has ended. The context's error where that ends first.
func (s *Service) Close(ctx context.Context) error {
	s.Drain()
	done := make(chan struct{})
	go func() {
		s.work.Wait()
		close(done)
	}()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// guard makes an error of a panic.
func guard(work func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = &PanicError{Value: p, Stack: debug.Stack()}
		}
	}()
	return work()
}

// nodeError gives the *NodeError that an error is; nil for any other.
func nodeError(err error) *NodeError {
	var e *NodeError
	if errors.As(err, &e) {
		return e
	}
	return nil
}
