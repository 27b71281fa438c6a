package library_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/flow"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/library"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/node"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store/files"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store/memory"
)

// openFiles opens a folder of text files.
func openFiles(t *testing.T, data string) store.Store {
	t.Helper()
	s, err := files.Open(files.Options{Data: data, Clock: clock})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// chain makes a flow of nodes that continue each other.
func chain(t *testing.T, l *library.Library, n int) (f uuid.UUID, nodes []uuid.UUID) {
	t.Helper()
	f = newFlow(t, l)
	var parents []uuid.UUID
	for i := range n {
		parents = []uuid.UUID{add(t, l, f, fmt.Sprint("node ", i), parents...)}
		nodes = append(nodes, parents...)
	}
	return f, nodes
}

// A subtree that was deleted comes back with one undo, and goes with one redo, also when the store was opened anew.
func TestUndoOfADeletedSubtree(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	kept := memory.New(clock)
	for name, reopen := range map[string]func(s store.Store) store.Store{
		"memory": func(store.Store) store.Store { return kept },
		"files": func(s store.Store) store.Store {
			if s != nil {
				if err := s.Close(); err != nil {
					t.Error(err)
				}
			}
			return openFiles(t, data)
		},
	} {
		s := reopen(nil)
		l := library.New(s, &counting{})
		ctx := t.Context()
		f, nodes := chain(t, l, 40)
		before, err := l.Flow(ctx, ns, f)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := l.Delete(ctx, ns, library.Deletion{Node: nodes[5], Mode: flow.Subtree}); err != nil {
			t.Fatal(err)
		}
		for round := range 2 {
			s = reopen(s)
			l = library.New(s, &counting{})
			inTrash(t, s, nodes[5:]...)
			u, err := l.Undo(ctx, ns, library.Operation{Flow: f}, false)
			if err != nil {
				t.Fatalf("%s, round %d: %v", name, round, err)
			}
			if diff := cmp.Diff(before, u.Flow, butUndone); diff != "" {
				t.Errorf("%s: %s", name, diff)
			}
			s = reopen(s)
			l = library.New(s, &counting{})
			inTrash(t, s)
			for i, n := range nodes {
				if got, err := l.Node(ctx, ns, n); err != nil || got.Texts[0].Content != fmt.Sprint("node ", i) {
					t.Errorf("%s: %v, %+v", name, err, got)
				}
			}
			if u, err = l.Undo(ctx, ns, library.Operation{Flow: f}, true); err != nil || len(u.Flow.Members) != 5 {
				t.Errorf("%s: done again, %v left, %v", name, u.Flow.Members, err)
			}
		}
	}
}

// inTrash expects the trash to hold these nodes, and no others.
func inTrash(t *testing.T, s store.Store, nodes ...uuid.UUID) {
	t.Helper()
	entries, err := s.Dropped(t.Context(), ns, store.KindNode, store.Entry{}, 1000)
	if err != nil || len(entries) != len(nodes) {
		t.Errorf("%d nodes are in the trash, %d should be: %v", len(entries), len(nodes), err)
	}
	for _, n := range nodes {
		if _, _, err := s.DroppedNode(t.Context(), ns, n); err != nil {
			t.Errorf("%s: %v", n, err)
		}
	}
}

// Where some of the nodes were purged nothing comes back, and all of those are told.
func TestUndoOfADeletionThatWasPurged(t *testing.T) {
	t.Parallel()
	s := memory.New(clock)
	l := library.New(s, &counting{})
	f, nodes := chain(t, l, 4)
	if _, err := l.Delete(t.Context(), ns, library.Deletion{Node: nodes[0], Mode: flow.Subtree}); err != nil {
		t.Fatal(err)
	}
	updated(t, s, func(tx store.Tx) (err error) {
		for _, n := range nodes[1:3] {
			err = errors.Join(err, tx.Purge(store.Thing{Kind: store.KindNode, ID: n}, "r"))
		}
		return err
	})
	_, err := l.Undo(t.Context(), ns, library.Operation{Flow: f}, false)
	wantGone(t, err, 2, "cannot be undone any more, nor any before it: "+node.Name(nodes[1])+" was purged at ")
	inTrash(t, s, nodes[0], nodes[3])
	if got, err := l.Flow(t.Context(), ns, f); err != nil || len(got.Members) != 0 {
		t.Errorf("%v, the flow holds %v", err, got.Members)
	}
}

// wantGone wants an undo refused for ever by so many nodes, in these words.
func wantGone(t *testing.T, err error, nodes int, words string) {
	t.Helper()
	all := []error{err}
	if many := (*library.ManyError)(nil); errors.As(err, &many) {
		all = many.Errs
	}
	for _, one := range all {
		if refused := (*library.UndoRefusedError)(nil); !errors.As(one, &refused) || !wasPurged(refused.Cause) {
			t.Errorf("refused by %v", one)
		}
	}
	if len(all) != nodes || !strings.Contains(err.Error(), words) {
		t.Errorf("refused by %d: %v", len(all), err)
	}
}

// What was purged cannot come back by doing again either.
func TestRedoOfANodeThatWasPurged(t *testing.T) {
	t.Parallel()
	s := memory.New(clock)
	l := library.New(s, &counting{})
	f, nodes := chain(t, l, 1)
	if _, err := l.Undo(t.Context(), ns, library.Operation{Flow: f}, false); err != nil {
		t.Fatal(err)
	}
	updated(t, s, func(tx store.Tx) error { return tx.Purge(store.Thing{Kind: store.KindNode, ID: nodes[0]}, "r") })
	_, err := l.Undo(t.Context(), ns, library.Operation{Flow: f}, true)
	wantGone(t, err, 1, "cannot be done again any more, nor any after it: "+node.Name(nodes[0])+" was purged at ")
}

// A deletion from two flows is undone in each of them; doing it again in one leaves what the other holds.
func TestUndoOfADeletionFromTwoFlows(t *testing.T) {
	t.Parallel()
	s := memory.New(clock)
	w := share(t, library.New(s, &counting{}), func(w drawn) []uuid.UUID { return []uuid.UUID{w.b} })
	if _, err := w.delete(t, w.b, flow.Splice); err != nil {
		t.Fatal(err)
	}
	move := func(f uuid.UUID, redo bool, trash ...uuid.UUID) {
		t.Helper()
		if _, err := w.l.Undo(t.Context(), ns, library.Operation{Flow: f}, redo); err != nil {
			t.Fatal(err)
		}
		inTrash(t, s, trash...)
	}
	inTrash(t, s, w.b)
	move(w.flow, false)
	move(w.other, false)
	move(w.flow, true)
	move(w.other, true, w.b)
	// It came out of the trash by itself meanwhile, which is no matter.
	if _, err := w.l.UndeleteNode(t.Context(), ns, library.Return{ID: w.b}); err != nil {
		t.Fatal(err)
	}
	move(w.flow, false)
}

// weighed measures what an update holds in memory when it has done its work.
type weighed struct {
	store.Store
	held uint64
}

func (w *weighed) Update(ctx context.Context, ns string, fn func(store.Tx) error) error {
	return w.Store.Update(ctx, ns, func(tx store.Tx) error {
		before := inUse()
		err := fn(tx)
		after := inUse()
		w.held = max(w.held, after-min(before, after))
		return err
	})
}

// inUse is how much memory is in use.
func inUse() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// Deleting, undoing, doing again and purging hold one node at a time, however large all of them are together: 11 MB here.
//
//nolint:paralleltest // It measures the memory of the process.
func TestManyLargeNodesComeAndGoInLittleMemory(t *testing.T) {
	w := &weighed{Store: openFiles(t, t.TempDir())}
	l := library.New(w, &counting{})
	f, nodes := chain(t, l, 1)
	for range 11 {
		nodes = append(nodes, add(t, l, f, strings.Repeat("長い文。", 1<<20/12), nodes[0]))
	}
	if _, err := w.Flush(t.Context(), ns); err != nil {
		t.Fatal(err)
	}
	for _, step := range []struct {
		name string
		do   func() error
	}{
		{"delete", func() error {
			_, err := l.Delete(t.Context(), ns, library.Deletion{Node: nodes[0], Mode: flow.Subtree})
			return err
		}},
		{"undo", func() error { _, err := l.Undo(t.Context(), ns, library.Operation{Flow: f}, false); return err }},
		{"redo", func() error { _, err := l.Undo(t.Context(), ns, library.Operation{Flow: f}, true); return err }},
		{"undo again", func() error { _, err := l.Undo(t.Context(), ns, library.Operation{Flow: f}, false); return err }},
		{"delete the flow", func() error { _, err := l.DeleteFlow(t.Context(), ns, library.Operation{Flow: f}); return err }},
		{"purge", func() error {
			_, err := l.PurgeFlow(t.Context(), ns, library.Purge{ID: f, Reason: "r", Nodes: true})
			return err
		}},
	} {
		w.held = 0
		if err := step.do(); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Flush(t.Context(), ns); err != nil {
			t.Fatal(err)
		}
		t.Logf("%s holds %d KB", step.name, w.held>>10)
		if w.held > 4<<20 {
			t.Errorf("%s holds %d KB", step.name, w.held>>10)
		}
	}
}
