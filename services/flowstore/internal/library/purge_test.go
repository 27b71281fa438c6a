package library_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/flow"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/library"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/node"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store/memory"
	"github.com/tsumugi-dev/tsumugi/services/internal/testkit"
)

// updated runs a function that must succeed.
func updated(t *testing.T, s store.Store, fn func(tx store.Tx) error) {
	t.Helper()
	if err := s.Update(t.Context(), ns, fn); err != nil {
		t.Fatal(err)
	}
}

// holder is a store with flows 10 (nodes 1, 2, 3), 11 (node 2) and 12 (node 3).
func holder(t *testing.T) *memory.Store {
	t.Helper()
	s := memory.New(clock)
	updated(t, s, func(tx store.Tx) (err error) {
		for _, n := range []uint32{1, 2, 3} {
			err = errors.Join(err, tx.CreateNode(node.Node{ID: id(n)}))
		}
		for f, held := range map[uint32][]uint32{10: {1, 2, 3}, 11: {2}, 12: {3}} {
			made := flow.Flow{ID: id(f), Name: "n", Next: len(held) + 1}
			for i, n := range held {
				made.Members = append(made.Members, flow.Member{Index: i + 1, Node: id(n)})
			}
			err = errors.Join(err, tx.CreateFlow(made))
		}
		return err
	})
	return s
}

func dropThing(t *testing.T, s store.Store, kind store.Kind, n uint32) {
	t.Helper()
	updated(t, s, func(tx store.Tx) error { return tx.Drop(store.Thing{Kind: kind, ID: id(n)}) })
}

func purgeThing(t *testing.T, s store.Store, kind store.Kind, n uint32) {
	t.Helper()
	updated(t, s, func(tx store.Tx) error { return tx.Purge(store.Thing{Kind: kind, ID: id(n)}, "r") })
}

func wasPurged(err error) bool {
	var purged *store.PurgedError
	return errors.As(err, &purged)
}

// A flow takes the nodes along that no other flow holds, also none in the trash, wherever they are themselves.
func TestPurgeFlowAndItsNodes(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		nodes bool
		more  func(s store.Store)
		want  []uuid.UUID
	}{
		"keep":                   {false, func(store.Store) {}, nil},
		"its own":                {true, func(store.Store) {}, []uuid.UUID{id(1)}},
		"its own, in the trash":  {true, func(s store.Store) { dropThing(t, s, store.KindNode, 1) }, []uuid.UUID{id(1)}},
		"another, in the trash":  {true, func(s store.Store) { dropThing(t, s, store.KindFlow, 11) }, []uuid.UUID{id(1)}},
		"another that is purged": {true, func(s store.Store) { purgeThing(t, s, store.KindFlow, 11) }, []uuid.UUID{id(1), id(2)}},
		"one was purged before":  {true, func(s store.Store) { purgeThing(t, s, store.KindNode, 1) }, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := holder(t)
			tt.more(s)
			dropThing(t, s, store.KindFlow, 10)
			l := library.New(s, &counting{})
			got, err := l.PurgeFlow(t.Context(), ns, library.Purge{ID: id(10), Reason: "r", Nodes: tt.nodes})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got.Nodes); diff != "" {
				t.Error(diff)
			}
			for _, gone := range tt.want {
				if _, err := l.Node(t.Context(), ns, gone); !wasPurged(err) {
					t.Errorf("%s: %v", gone, err)
				}
			}
			if _, err := l.Node(t.Context(), ns, id(3)); err != nil {
				t.Error(err)
			}
		})
	}
}

// The request that made a purged node does not make it again when it is repeated.
func TestARepeatedRequestBringsNothingBack(t *testing.T) {
	t.Parallel()
	s := memory.New(clock)
	l := library.New(s, &counting{})
	in := library.NewNode{Node: node.Node{Texts: []node.Text{{Role: "user", Content: "x"}}}, Request: id(900)}
	made, err := l.CreateNode(t.Context(), ns, in)
	if err != nil {
		t.Fatal(err)
	}
	updated(t, s, func(tx store.Tx) error { return tx.Purge(store.Thing{Kind: store.KindNode, ID: made.ID}, "r") })
	if _, err := l.CreateNode(t.Context(), ns, in); !wasPurged(err) {
		t.Errorf("made again: %v", err)
	}
}

// Only what is in the trash is purged: what is not is refused with what to do, which coming back is not told.
func TestPurgeOfWhatIsNotDeleted(t *testing.T) {
	t.Parallel()
	l := library.New(holder(t), &counting{})
	_, purged := l.PurgeNode(t.Context(), ns, library.Purge{ID: id(1), Reason: "r"})
	expect(t, &library.NotDeletedError{Kind: store.KindNode, ID: id(1), Purge: true}, purged)
	_, back := l.UndeleteNode(t.Context(), ns, library.Return{ID: id(1)})
	expect(t, &library.NotDeletedError{Kind: store.KindNode, ID: id(1)}, back)
	const todo = "delete it first"
	if !strings.Contains(purged.Error(), todo) || strings.Contains(back.Error(), todo) {
		t.Errorf("%v; %v", purged, back)
	}
}

// A flow with too many nodes of its own is purged with none of them.
func TestPurgeOfTooManyNodes(t *testing.T) {
	t.Parallel()
	testkit.WithoutRace(t)
	s := memory.New(clock)
	updated(t, s, func(tx store.Tx) (err error) {
		f := flow.Flow{ID: id(10), Name: "n", Next: library.MaxPurged + 2}
		for i := range library.MaxPurged + 1 {
			n := node.Node{ID: id(uint32(1000 + i))}
			f.Members = append(f.Members, flow.Member{Index: i + 1, Node: n.ID})
			err = errors.Join(err, tx.CreateNode(n))
		}
		return errors.Join(err, tx.CreateFlow(f))
	})
	dropThing(t, s, store.KindFlow, 10)
	l := library.New(s, &counting{})
	_, err := l.PurgeFlow(t.Context(), ns, library.Purge{ID: id(10), Reason: "r", Nodes: true})
	expect(t, &library.PurgeTooLargeError{Flow: id(10)}, err)
	if _, err := l.Node(t.Context(), ns, id(1000)); err != nil {
		t.Error(err)
	}
}
