package storetest

import (
	"context"
	"errors"
	"time"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/flow"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store"
)

var errRefused = errors.New("refused by a rule")

func updateCases() []testCase {
	return []testCase{
		{Updates, "an error leaves nothing and comes back as it is", leavesNothing},
		{Updates, "a panic leaves nothing, comes back, and the store goes on", panics},
		{Updates, "the function sees what it wrote", seesItsWrites},
		{Updates, "a change is applied", func(e *env) {
			before := e.createFlow("f", "a", "b")
			current := 2
			change := flow.Change{At: start.Add(time.Hour), Connect: []flow.Edge{{From: 1, To: 2}}, Current: &current}
			e.must(e.update(func(tx store.Tx) error { return tx.ChangeFlow(id("f"), change) }))
			e.same(before.Apply(change), e.flow("f"))
		}},
		{Updates, "what a change takes away is gone, and no index is given again", takesAway},
		{Updates, "a flow gets other words", func(e *env) {
			e.createFlow("f", "a")
			name, description, title := "名前", "", "題\n\x00"
			got := e.change(flow.Change{Name: &name, Description: &description, Story: &flow.Story{Title: &title, Genres: []string{"g"}}})
			e.same([]string{name, title}, []string{got.Name, *got.Story.Title})
			e.same(name, e.change(flow.Change{Story: &flow.Story{}}).Name)
		}},
		{Updates, "an edge keeps its name until it gets another", namesEdges},
		{Updates, "a taken id is refused, and the function may go on", func(e *env) {
			e.createFlow("f", "a")
			e.must(e.update(func(tx store.Tx) error {
				e.is(tx.CreateNode(textNode("a", "other")), store.ErrTaken)
				e.is(tx.CreateFlow(flow.Flow{ID: id("f")}), store.ErrTaken)
				return tx.CreateNode(textNode("b", "b"))
			}))
			e.same("a", e.node("a").Texts[0].Content)
			e.same("b", e.node("b").Texts[0].Content)
		}},
		{Updates, "what is not there cannot be read or changed", func(e *env) {
			e.must(e.update(func(tx store.Tx) error {
				_, err := tx.Node(id("none"))
				e.is(err, store.ErrNodeNotFound)
				_, err = tx.Flow(id("none"))
				e.is(err, store.ErrFlowNotFound)
				e.is(tx.ChangeFlow(id("none"), flow.Change{}), store.ErrFlowNotFound)
				return nil
			}))
			e.absent("none")
		}},
		{Updates, "a context that ended before is its error, and the function does not run", func(e *env) {
			ctx, cancel := context.WithCancel(e.Context())
			cancel()
			ran := false
			err := e.store.Update(ctx, e.ns, func(store.Tx) error { ran = true; return nil })
			e.is(err, context.Canceled)
			e.same(false, ran)
		}},
		{Updates, "time rises, also when the clock stands still or goes back", risingTime},
		{Updates, "time is cut to the microsecond and has the zone of the clock", func(e *env) {
			e.clock.move(time.Hour + 999*time.Nanosecond)
			want := e.clock.now().Truncate(time.Microsecond)
			e.must(e.update(func(tx store.Tx) error { e.same(want, tx.Now()); e.same(want, tx.Now()); return nil }))
		}},
		{Updates, "a closed store says so", closed},
	}
}

// change writes a change of the flow f and gives the flow as it must be read then.
func (e *env) change(c flow.Change) flow.Flow {
	e.Helper()
	before := e.flow("f")
	e.must(e.update(func(tx store.Tx) error {
		c.At = tx.Now()
		return errors.Join(before.Check(c), tx.ChangeFlow(before.ID, c))
	}))
	want := before.Apply(c)
	e.same(want, e.flow("f"))
	return want
}

func takesAway(e *env) {
	e.createFlow("f", "a", "b", "c")
	current := 3
	e.change(flow.Change{Connect: []flow.Edge{{From: 1, To: 2}, {From: 2, To: 3}, {From: 1, To: 3}}, Current: &current})
	e.same([]flow.Edge{{From: 1, To: 2}, {From: 2, To: 3}}, e.change(flow.Change{Disconnect: []flow.Edge{{From: 1, To: 3}}}).Edges)
	left := e.change(flow.Change{Remove: []flow.Member{{Index: 3, Node: id("c")}}})
	e.same([]flow.Edge{{From: 1, To: 2}}, left.Edges)
	e.same([]int{2, 4, 0}, []int{len(left.Members), left.Next, left.Current})
	e.node("c")
	e.must(e.update(func(tx store.Tx) error { return e.addTo(tx, "c") }))
	index, _ := e.flow("f").IndexOf(id("c"))
	e.same(4, index)
}

func namesEdges(e *env) {
	e.createFlow("f", "a", "b")
	for _, step := range []struct{ give, want string }{{"雨", "雨"}, {"", "雨"}, {"雪", "雪"}} {
		got := e.change(flow.Change{Connect: []flow.Edge{{From: 1, To: 2, Name: step.give}}})
		e.same([]flow.Edge{{From: 1, To: 2, Name: step.want}}, got.Edges)
	}
}

func leavesNothing(e *env) {
	e.createFlow("f", "a")
	before := e.flow("f")
	err := e.update(func(tx store.Tx) error {
		e.must(tx.CreateNode(textNode("new", "new")))
		e.must(tx.CreateFlow(flow.Flow{ID: id("new"), Name: "new", Next: 1}))
		e.must(tx.PutRequest(store.Request{ID: id("request")}))
		current := 1
		e.must(tx.ChangeFlow(id("f"), flow.Change{At: tx.Now(), Current: &current}))
		return errRefused
	})
	if err != errRefused { //nolint:errorlint // The contract is that very error, not one around it.
		e.Errorf("error %v", err)
	}
	e.absent("new")
	e.same(before, e.flow("f"))
	e.must(e.update(func(tx store.Tx) error {
		_, known, err := tx.Request(id("request"))
		e.same(false, known)
		return err
	}))
	e.createNode("new", "the id is free")
}

func panics(e *env) {
	func() {
		defer func() { e.same("boom", recover()) }()
		err := e.update(func(tx store.Tx) error {
			e.must(tx.CreateNode(textNode("a", "a")))
			panic("boom")
		})
		e.Errorf("Update returned %v", err)
	}()
	e.absent("a")
	e.createNode("a", "the store goes on")
}

func seesItsWrites(e *env) {
	e.createFlow("f", "a")
	e.must(e.update(func(tx store.Tx) error {
		n := textNode("b", "b")
		before, errBefore := tx.HasNode(n.ID)
		e.must(errors.Join(errBefore, tx.CreateNode(n)))
		after, errAfter := tx.HasNode(n.ID)
		old, errOld := tx.HasNode(id("a"))
		e.must(errors.Join(errAfter, errOld))
		e.same([]bool{false, true, true}, []bool{before, after, old})
		read, err := tx.Node(n.ID)
		e.must(err)
		e.same(n, read)
		e.must(tx.ChangeFlow(id("f"), flow.Change{At: tx.Now(), Add: []flow.Member{{Index: 2, Node: n.ID}}}))
		e.must(tx.ChangeFlow(id("f"), flow.Change{At: tx.Now(), Connect: []flow.Edge{{From: 1, To: 2}}}))
		f, err := tx.Flow(id("f"))
		e.must(err)
		e.same([]flow.Edge{{From: 1, To: 2}}, f.Edges)
		e.same(2, len(f.Members))
		return nil
	}))
	e.same([]flow.Edge{{From: 1, To: 2}}, e.flow("f").Edges)
}

func risingTime(e *env) {
	var last time.Time
	for _, move := range []time.Duration{0, 0, time.Second, -time.Hour, 0, 2 * time.Hour} {
		e.clock.move(move)
		e.must(e.update(func(tx store.Tx) error {
			if !tx.Now().After(last) {
				e.Errorf("%v after %v", tx.Now(), last)
			}
			last = tx.Now()
			return tx.PutRequest(store.Request{ID: id("any")})
		}))
	}
}

func closed(e *env) {
	e.createFlow("f", "a")
	e.must(e.store.Close())
	_, errNode := e.store.Node(e.Context(), e.ns, id("a"))
	_, errFlow := e.store.Flow(e.Context(), e.ns, id("f"))
	_, errFlush := e.store.Flush(e.Context(), e.ns)
	_, errProblems := e.store.Problems(e.Context(), e.ns)
	_, errLook := e.store.Look(e.Context(), e.ns, func(int, int) {})
	_, errMend := e.store.Mend(e.Context(), e.ns, store.MendOptions{}, func(int, int) {})
	_, errNodes := e.store.Nodes(e.Context(), e.ns, store.NewestFirst, store.Entry{}, 1)
	_, errFlows := e.store.Flows(e.Context(), e.ns, store.NewestFirst, store.Entry{}, 1)
	_, errDropped := e.store.Dropped(e.Context(), e.ns, store.KindNode, store.Entry{}, 1)
	_, errRevisions := e.store.Revisions(e.Context(), e.ns, id("a"))
	_, errRevision := e.store.Revision(e.Context(), e.ns, id("a"), store.Revision{Number: 1})
	_, errEvents := e.store.Events(e.Context(), e.ns, 0, 1)
	_, errLast := e.store.LastEvent(e.Context(), e.ns)
	errUpdate := e.update(func(store.Tx) error { return nil })
	for _, err := range []error{errNode, errFlow, errNodes, errFlows, errFlush, errProblems, errDropped, errRevisions, errRevision, errEvents, errLast, errLook, errMend, errUpdate} {
		e.is(err, store.ErrClosed)
	}
	e.must(e.store.Close())
	e.open(e.T)
}
