package memory

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/flow"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/node"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store/finder"
)

// engine is a namespace as its finder sees it.
type engine struct {
	store *Store
	ns    string
}

var _ finder.Engine = engine{}

// Stamped implements finder.Engine: every node that is read counts as another.
func (e engine) Stamped(id uuid.UUID) (node.Node, uint64, error) {
	n, err := e.store.Node(context.Background(), e.ns, id)
	return n, e.store.stamps.Add(1), err
}

// Flow implements finder.Engine.
func (e engine) Flow(id uuid.UUID) (flow.Flow, error) {
	return e.store.Flow(context.Background(), e.ns, id)
}

// Zone implements finder.Engine.
func (engine) Zone() *time.Location { return time.UTC }

// Flows implements finder.Engine.
func (e engine) Flows(after store.Entry, n int) []store.Entry {
	page, _ := e.store.Flows(context.Background(), e.ns, store.NewestFirst, after, n)
	return page
}
