package storetest

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/google/uuid"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/flow"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/node"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store"
)

// house is the store of one case.
type house struct {
	engine Engine
	dir    string
	clock  *clock
	seen   *calls
	store  store.Store
}

func (h *house) open(t *testing.T) {
	t.Helper()
	h.store = recorded{h.engine.Open(t, h.dir, h.clock.now), h.seen}
}

// env is a case in one namespace.
type env struct {
	*testing.T
	*house
	ns string
}

// reopen closes the store and opens it again.
func (e *env) reopen() {
	e.Helper()
	e.must(e.store.Close())
	e.open(e.T)
}

func (e *env) must(err error) {
	e.Helper()
	if err != nil {
		e.Fatal(err)
	}
}

func (e *env) is(got, want error) {
	e.Helper()
	if !errors.Is(got, want) {
		e.Errorf("error %v, want %v", got, want)
	}
}

func (e *env) update(fn func(tx store.Tx) error) error {
	return e.store.Update(e.Context(), e.ns, fn)
}

// createNode stores a node with one text and gives it as it was stored.
func (e *env) createNode(name, text string) node.Node {
	e.Helper()
	n := textNode(name, text)
	e.must(e.update(func(tx store.Tx) error {
		n.Created = tx.Now()
		return tx.CreateNode(n)
	}))
	return n
}

// createFlow stores a flow that holds new nodes, with indexes from 1, and no edge.
func (e *env) createFlow(name string, nodes ...string) flow.Flow {
	e.Helper()
	var made flow.Flow
	e.must(e.update(func(tx store.Tx) error {
		made = flow.Flow{ID: id(name), Name: name, Created: tx.Now(), Updated: tx.Now(), Next: 1}
		for _, n := range nodes {
			if err := tx.CreateNode(textNode(n, n)); err != nil {
				return err
			}
			made.Members = append(made.Members, flow.Member{Index: made.Next, Node: id(n)})
			made.Next++
		}
		return tx.CreateFlow(made)
	}))
	return made
}

func (e *env) node(name string) node.Node {
	e.Helper()
	n, err := e.store.Node(e.Context(), e.ns, id(name))
	e.must(err)
	return n
}

func (e *env) flow(name string) flow.Flow {
	e.Helper()
	f, err := e.store.Flow(e.Context(), e.ns, id(name))
	e.must(err)
	return f
}

// same compares what was read with what was written: times as instants with their zone, and no slice as an empty one.
func (e *env) same(want, got any) {
	e.Helper()
	times := cmp.Comparer(func(a, b time.Time) bool {
		_, x := a.Zone()
		_, y := b.Zone()
		return a.Equal(b) && x == y
	})
	if diff := cmp.Diff(want, got, times, cmpopts.EquateEmpty()); diff != "" {
		e.Errorf("read something else than was written (-written +read):\n%s", diff)
	}
}

// absent expects that neither a node nor a flow of these names is stored.
func (e *env) absent(names ...string) {
	e.Helper()
	for _, name := range names {
		_, err := e.store.Node(e.Context(), e.ns, id(name))
		e.is(err, store.ErrNodeNotFound)
		_, err = e.store.Flow(e.Context(), e.ns, id(name))
		e.is(err, store.ErrFlowNotFound)
	}
}

// together runs fn n times at once and gives the errors.
func together(n int, fn func(i int) error) []error {
	errs := make([]error, n)
	start := make(chan struct{})
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			<-start
			errs[i] = fn(i)
		})
	}
	close(start)
	wg.Wait()
	return errs
}

// id gives the same UUID for the same name.
func id(name string) uuid.UUID {
	return uuid.NewSHA1(uuid.NameSpaceOID, []byte(name))
}

func textNode(name, text string) node.Node {
	return node.Node{
		ID: id(name), Created: start, Summary: node.Summary{Stale: true},
		Texts: []node.Text{{Role: "user", Content: text}},
	}
}

// start is where every clock begins.
var start = time.Date(2026, 4, 1, 9, 30, 0, 123456000, time.FixedZone("", 9*60*60))

// clock stands still until it is moved.
type clock struct {
	mu sync.Mutex
	at time.Time
}

func newClock() *clock { return &clock{at: start} }

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at
}

func (c *clock) move(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = c.at.Add(d)
}

func numbered(name string, i int) string { return fmt.Sprintf("%s-%d", name, i) }
