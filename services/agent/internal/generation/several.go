package generation

import "context"

// GenerateSeveral is Generate for a request that asks for several answers. Each is a generation of its own: what runs is
// attached to, what is stored is not made again, and only the rest begins.
// *ReusedError; *BusyError where not all that would be made side by side may run; *DrainingError; *OptionsError; with
// EveryOption also the errors of the prompt. All else is told by Answers.
func (s *Service) GenerateSeveral(ctx context.Context, ns string, req Request) (*Answers, error) {
	digest := req.Digest()
	req = s.fill(req)
	if req.Repeat > 0 {
		return s.repeat(ctx, ns, req, digest)
	}
	orders, err := s.sideBySide(ctx, ns, req, digest)
	if err != nil {
		return nil, err
	}
	views, err := s.attachAll(ctx, ns, orders)
	if err != nil {
		return nil, err
	}
	return &Answers{views: views}, nil
}

// sideBySide gives the orders of variants, which share one prompt, or of the options of dynamic prompts, with one each.
func (s *Service) sideBySide(ctx context.Context, ns string, req Request, digest string) ([]order, error) {
	if !req.EveryOption {
		shared := share(s.drafter(ns, req, draw{}))
		orders := make([]order, req.Variants)
		for n := range orders {
			orders[n] = order{Request: req.numbered(n), n: n, answers: req.Variants, digest: digest, drafter: shared}
		}
		return orders, nil
	}
	d, err := s.draft(ctx, ns, req, draw{all: true})
	if err != nil {
		return nil, err
	}
	if err := s.checkOptions(d.built); err != nil {
		return nil, err
	}
	all := d.built.Combinations
	names := branches(all)
	orders := make([]order, len(all))
	for n, picks := range all {
		orders[n] = order{
			Request: req.numbered(n), n: n, answers: len(all), branch: names[n], digest: digest,
			drafter: s.drafter(ns, req, draw{picks: picks}),
		}
	}
	return orders, nil
}

// maxListed is how many combinations BuildStory lists where they are not too large to be listed (`combinations` in its
// contract).
const maxListed = 100

// checkOptions is an *OptionsError for more combinations than one request may ask for, and where there is nothing to choose.
func (s *Service) checkOptions(b Built) error {
	n := len(b.Combinations)
	if n == 0 || len(b.Combinations[0]) == 0 {
		return &OptionsError{Limit: s.limits.Options}
	}
	if n > s.limits.Options || b.More {
		return &OptionsError{Count: n, More: b.More, Limit: s.limits.Options, Large: n < maxListed && n <= s.limits.Options}
	}
	return nil
}

// numbered is the request for one of its answers: each is drawn with another seed.
func (r Request) numbered(n int) Request {
	seed := *r.Sampling.Seed + uint32(n)
	r.Sampling.Seed = &seed
	return r
}

// drafter makes the prompt of a request when it is called.
func (s *Service) drafter(ns string, req Request, how draw) drafter {
	return func(ctx context.Context) (draft, error) { return s.draft(ctx, ns, req, how) }
}

// share makes a prompt once for all who ask: who comes first makes it, the others wait. Only where the one who makes it
// gives up, the next one does.
func share(one drafter) drafter {
	turn := make(chan struct{}, 1)
	var done bool
	var d draft
	var err error
	return func(ctx context.Context) (draft, error) {
		select {
		case turn <- struct{}{}:
		case <-ctx.Done():
			return draft{}, ctx.Err()
		}
		defer func() { <-turn }()
		if !done {
			d, err = one(ctx)
			done = err == nil || ctx.Err() == nil
		}
		return d, err
	}
}
