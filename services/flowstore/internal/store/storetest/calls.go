package storetest

import (
	"context"
	"maps"
	"reflect"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/flow"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/node"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/search"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store"
)

// calls notes which methods of the port the cases really called, so that a new method without a case is noticed.
type calls struct {
	mu   sync.Mutex
	seen map[string]bool
}

func (c *calls) note(method string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.seen == nil {
		c.seen = map[string]bool{}
	}
	c.seen[method] = true
}

// missing lists the methods of the port that nobody called.
func (c *calls) missing() []string {
	all := map[string]bool{}
	for _, port := range []reflect.Type{reflect.TypeFor[store.Store](), reflect.TypeFor[store.Tx]()} {
		for i := range port.NumMethod() {
			all[port.Name()+"."+port.Method(i).Name] = true
		}
	}
	maps.DeleteFunc(all, func(method string, _ bool) bool { return c.seen[method] })
	return slices.Sorted(maps.Keys(all))
}

// recorded is a store whose calls are noted.
type recorded struct {
	store.Store
	calls *calls
}

// Node implements store.Store.
func (r recorded) Node(ctx context.Context, ns string, id uuid.UUID) (node.Node, error) {
	r.calls.note("Store.Node")
	return r.Store.Node(ctx, ns, id)
}

// Flow implements store.Store.
func (r recorded) Flow(ctx context.Context, ns string, id uuid.UUID) (flow.Flow, error) {
	r.calls.note("Store.Flow")
	return r.Store.Flow(ctx, ns, id)
}

// Nodes implements store.Store.
func (r recorded) Nodes(ctx context.Context, ns string, order store.Order, after store.Entry, n int) ([]store.Entry, error) {
	r.calls.note("Store.Nodes")
	return r.Store.Nodes(ctx, ns, order, after, n)
}

// Flows implements store.Store.
func (r recorded) Flows(ctx context.Context, ns string, order store.Order, after store.Entry, n int) ([]store.Entry, error) {
	r.calls.note("Store.Flows")
	return r.Store.Flows(ctx, ns, order, after, n)
}

// Dropped implements store.Store.
func (r recorded) Dropped(ctx context.Context, ns string, kind store.Kind, after store.Entry, n int) ([]store.Entry, error) {
	r.calls.note("Store.Dropped")
	return r.Store.Dropped(ctx, ns, kind, after, n)
}

// DroppedNode implements store.Store.
func (r recorded) DroppedNode(ctx context.Context, ns string, id uuid.UUID) (node.Node, time.Time, error) {
	r.calls.note("Store.DroppedNode")
	return r.Store.DroppedNode(ctx, ns, id)
}

// DroppedFlow implements store.Store.
func (r recorded) DroppedFlow(ctx context.Context, ns string, id uuid.UUID) (flow.Flow, time.Time, error) {
	r.calls.note("Store.DroppedFlow")
	return r.Store.DroppedFlow(ctx, ns, id)
}

// Revisions implements store.Store.
func (r recorded) Revisions(ctx context.Context, ns string, id uuid.UUID) ([]store.Revision, error) {
	r.calls.note("Store.Revisions")
	return r.Store.Revisions(ctx, ns, id)
}

// Revision implements store.Store.
func (r recorded) Revision(ctx context.Context, ns string, id uuid.UUID, rev store.Revision) (node.Node, error) {
	r.calls.note("Store.Revision")
	return r.Store.Revision(ctx, ns, id, rev)
}

// Search implements store.Store.
func (r recorded) Search(ctx context.Context, ns string, q *search.Query, page search.Page) (search.Result, error) {
	r.calls.note("Store.Search")
	return r.Store.Search(ctx, ns, q, page)
}

// Tags implements store.Store.
func (r recorded) Tags(ctx context.Context, ns, prefix, after string, size int) (store.TagPage, error) {
	r.calls.note("Store.Tags")
	return r.Store.Tags(ctx, ns, prefix, after, size)
}

// Events implements store.Store.
func (r recorded) Events(ctx context.Context, ns string, since int64, n int) ([]store.Event, error) {
	r.calls.note("Store.Events")
	return r.Store.Events(ctx, ns, since, n)
}

// LastEvent implements store.Store.
func (r recorded) LastEvent(ctx context.Context, ns string) (int64, error) {
	r.calls.note("Store.LastEvent")
	return r.Store.LastEvent(ctx, ns)
}

// Update implements store.Store.
func (r recorded) Update(ctx context.Context, ns string, fn func(store.Tx) error) error {
	r.calls.note("Store.Update")
	return r.Store.Update(ctx, ns, func(tx store.Tx) error { return fn(recordedTx{tx, r.calls}) })
}

// Purged implements store.Store.
func (r recorded) Purged(ctx context.Context, ns string, t store.Thing) (store.Purged, error) {
	r.calls.note("Store.Purged")
	return r.Store.Purged(ctx, ns, t)
}

// Flush implements store.Store.
func (r recorded) Flush(ctx context.Context, ns string) (int, error) {
	r.calls.note("Store.Flush")
	return r.Store.Flush(ctx, ns)
}

// Problems implements store.Store.
func (r recorded) Problems(ctx context.Context, ns string) ([]store.Problem, error) {
	r.calls.note("Store.Problems")
	return r.Store.Problems(ctx, ns)
}

// Look implements store.Store.
func (r recorded) Look(ctx context.Context, ns string, progress func(read, files int)) (store.Look, error) {
	r.calls.note("Store.Look")
	return r.Store.Look(ctx, ns, progress)
}

// Mend implements store.Store.
func (r recorded) Mend(ctx context.Context, ns string, o store.MendOptions, progress func(read, files int)) (store.Mended, error) {
	r.calls.note("Store.Mend")
	return r.Store.Mend(ctx, ns, o, progress)
}

// Close implements store.Store.
func (r recorded) Close() error {
	r.calls.note("Store.Close")
	return r.Store.Close()
}

// recordedTx is a transaction whose calls are noted.
type recordedTx struct {
	store.Tx
	calls *calls
}

// Now implements store.Tx.
func (r recordedTx) Now() time.Time {
	r.calls.note("Tx.Now")
	return r.Tx.Now()
}

// HasNode implements store.Tx.
func (r recordedTx) HasNode(id uuid.UUID) (bool, error) {
	r.calls.note("Tx.HasNode")
	return r.Tx.HasNode(id)
}

// Node implements store.Tx.
func (r recordedTx) Node(id uuid.UUID) (node.Node, error) {
	r.calls.note("Tx.Node")
	return r.Tx.Node(id)
}

// Flow implements store.Tx.
func (r recordedTx) Flow(id uuid.UUID) (flow.Flow, error) {
	r.calls.note("Tx.Flow")
	return r.Tx.Flow(id)
}

// CreateNode implements store.Tx.
func (r recordedTx) CreateNode(n node.Node) error {
	r.calls.note("Tx.CreateNode")
	return r.Tx.CreateNode(n)
}

// FlowsOf implements store.Tx.
func (r recordedTx) FlowsOf(node uuid.UUID) ([]uuid.UUID, error) {
	r.calls.note("Tx.FlowsOf")
	return r.Tx.FlowsOf(node)
}

// ReplaceNode implements store.Tx.
func (r recordedTx) ReplaceNode(n node.Node) error {
	r.calls.note("Tx.ReplaceNode")
	return r.Tx.ReplaceNode(n)
}

// Drop implements store.Tx.
func (r recordedTx) Drop(t store.Thing) error {
	r.calls.note("Tx.Drop")
	return r.Tx.Drop(t)
}

// Restore implements store.Tx.
func (r recordedTx) Restore(t store.Thing) error {
	r.calls.note("Tx.Restore")
	return r.Tx.Restore(t)
}

// CreateFlow implements store.Tx.
func (r recordedTx) CreateFlow(f flow.Flow) error {
	r.calls.note("Tx.CreateFlow")
	return r.Tx.CreateFlow(f)
}

// ChangeFlow implements store.Tx.
func (r recordedTx) ChangeFlow(id uuid.UUID, c flow.Change) error {
	r.calls.note("Tx.ChangeFlow")
	return r.Tx.ChangeFlow(id, c)
}

// Steps implements store.Tx.
func (r recordedTx) Steps(flow uuid.UUID) ([]store.StepRef, error) {
	r.calls.note("Tx.Steps")
	return r.Tx.Steps(flow)
}

// Step implements store.Tx.
func (r recordedTx) Step(flow uuid.UUID, ref store.StepRef) (store.Step, error) {
	r.calls.note("Tx.Step")
	return r.Tx.Step(flow, ref)
}

// MoveStep implements store.Tx.
func (r recordedTx) MoveStep(id uuid.UUID, s store.Step, c flow.Change) error {
	r.calls.note("Tx.MoveStep")
	return r.Tx.MoveStep(id, s, c)
}

// Purge implements store.Tx.
func (r recordedTx) Purge(t store.Thing, reason string) error {
	r.calls.note("Tx.Purge")
	return r.Tx.Purge(t, reason)
}

// Erase implements store.Tx.
func (r recordedTx) Erase(t store.Thing) error {
	r.calls.note("Tx.Erase")
	return r.Tx.Erase(t)
}

// Everything implements store.Tx.
func (r recordedTx) Everything() store.Everything {
	r.calls.note("Tx.Everything")
	return r.Tx.Everything()
}

// Request implements store.Tx.
func (r recordedTx) Request(id uuid.UUID) (store.Request, bool, error) {
	r.calls.note("Tx.Request")
	return r.Tx.Request(id)
}

// PutRequest implements store.Tx.
func (r recordedTx) PutRequest(q store.Request) error {
	r.calls.note("Tx.PutRequest")
	return r.Tx.PutRequest(q)
}
