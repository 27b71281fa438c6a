package generation

import (
	"context"
	"errors"
)

// repeat gives answers that are made one behind the other. Whoever reads them goes on: at the end of one he attaches to
// the next, which begins then, unless another reader was faster. Where they shall outlive their readers, the service
// reads too.
func (s *Service) repeat(ctx context.Context, ns string, req Request, digest string) (*Answers, error) {
	first := order{Request: req, answers: req.Repeat, digest: digest, drafter: s.drafter(ns, req, draw{})}
	attach := func() (*Answers, error) {
		views, err := s.attachAll(ctx, ns, []order{first})
		if err != nil {
			return nil, err
		}
		return &Answers{views: views, next: func(ctx context.Context, n int, last Node) (*View, error) {
			return s.next(ctx, ns, first, n, last)
		}}, nil
	}
	reader, err := attach()
	if err != nil || !req.Continue {
		return reader, err
	}
	own, err := attach()
	if err != nil {
		reader.Close()
		return nil, err
	}
	s.work.Add(1)
	go func() {
		defer s.work.Done()
		defer own.Close()
		s.readOn(context.WithoutCancel(ctx), own)
	}()
	return reader, nil
}

// readOn reads answers for nobody. What is not read here is read by others, or in the store, but a fault of ours is told.
func (s *Service) readOn(ctx context.Context, own *Answers) {
	err := own.Read(ctx, func(int, Event) error { return nil })
	if errors.Is(err, errUntold) || errors.As(err, new(*PanicError)) {
		s.observer.Fault(ctx, err)
	}
}

// next attaches to the answer behind another; nil where that is the last.
func (s *Service) next(ctx context.Context, ns string, first order, n int, last Node) (*View, error) {
	if n >= first.answers || !goesOn(last) {
		return nil, nil
	}
	o, err := first.behind(n, last)
	if err != nil {
		return nil, err
	}
	o.drafter = s.drafter(ns, o.Request, o.how)
	if err := s.awaitCut(ctx, ns, []order{o.order}); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.attach(ctx, ns, o.order)
}

// goesOn says that an answer has another one behind it: it is whole, and not empty, after which the model would be asked
// the same again.
func goesOn(n Node) bool {
	return n.Record.Finish.state() == Done && len(n.Texts) > 0 && n.Texts[len(n.Texts)-1].Content != ""
}

// step is an order with how its options are taken.
type step struct {
	order
	how draw
}

// behind is the order for the answer behind another. Everything that it takes over from that one is in the node, so that
// it is the same after a restart.
func (o order) behind(n int, last Node) (step, error) {
	picks, err := taken(last.Record.Picks)
	if err != nil {
		return step{}, err
	}
	o.n, o.free = n, true
	o.Parent, o.Text = last.ID, ""
	o.Sampling.Seed, o.drawn = last.Record.Sampling.Seed, false
	o.Request = o.numbered(1)
	return step{o, draw{picks: picks}}, nil
}
