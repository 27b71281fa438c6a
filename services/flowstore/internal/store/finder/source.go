package finder

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/google/uuid"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/flow"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/node"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/search"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store"
)

// source is the engine as a search sees it.
type source struct{ *Finder }

// Texts implements search.Source.
func (s source) Texts(_ context.Context, id uuid.UUID) ([]node.Text, uint64, bool, error) {
	n, stamp, err := s.engine.Stamped(id)
	if store.Gone(err) {
		return nil, 0, false, nil
	}
	return n.Texts, stamp, err == nil, err
}

// Members implements search.Source. A UUID is an id, whatever flows are called.
func (s source) Members(ctx context.Context, text string) ([]uuid.UUID, error) {
	id, err := uuid.Parse(strings.TrimPrefix(text, flow.Collection))
	if err == nil {
		f, err := s.engine.Flow(id)
		if errors.Is(err, store.ErrFlowNotFound) {
			return nil, &search.FlowError{}
		}
		return flow.NodesOf(f.Members), err
	}
	return s.called(ctx, text)
}

// maxMatches is how many flows of one name are told.
const maxMatches = 10

// names knows which flows are called what. The first question for one reads all flows, each other what was touched since.
type names struct {
	// asking holds one token, which guards ids and of, and holds back a second question while the first reads, as folding does.
	asking chan struct{}
	ids    map[string]map[uuid.UUID]struct{}
	of     map[uuid.UUID]string

	mu      sync.Mutex
	asked   bool
	touched map[uuid.UUID]struct{}
}

// TouchFlow notes that a flow was made, changed, taken away or brought back, as Touch does of a node.
func (f *Finder) TouchFlow(id uuid.UUID) {
	f.names.mu.Lock()
	defer f.names.mu.Unlock()
	if f.names.asked {
		f.names.touched[id] = struct{}{}
	}
}

// called gives the nodes of the only flow of a name, as it is written (field/flowstore.md row 25). A flow that cannot be read
// has none.
func (s source) called(ctx context.Context, name string) ([]uuid.UUID, error) {
	n := &s.names
	var ids []uuid.UUID
	if err := alone(ctx, n.asking, func() error {
		if err := n.refresh(ctx, s.engine); err != nil {
			return err
		}
		ids = slices.SortedFunc(maps.Keys(n.ids[name]), func(a, b uuid.UUID) int { return cmp.Compare(a.String(), b.String()) })
		return nil
	}); err != nil {
		return nil, err
	}
	if len(ids) == 1 {
		f, err := s.engine.Flow(ids[0])
		switch {
		case err == nil && f.Name == name:
			return flow.NodesOf(f.Members), nil
		case err != nil && !store.Gone(err):
			return nil, err
		}
		ids = nil // it went, or was called something else, meanwhile
	}
	unknown := &search.FlowError{}
	for _, id := range ids[:min(len(ids), maxMatches)] {
		unknown.Matches = append(unknown.Matches, flow.Name(id))
	}
	return nil, unknown
}

// refresh reads the flows that were touched; the first time all of them. What could not be read is read the next time.
func (n *names) refresh(ctx context.Context, engine Engine) error {
	n.mu.Lock()
	first := !n.asked
	if first {
		n.asked, n.touched = true, map[uuid.UUID]struct{}{}
		n.ids, n.of = map[string]map[uuid.UUID]struct{}{}, map[uuid.UUID]string{}
	}
	n.mu.Unlock()
	if first { // those that are made from here on are touched
		n.touch(slices.Values(slices.Collect(all(engine))))
	}
	touched := n.take()
	for id := range touched {
		f, err := engine.Flow(id)
		if err = cmp.Or(ctx.Err(), err); err != nil && !store.Gone(err) {
			n.touch(maps.Keys(touched))
			return err
		}
		n.call(id, f.Name, err == nil)
		delete(touched, id)
	}
	return nil
}

// all gives the ids of all flows.
func all(engine Engine) iter.Seq[uuid.UUID] {
	const chunk = 1000
	return func(yield func(uuid.UUID) bool) {
		var last store.Entry
		for {
			page := engine.Flows(last, chunk)
			for _, last = range page {
				if !yield(last.ID) {
					return
				}
			}
			if len(page) < chunk {
				return
			}
		}
	}
}

func (n *names) touch(ids iter.Seq[uuid.UUID]) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for id := range ids {
		n.touched[id] = struct{}{}
	}
}

func (n *names) take() map[uuid.UUID]struct{} {
	n.mu.Lock()
	defer n.mu.Unlock()
	touched := n.touched
	n.touched = map[uuid.UUID]struct{}{}
	return touched
}

// call notes what a flow is called now, or that there is none.
func (n *names) call(id uuid.UUID, name string, there bool) {
	if before, known := n.of[id]; known {
		if delete(n.ids[before], id); len(n.ids[before]) == 0 {
			delete(n.ids, before)
		}
		delete(n.of, id)
	}
	if !there {
		return
	}
	if n.ids[name] == nil {
		n.ids[name] = map[uuid.UUID]struct{}{}
	}
	n.ids[name][id], n.of[id] = struct{}{}, name
}
