package summary

import (
	"context"
	"sync"

	"github.com/google/uuid"

	"github.com/tsumugi-dev/tsumugi/services/internal/llm"
)

// job is the work of one call.
type job struct {
	*Service
	Request
	ns    string
	tell  func(Event)
	met   sync.Once
	model llm.Generator
	// who is the model server, as it was when it was met, and away why that could not be.
	who  llm.Identity
	away error

	mu     sync.Mutex
	report Report
}

// run is the work from its beginning to its report.
func (s *Service) run(ctx context.Context, ns string, req Request, tell func(Event)) error {
	ids, err := s.choose(ctx, ns, req)
	if err != nil {
		return err
	}
	j := &job{Service: s, Request: req, ns: ns, tell: tell}
	if len(ids) > 0 && !req.Background { // where nobody asks, most of what changed is in no need of a summary
		if err := j.ready(ctx); err != nil {
			return err
		}
	}
	tell(Begun{Total: len(ids)})
	if err := j.all(ctx, ids); err != nil {
		return err
	}
	tell(j.report)
	return nil
}

// choose gives the nodes that a request means, each once.
func (s *Service) choose(ctx context.Context, ns string, req Request) ([]uuid.UUID, error) {
	if len(req.Nodes) > 0 {
		return req.Nodes, nil
	}
	var ids []uuid.UUID
	for id, err := range s.Store.Marked(ctx, ns, req.Flow) {
		if err != nil {
			return nil, err
		}
		ids = append(ids, id)
	}
	return ids, nil
}

// ready meets the model server once.
func (j *job) ready(ctx context.Context) error {
	j.met.Do(func() { j.away = j.meet(ctx) })
	return j.away
}

// meet finds out who the model server is, and that it is the one that promptbuilder measures with.
func (j *job) meet(ctx context.Context) (err error) {
	if j.model, err = j.Models.Generator(j.Backend); err != nil {
		return err
	}
	if j.who, err = j.model.Window(ctx); err != nil {
		return err
	}
	text, err := j.render(ctx, j.ns, j.Locale, [2]string{}, "")
	if err != nil {
		return err
	}
	_, err = j.count(ctx, text)
	return err
}

// count gives the tokens of a text as the model server of the job has them.
func (j *job) count(ctx context.Context, text string) (int, error) {
	tokens, by, err := j.Prompts.Count(ctx, j.ns, j.Backend, []string{text})
	switch {
	case err != nil:
		return 0, err
	case by != j.who:
		return 0, &BackendChangedError{Measured: by, Found: j.who}
	}
	return tokens[0], nil
}

// all works on the nodes, some at once. The first error ends the work on all.
func (j *job) all(ctx context.Context, ids []uuid.UUID) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	next := make(chan uuid.UUID)
	var workers sync.WaitGroup
	for range min(j.workers(), len(ids)) {
		workers.Go(func() {
			for id := range next {
				if err := guard(func() error { return j.one(ctx, id) }); err != nil {
					cancel(err)
				}
			}
		})
	}
	for _, id := range ids {
		select {
		case next <- id:
			continue
		case <-ctx.Done():
		}
		break
	}
	close(next)
	workers.Wait()
	return context.Cause(ctx)
}

func (j *job) workers() int {
	if j.Parallel > 0 {
		return min(j.Parallel, j.Limits.Parallel)
	}
	return j.Limits.Parallel
}

// one works on a node when there is room, and tells how it ended. The background does not pass over a node that another call is
// at: that call may find other texts when it is through.
func (j *job) one(ctx context.Context, id uuid.UUID) error {
	for {
		if j.Background {
			if err := j.awaitFree(ctx, key{j.ns, id}); err != nil {
				return err
			}
		}
		e, err := j.inSlot(ctx, id)
		if err != nil {
			return err
		}
		if s, ok := e.(Skipped); ok && s.Why == InWork && j.Background {
			continue
		}
		j.mu.Lock()
		j.report.add(e)
		j.mu.Unlock()
		j.Observer.Seen(ctx, j.ns, e)
		j.tell(e)
		return nil
	}
}

func (j *job) inSlot(ctx context.Context, id uuid.UUID) (Event, error) {
	if ctx.Err() != nil { // a free slot would be as good
		return nil, ctx.Err()
	}
	select {
	case j.slots <- struct{}{}:
		defer func() { <-j.slots }()
		return j.node(ctx, id)
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}
