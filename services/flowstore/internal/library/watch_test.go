package library_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/library"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store/memory"
)

// errAllTold is what replay answers where there is nothing to wait for.
var errAllTold = errors.New("there are no more events")

// replay is a store in which nobody waits for events, and which has lost those before first.
type replay struct {
	store.Store
	first int64
}

func (r replay) Events(ctx context.Context, ns string, since int64, n int) ([]store.Event, error) {
	if since < r.first {
		return nil, store.ErrPruned
	}
	last, err := r.LastEvent(ctx, ns)
	if err == nil && since == last {
		return nil, errAllTold
	}
	return r.Store.Events(ctx, ns, since, n)
}

// told reads a watch to the end, and gives the kinds and numbers of what it was given.
func told(t *testing.T, w *library.Watch) string {
	t.Helper()
	var list []string
	for {
		e, err := w.Next(t.Context())
		switch {
		case errors.Is(err, errAllTold):
			return strings.Join(list, ", ")
		case errors.Is(err, store.ErrPruned):
			list = append(list, "pruned")
		case err != nil:
			t.Fatal(err)
		default:
			list = append(list, fmt.Sprintf("%s %s", e.Kind, number(e.Of.ID)))
		}
	}
}

func watch(t *testing.T, l *library.Library, since *int64, f library.EventFilter) *library.Watch {
	t.Helper()
	w, err := l.Watch(t.Context(), ns, since, f)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// update writes past the library.
func commit(t *testing.T, s store.Store, fn func(store.Tx) error) {
	t.Helper()
	if err := s.Update(t.Context(), ns, fn); err != nil {
		t.Fatal(err)
	}
}

func TestWatchFilters(t *testing.T) {
	t.Parallel()
	s := replay{Store: memory.New(clock)}
	l := library.New(s, &counting{})
	from := watch(t, l, nil, library.EventFilter{}).Seq()
	f := newFlow(t, l) // 1000
	one := add(t, l, f, "一")
	two := add(t, l, f, "二", one)
	loose, err := l.CreateNode(t.Context(), ns, library.NewNode{Node: said("外")}) // 3
	if err != nil {
		t.Fatal(err)
	}
	commit(t, s, func(tx store.Tx) error {
		n, err := tx.Node(one)
		n.Tags = []string{"夜"}
		return errors.Join(err, tx.ReplaceNode(n))
	})
	commit(t, s, func(tx store.Tx) error {
		return errors.Join(tx.Drop(store.Thing{Kind: store.KindNode, ID: loose.ID}), tx.Drop(store.Thing{Kind: store.KindFlow, ID: id(1000)}))
	})
	last, err := s.LastEvent(t.Context(), ns)
	if err != nil {
		t.Fatal(err)
	}
	held := "node_created 1, flow_updated 1000, node_created 2, flow_updated 1000, "
	all := "flow_created 1000, " + held + "node_created 3, tags_updated 1, node_deleted 3, flow_deleted 1000"
	for title, tt := range map[string]struct {
		filter library.EventFilter
		want   string
	}{
		"all":            {library.EventFilter{}, all},
		"kinds":          {library.EventFilter{Kinds: []store.EventKind{store.TagsUpdated, store.NodeDeleted}}, "tags_updated 1, node_deleted 3"},
		"a node":         {library.EventFilter{Nodes: []uuid.UUID{one, loose.ID}}, "node_created 1, node_created 3, tags_updated 1, node_deleted 3"},
		"a gone flow":    {library.EventFilter{Flows: []uuid.UUID{f}}, "flow_created 1000, flow_updated 1000, flow_updated 1000, flow_deleted 1000"},
		"flow and kind":  {library.EventFilter{Flows: []uuid.UUID{f}, Kinds: []store.EventKind{store.FlowDeleted, store.NodeCreated}}, "flow_deleted 1000"},
		"flow or node":   {library.EventFilter{Flows: []uuid.UUID{f}, Nodes: []uuid.UUID{two}}, "flow_created 1000, flow_updated 1000, node_created 2, flow_updated 1000, flow_deleted 1000"},
		"nobody's":       {library.EventFilter{Nodes: []uuid.UUID{id(404)}, Flows: []uuid.UUID{id(405)}}, ""},
		"a flow as node": {library.EventFilter{Nodes: []uuid.UUID{f}}, ""},
	} {
		w := watch(t, l, &from, tt.filter)
		if diff := cmp.Diff(tt.want, told(t, w)); diff != "" {
			t.Errorf("%s: %s", title, diff)
		}
		if w.Seq() != last {
			t.Errorf("%s: %d of %d are known", title, w.Seq()-from, last-from)
		}
	}
	commit(t, s, func(tx store.Tx) error { return tx.Restore(store.Thing{Kind: store.KindFlow, ID: f}) })
	if got := told(t, watch(t, l, &from, library.EventFilter{Flows: []uuid.UUID{f}})); got != "flow_created 1000, "+held+"tags_updated 1, flow_deleted 1000, flow_created 1000" {
		t.Errorf("of a flow and its nodes: %s", got)
	}
}

// A watcher that reads page by page is told each event once; one that was away too long is told so, and goes on from there.
func TestWatchPagesAndLosses(t *testing.T) {
	t.Parallel()
	s := memory.New(clock)
	l := library.New(replay{Store: s}, &counting{})
	w := watch(t, l, nil, library.EventFilter{})
	from := w.Seq()
	commit(t, s, func(tx store.Tx) error {
		for i := range uint32(250) {
			n := said("x")
			n.ID, n.Created = id(i+1), tx.Now()
			if err := tx.CreateNode(n); err != nil {
				return err
			}
		}
		return nil
	})
	for i := range int64(250) {
		e, err := w.Next(t.Context())
		if err != nil || e.Seq != from+i+1 || w.Seq() != e.Seq || e.Of.ID != id(uint32(i+1)) {
			t.Fatalf("event %d is %+v, %v; known are %d", i, e, err, w.Seq()-from)
		}
	}
	lost := library.New(replay{s, from + 10}, &counting{})
	w = watch(t, lost, &from, library.EventFilter{})
	if _, err := w.Next(t.Context()); !errors.Is(err, store.ErrPruned) || w.Seq() != from+250 || w.Last() != from+250 {
		t.Fatalf("%v; known are %d, the last one is %d", err, w.Seq()-from, w.Last()-from)
	}
	commit(t, s, func(tx store.Tx) error { return tx.Drop(store.Thing{Kind: store.KindNode, ID: id(7)}) })
	if got := told(t, w); got != "node_deleted 7" {
		t.Errorf("after the loss: %s", got)
	}
	never := from + 1000
	if got := told(t, watch(t, l, &never, library.EventFilter{})); got != "pruned" {
		t.Errorf("from a number that never was: %s", got)
	}
}

// An error between two events loses none, and a busy store does not keep a watcher from leaving.
func TestWatchGivesUp(t *testing.T) {
	t.Parallel()
	s := memory.New(clock)
	l := library.New(replay{Store: s}, &counting{})
	from := watch(t, l, nil, library.EventFilter{}).Seq()
	f := newFlow(t, l)
	add(t, l, f, "一")
	only := library.EventFilter{Flows: []uuid.UUID{f}, Kinds: []store.EventKind{store.NodeCreated}}
	broken := library.New(lost{replay{Store: s}, map[uuid.UUID]error{f: &store.UnreadableError{Path: "flows/000/000.yaml"}}}, &counting{})
	if got := told(t, watch(t, broken, &from, only)); got != "" {
		t.Errorf("of a flow that cannot be read: %s", got)
	}
	failing := library.New(lost{replay{Store: s}, map[uuid.UUID]error{f: errors.New("the disk")}}, &counting{})
	w := watch(t, failing, &from, only)
	for range 2 {
		if _, err := w.Next(t.Context()); err == nil || w.Seq() != from {
			t.Fatalf("a flow that cannot be told from others: %v, known are %d", err, w.Seq()-from)
		}
	}
	gone, leave := context.WithCancel(t.Context())
	leave()
	w = watch(t, l, &from, library.EventFilter{})
	if _, err := w.Next(gone); !errors.Is(err, context.Canceled) || w.Seq() != from {
		t.Errorf("%v, known are %d", err, w.Seq()-from)
	}
	if got := told(t, w); got != "flow_created 1000, node_created 1, flow_updated 1000" {
		t.Error(got)
	}
}
