package library

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/flow"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/node"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/search"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store"
)

// Span is a span of time, which counts to the microsecond: from From on, before Before. A zero one is no bound.
type Span struct{ From, Before time.Time }

// side says where a time lies: before the span (-1), within (0), or behind it (1).
func (s Span) side(t time.Time) int {
	switch micro := t.UnixMicro(); {
	case !s.From.IsZero() && micro < ceiling(s.From).UnixMicro():
		return -1
	case !s.Before.IsZero() && micro >= ceiling(s.Before).UnixMicro():
		return 1
	}
	return 0
}

// ceiling is the first microsecond that does not lie before t.
func ceiling(t time.Time) time.Time {
	if down := t.Truncate(time.Microsecond); down.Before(t) {
		return down.Add(time.Microsecond)
	}
	return t
}

// start is the place just before the first entry of the span in an order.
func (s Span) start(order store.Order) store.Entry {
	bound := s.Before
	if order == store.OldestFirst {
		bound = s.From
	}
	if bound.IsZero() {
		return store.Entry{}
	}
	return store.Entry{Created: ceiling(bound)} // no id is smaller than the zero one
}

// ended says that an entry, and so everything behind it in the order, lies beyond the span.
func (s Span) ended(order store.Order, e store.Entry) bool {
	if order == store.OldestFirst {
		return s.side(e.Created) > 0
	}
	return s.side(e.Created) < 0
}

// NodeFilter says which nodes are listed: those that satisfy all that is set. Names and tags are compared as in a search
// (field/flowstore.md 4 and row 27): case and width do not count.
type NodeFilter struct {
	// Flow is a flow that holds them.
	Flow uuid.UUID
	// Role is one that a text of theirs has.
	Role string
	// ModelContains stands in the name of their model.
	ModelContains string
	// AllTags are tags of which they have every one, AnyTags those of which they have one at least.
	AllTags, AnyTags []string
}

// has gives what says whether a node is in the filter's flow. Errors as of Flow.
func (l *Library) has(ctx context.Context, ns string, id uuid.UUID) (func(uuid.UUID) bool, error) {
	if id == (uuid.UUID{}) {
		return everything[uuid.UUID], nil
	}
	f, err := l.Flow(ctx, ns, id)
	if err != nil {
		return nil, err
	}
	members := make(map[uuid.UUID]bool, len(f.Members))
	for _, m := range f.Members {
		members[m.Node] = true
	}
	return func(id uuid.UUID) bool { return members[id] }, nil
}

// matcher gives what judges a node, but for its flow.
func (f NodeFilter) matcher() func(node.Brief) bool {
	all, anyOf := keys(f.AllTags), keys(f.AnyTags)
	model := search.Fold(f.ModelContains)
	return func(b node.Brief) bool {
		if f.Role != "" && !slices.ContainsFunc(b.Texts, func(t node.Text) bool { return t.Role == f.Role }) {
			return false
		}
		if model != "" && !strings.Contains(search.Fold(b.Model), model) {
			return false
		}
		if len(all)+len(anyOf) == 0 {
			return true
		}
		tags := keys(b.Tags)
		has := func(tag string) bool { return slices.Contains(tags, tag) }
		lacks := func(tag string) bool { return !has(tag) }
		return !slices.ContainsFunc(all, lacks) && (len(anyOf) == 0 || slices.ContainsFunc(anyOf, has))
	}
}

// keys are what tags are compared by.
func keys(tags []string) []string {
	list := make([]string, len(tags))
	for i, tag := range tags {
		list[i] = strings.TrimSpace(search.Fold(tag))
	}
	return list
}

// FlowFilter says which flows are listed: those that satisfy all that is set.
type FlowFilter struct {
	// NameContains stands in their name; case and width do not count.
	NameContains string
	// UpdatedFrom is the time at which, or after which, they were changed last.
	UpdatedFrom time.Time
}

func (f FlowFilter) matcher() func(flow.Flow) bool {
	name := search.Fold(f.NameContains)
	updated := Span{From: f.UpdatedFrom}
	return func(one flow.Flow) bool {
		return strings.Contains(search.Fold(one.Name), name) && updated.side(one.Updated) == 0
	}
}

func everything[T any](T) bool { return true }
