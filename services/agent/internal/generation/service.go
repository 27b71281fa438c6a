package generation

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"
)

// Deps are what a Service is made of. None may be nil.
type Deps struct {
	Flows    Flows
	Prompts  Prompts
	Contexts Contexts
	Models   Models
	Clock    Clock
	Random   Random
	Observer Observer
	Limits   Limits
}

// Service runs generations. Safe for concurrent use; Close it.
type Service struct {
	flows    Flows
	prompts  Prompts
	contexts Contexts
	models   Models
	clock    Clock
	random   Random
	observer Observer
	limits   Limits

	// work counts the goroutines: one for each generation that runs, and one for each repeat that the service reads itself.
	work sync.WaitGroup

	mu  sync.Mutex
	all map[key]*generation
	// running is how many of all run. The others are kept, in the order of their ends.
	running   int
	kept      []*generation
	keptBytes int
	draining  bool
}

// Limits are those that it was made with.
func (s *Service) Limits() Limits { return s.limits }

// key names a generation: an id says nothing without its namespace.
type key struct {
	ns string
	id uuid.UUID
}

// New makes a Service.
func New(d Deps) *Service {
	return &Service{
		flows: d.Flows, prompts: d.Prompts, contexts: d.Contexts, models: d.Models,
		clock: d.Clock, random: d.Random, observer: d.Observer, limits: d.Limits,
		all: map[key]*generation{},
	}
}

// Generate begins the generation of a request for one answer, or attaches to it where it is under way, and gives a watcher of it from
// the beginning. A request that was answered before is answered with its node, also where a person cancelled it; one whose
// answer could not be stored is stored now; one that left nothing, or was cut by anything else, begins anew.
// *ReusedError; *BusyError; *DrainingError. All else is told by the View.
func (s *Service) Generate(ctx context.Context, ns string, req Request) (*View, error) {
	o := order{digest: req.Digest(), Request: s.fill(req)}
	o.drafter = s.drafter(ns, o.Request, draw{})
	views, err := s.attachAll(ctx, ns, []order{o})
	if err != nil {
		return nil, err
	}
	return views[0], nil
}

// attachAll begins answers, or attaches to them: all of them, or none where not all that would be made may run.
func (s *Service) attachAll(ctx context.Context, ns string, orders []order) ([]*View, error) {
	if err := s.awaitCut(ctx, ns, orders); err != nil {
		return nil, err
	}
	views, err := s.tryAll(ctx, ns, orders)
	if errors.As(err, new(*BusyError)) && s.lookUp(ctx, ns, orders) {
		return s.tryAll(ctx, ns, orders)
	}
	return views, err
}

// awaitCut waits for those of the answers that are about to end and to be made anew. The context's error.
func (s *Service) awaitCut(ctx context.Context, ns string, orders []order) error {
	for _, o := range orders {
		if g := s.find(ns, NodeID(o.ID, o.n)); g != nil {
			if err := g.awaitCut(ctx); err != nil {
				return err
			}
		}
	}
	return nil
}

func (s *Service) tryAll(ctx context.Context, ns string, orders []order) ([]*View, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if n := s.missing(ns, orders); n > 0 && s.running+n > s.limits.Running {
		return nil, &BusyError{Limit: s.limits.Running}
	}
	var views []*View
	for _, o := range orders {
		v, err := s.attach(ctx, ns, o)
		if err != nil {
			(&Answers{views: views}).Close()
			return nil, err
		}
		views = append(views, v)
	}
	return views, nil
}

// missing is how many of the answers neither run nor are known to be stored. The caller holds mu.
func (s *Service) missing(ns string, orders []order) int {
	n := 0
	for _, o := range orders {
		g := s.all[key{ns, NodeID(o.ID, o.n)}]
		if !o.free && (g == nil || g.ended().open()) {
			n++
		}
	}
	return n
}

// lookUp frees the answers whose nodes are in the store: to give them again asks no model. It says whether there are any.
func (s *Service) lookUp(ctx context.Context, ns string, orders []order) (found bool) {
	for i, o := range orders {
		if _, err := s.flows.Node(ctx, ns, NodeID(o.ID, o.n)); err == nil {
			orders[i].free, found = true, true
		}
	}
	return found
}

// attach begins one answer, or attaches to it. The caller holds mu.
func (s *Service) attach(ctx context.Context, ns string, o order) (*View, error) {
	if s.draining {
		return nil, &DrainingError{}
	}
	k := key{ns, NodeID(o.ID, o.n)}
	g := s.all[k]
	if g == nil {
		return s.begin(ctx, k, o)
	}
	end := g.ended()
	switch {
	case end.leftNothing():
		s.forget(g)
		return s.begin(ctx, k, o)
	case g.digest != o.digest:
		return nil, &ReusedError{RequestID: o.ID}
	case end.open() && end.unstored == nil:
		s.forget(g)
		return s.begin(ctx, k, o)
	case end != nil && end.node != nil:
		return s.newView(replay(k, *end.node, o.asked()), 0), nil
	case end != nil:
		return s.storeAgain(ctx, g)
	}
	return s.newView(g, 0), nil
}

// begin takes on a new generation. The caller holds mu.
func (s *Service) begin(ctx context.Context, k key, o order) (*View, error) {
	if s.running >= s.limits.Running && !o.free {
		return nil, &BusyError{Limit: s.limits.Running}
	}
	// Its context has the values of the call that began it, such as the trace, but neither its cancellation nor its time limit.
	ctx, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	g := &generation{
		ns: k.ns, id: k.id, asked: o.asked(), flow: o.Flow, digest: o.digest,
		started: s.clock.Now(), lasting: o.Continue, cancel: cancel,
	}
	s.all[k] = g
	view := s.newView(g, 0)
	s.start(ctx, g, func(ctx context.Context) ending { return s.run(ctx, g, o) })
	return view, nil
}

// storeAgain runs a generation whose answer could not be stored once more, from there on. The caller holds mu.
func (s *Service) storeAgain(ctx context.Context, g *generation) (*View, error) {
	if s.running >= s.limits.Running {
		return nil, &BusyError{Limit: s.limits.Running}
	}
	s.unkeep(g)
	ctx, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	unstored := g.reopen(cancel)
	view := s.newView(g, 0)
	s.start(ctx, g, func(ctx context.Context) ending { return s.store(ctx, g, unstored) })
	return view, nil
}

// start runs a generation, or the rest of one, in a goroutine of its own. The caller holds mu.
func (s *Service) start(ctx context.Context, g *generation, work func(context.Context) ending) {
	s.running++
	s.work.Add(1)
	// Not read again below: the generation may be running once more before this goroutine has ended.
	cancel := g.cancel
	total := s.endAfter(s.limits.Total, g, FinishTimeout)
	go func() {
		defer s.work.Done()
		defer cancel(nil)
		s.observer.Began(ctx)
		e := guard(ctx, work)
		total.Stop()
		e.at = s.clock.Now()
		o := g.outcome(&e)
		s.release(g, e)
		g.finish(e)
		s.observer.Ended(ctx, o)
	}()
}

// endAfter ends the generation when the returned timer is not stopped in time.
func (s *Service) endAfter(limit time.Duration, g *generation, why Finish) *time.Timer {
	return s.clock.AfterFunc(limit, func() { g.stop(&CutError{Finish: why, Limit: limit}) })
}

// release makes room for another generation and decides whether this one can be watched on.
func (s *Service) release(g *generation, e ending) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.running--
	if e.replayed || !g.hasOpened() {
		// The store knows it, or there is nothing to know.
		delete(s.all, key{g.ns, g.id})
		return
	}
	s.keep(g, e)
}

// Watch attaches to a generation, running, kept or stored, behind the event with the number after; 0: from its beginning.
// *NotFoundError. All else is told by the View.
func (s *Service) Watch(ctx context.Context, ns string, id uuid.UUID, after int) (*View, error) {
	if g := s.find(ns, id); g != nil {
		return s.newView(g, after), nil
	}
	n, err := s.stored(ctx, ns, id)
	if err != nil {
		return nil, err
	}
	return s.newView(replay(key{ns, id}, n, asked{}), after), nil
}

// Status says how far a generation is. *NotFoundError.
func (s *Service) Status(ctx context.Context, ns string, id uuid.UUID) (Status, error) {
	if g := s.find(ns, id); g != nil {
		return g.status(), nil
	}
	n, err := s.stored(ctx, ns, id)
	if err != nil {
		return Status{}, err
	}
	return nodeStatus(id, n), nil
}

// Cancel ends a generation, waits for its end, and says how it ended; what was received is kept. On one that has ended
// it changes nothing. *NotFoundError; the context's error.
func (s *Service) Cancel(ctx context.Context, ns string, id uuid.UUID) (Status, error) {
	g := s.find(ns, id)
	if g == nil {
		return s.Status(ctx, ns, id)
	}
	g.stop(&CutError{Finish: FinishCancelled})
	if err := g.wait(ctx); err != nil {
		return Status{}, err
	}
	return g.status(), nil
}

func (s *Service) find(ns string, id uuid.UUID) *generation {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.all[key{ns, id}]
}

// Drain ends every generation, since the service is stopping, and begins no new ones. What was received is stored.
// It does not wait, and may be called again.
func (s *Service) Drain() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.draining = true
	for _, g := range s.all {
		g.stop(&CutError{Finish: FinishShutdown})
	}
}

func (s *Service) stopping() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.draining
}

// Close drains, waits until what was received is stored, and lets go of all that is kept. The context's error where that
// ends first; the generations then still end by themselves.
func (s *Service) Close(ctx context.Context) error {
	s.Drain()
	done := make(chan struct{})
	go func() {
		s.work.Wait()
		close(done)
	}()
	select {
	case <-done:
	case <-ctx.Done():
		return ctx.Err()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, g := range slices.Clone(s.kept) {
		s.forget(g)
	}
	return nil
}
