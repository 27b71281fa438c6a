package storetest

import (
	"errors"

	"github.com/google/uuid"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/flow"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store"
)

// races is how often two callers try to close a cycle at once. Checked outside Update they succeed every time.
const races = 500

func raceCases() []testCase {
	return []testCase{
		{Races, "two callers do not close a cycle", closeCycles},
		{Races, "a request id makes one node", func(e *env) {
			results := make([]uuid.UUID, 32)
			for _, err := range together(len(results), func(i int) (err error) {
				results[i], err = e.createOnce(id("request"), numbered("n", i))
				return err
			}) {
				e.must(err)
			}
			stored := 0
			for i, result := range results {
				e.same(results[0], result)
				if _, err := e.store.Node(e.Context(), e.ns, id(numbered("n", i))); err == nil {
					stored++
				}
			}
			e.same(1, stored)
		}},
		{Races, "an id is taken once", func(e *env) {
			e.oneWins(store.ErrTaken, func(store.Tx) error { return nil }, func(tx store.Tx) error {
				return tx.CreateNode(textNode("n", "n"))
			})
			e.oneWins(store.ErrTaken, func(store.Tx) error { return nil }, func(tx store.Tx) error {
				return tx.CreateFlow(flow.Flow{ID: id("f"), Name: "f", Next: 1})
			})
		}},
		{Races, "a node joins a flow once", func(e *env) {
			e.createFlow("f")
			e.createNode("n", "n")
			e.oneWins(errRefused, func(tx store.Tx) error {
				f, err := tx.Flow(id("f"))
				if _, held := f.IndexOf(id("n")); held {
					return errRefused
				}
				return err
			}, func(tx store.Tx) error {
				return e.addTo(tx, "n")
			})
			e.same(1, len(e.flow("f").Members))
		}},
		{Races, "no writer loses another's node", manyWriters},
		{Races, "reads see what was acknowledged", readYourWrites},
	}
}

func closeCycles(e *env) {
	for i := range races {
		name := numbered("f", i)
		e.createFlow(name, name+"a", name+"b")
		edges := []flow.Edge{{From: 1, To: 2}, {From: 2, To: 1}}
		refused := 0
		for _, err := range together(2, func(i int) error { return e.connect(name, edges[i]) }) {
			var cycle *flow.CycleError
			switch {
			case errors.As(err, &cycle):
				refused++
			case err != nil:
				e.Fatal(err)
			}
		}
		if f := e.flow(name); refused != 1 || len(f.Edges) != 1 {
			e.Fatalf("race %d: %d refused, edges %v", i, refused, f.Edges)
		}
	}
}

// connect adds an edge if it closes no cycle.
func (e *env) connect(name string, edge flow.Edge) error {
	return e.update(func(tx store.Tx) error {
		f, err := tx.Flow(id(name))
		if err != nil {
			return err
		}
		change := flow.Change{At: tx.Now(), Connect: []flow.Edge{edge}}
		if err := f.Check(change); err != nil {
			return err
		}
		return tx.ChangeFlow(f.ID, change)
	})
}

// createOnce makes a node unless the request made one already, and gives the id of the one that it made.
func (e *env) createOnce(request uuid.UUID, name string) (uuid.UUID, error) {
	var result uuid.UUID
	err := e.update(func(tx store.Tx) error {
		earlier, known, err := tx.Request(request)
		if known || err != nil {
			result = earlier.Result
			return err
		}
		result = id(name)
		if err := tx.CreateNode(textNode(name, name)); err != nil {
			return err
		}
		return tx.PutRequest(store.Request{ID: request, Result: result})
	})
	return result, err
}

// oneWins expects that of many callers that look and then write one succeeds and the others are refused.
func (e *env) oneWins(refusal error, look, write func(store.Tx) error) {
	e.Helper()
	won := 0
	for _, err := range together(32, func(int) error {
		return e.update(func(tx store.Tx) error {
			if err := look(tx); err != nil {
				return err
			}
			return write(tx)
		})
	}) {
		if err == nil {
			won++
			continue
		}
		e.is(err, refusal)
	}
	e.same(1, won)
}

// addTo makes a node the next member of the flow f.
func (e *env) addTo(tx store.Tx, member string, parents ...int) error {
	f, err := tx.Flow(id("f"))
	if err != nil {
		return err
	}
	change := flow.Change{At: tx.Now(), Add: []flow.Member{{Index: f.Next, Node: id(member)}}}
	for _, p := range parents {
		change.Connect = append(change.Connect, flow.Edge{From: p, To: f.Next})
	}
	if err := f.Check(change); err != nil {
		return err
	}
	return tx.ChangeFlow(f.ID, change)
}

// manyWriters is cases/flowstore.md 2: each of 50 callers makes a node and puts it below the first one.
func manyWriters(e *env) {
	e.createFlow("f", "root")
	for _, err := range together(50, func(i int) error {
		return e.update(func(tx store.Tx) error {
			n := textNode(numbered("n", i), "text")
			if err := tx.CreateNode(n); err != nil {
				return err
			}
			return e.addTo(tx, numbered("n", i), 1)
		})
	}) {
		e.must(err)
	}
	f := e.flow("f")
	e.same([]int{51, 50, 52}, []int{len(f.Members), len(f.Edges), f.Next})
	indexes := map[int]bool{}
	for _, m := range f.Members {
		indexes[m.Index] = true
	}
	e.same(51, len(indexes))
	for i := range 50 {
		e.node(numbered("n", i))
	}
}

func readYourWrites(e *env) {
	e.createFlow("f")
	for _, err := range together(16, func(i int) error {
		for j := range 20 {
			name := numbered(numbered("n", i), j)
			err := e.update(func(tx store.Tx) error {
				return errors.Join(tx.CreateNode(textNode(name, name)), e.addTo(tx, name))
			})
			if err != nil {
				return err
			}
			if _, err := e.store.Node(e.Context(), e.ns, id(name)); err != nil {
				return err
			}
			f, err := e.store.Flow(e.Context(), e.ns, id("f"))
			if err != nil {
				return err
			}
			if _, held := f.IndexOf(id(name)); !held {
				return errors.New("the flow does not show an acknowledged node")
			}
		}
		return nil
	}) {
		e.must(err)
	}
}
