package summary

import (
	"context"
	"sync"
	"time"

	"github.com/google/uuid"
)

const (
	// firstPause and lastPause are how long the background waits where it could not go on: twice as long each time.
	firstPause = time.Second
	lastPause  = time.Minute
	// maxPending is how many changed nodes are known; beyond, all nodes are looked at.
	maxPending = 10_000
)

// Follow makes summaries of the nodes of a namespace as they are marked, until the context ends or the service drains. While
// the store or the model server is away it waits.
func (s *Service) Follow(ctx context.Context, ns string, req Request) {
	pause := firstPause
	for {
		err := guard(func() error { return s.follow(ctx, ns, req, func() { pause = firstPause }) })
		if ctx.Err() != nil || s.stopping() {
			return
		}
		s.Observer.Interrupted(ctx, ns, err)
		timer := s.Clock.NewTimer(pause)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return
		}
		pause = min(2*pause, lastPause)
	}
}

func (s *Service) stopping() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.draining
}

// follow works on what changes until something is away. It calls well whenever there is nothing left to do.
func (s *Service) follow(ctx context.Context, ns string, req Request, well func()) error {
	ctx, leave, err := s.enter(ctx)
	if err != nil {
		return err
	}
	defer leave()
	p := newPending()
	var reading sync.WaitGroup
	defer reading.Wait()
	defer leave() // ends the reading before it is waited for
	reading.Go(func() { p.fail(guard(func() error { return s.read(ctx, ns, p) })) })
	req.Background = true
	for {
		all, ids, err := p.take(ctx)
		if err != nil {
			return err
		}
		if req.Nodes = ids; all {
			req.Nodes = nil
		}
		if err := s.Build(ctx, ns, req, func(Event) error { return nil }); err != nil {
			return err
		}
		well()
	}
}

// read notes what changes.
func (s *Service) read(ctx context.Context, ns string, p *pending) error {
	for id, err := range s.Store.Changes(ctx, ns) {
		if err != nil {
			return err
		}
		p.add(id)
	}
	return ctx.Err()
}

// pending are nodes that changed and were not looked at since.
type pending struct {
	mu   sync.Mutex
	all  bool
	ids  map[uuid.UUID]bool
	list []uuid.UUID
	err  error
	over bool
	news chan struct{}
}

func newPending() *pending {
	return &pending{ids: map[uuid.UUID]bool{}, news: make(chan struct{}, 1)}
}

// add notes a node; the zero UUID for all.
func (p *pending) add(id uuid.UUID) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case id == uuid.Nil, len(p.list) >= maxPending:
		p.all = true
		p.list = nil
		clear(p.ids)
	case !p.all && !p.ids[id]:
		p.ids[id] = true
		p.list = append(p.list, id)
	}
	p.wake()
}

// fail notes that nothing comes any more, and why.
func (p *pending) fail(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.over, p.err = true, err
	p.wake()
}

func (p *pending) wake() {
	select {
	case p.news <- struct{}{}:
	default:
	}
}

// take waits for nodes and gives those that there are, in the order in which they changed first.
func (p *pending) take(ctx context.Context) (all bool, ids []uuid.UUID, err error) {
	for {
		p.mu.Lock()
		all, ids = p.all, p.list
		over, why := p.over, p.err
		p.all, p.list = false, nil
		clear(p.ids)
		p.mu.Unlock()
		switch {
		case over:
			return false, nil, why
		case all || len(ids) > 0:
			return all, ids, nil
		}
		select {
		case <-p.news:
		case <-ctx.Done():
			return false, nil, ctx.Err()
		}
	}
}
