package command

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/flow"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/node"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store/audit"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store/files"
	"github.com/tsumugi-dev/tsumugi/services/internal/filesys"
)

// writer does things at random to a clone.
type writer struct {
	clone
	*rand.Rand
	name  string
	count int
	// flow is what the work came to.
	flow flow.Flow
}

// work does n things, in one go of the store.
func (w *writer) work(n int) {
	w.Helper()
	s, err := files.Open(files.Options{Data: w.data})
	w.must(err)
	for range n {
		alive, err := s.Nodes(w.Context(), ns, store.OldestFirst, store.Entry{}, 1000)
		w.must(err)
		dropped, err := s.Dropped(w.Context(), ns, store.KindNode, store.Entry{}, 1000)
		w.must(err)
		w.must(s.Update(w.Context(), ns, func(tx store.Tx) error { return w.step(tx, alive, dropped) }))
		if w.IntN(3) == 0 { // Else several changes come into a file at once.
			_, err := s.Flush(w.Context(), ns)
			w.must(err)
		}
	}
	w.must(s.Close())
	w.commit()
}

func (w *writer) step(tx store.Tx, alive, dropped []store.Entry) error {
	one := func(list []store.Entry) uuid.UUID { return list[w.IntN(len(list))].ID }
	switch kind := w.IntN(10); {
	case kind < 3 || len(alive) == 0:
		return w.create(tx)
	case kind < 5:
		w.count++
		return replaceText(tx, one(alive), fmt.Sprintf("text %s.%d.", w.name, w.count))
	case kind < 7:
		return remove(tx, one(alive), []flow.RemoveMode{flow.Splice, flow.Splice, flow.Subtree}[w.IntN(3)])
	case kind < 8 && len(dropped) > 0:
		return tx.Restore(store.Thing{Kind: store.KindNode, ID: one(dropped)})
	case kind < 9 && len(dropped) > 0:
		return tx.Purge(store.Thing{Kind: store.KindNode, ID: one(dropped)}, "asked for")
	}
	return w.connect(tx)
}

func (w *writer) create(tx store.Tx) error {
	w.count++
	name := fmt.Sprintf("text %s.%d.", w.name, w.count)
	f, err := tx.Flow(novel)
	if err != nil {
		return err
	}
	c := flow.Change{At: tx.Now(), Add: []flow.Member{{Index: f.Next, Node: idOf(name)}}}
	if n := len(f.Members); n > 0 {
		c.Connect = []flow.Edge{{From: f.Members[w.IntN(n)].Index, To: f.Next}}
	}
	return errors.Join(
		tx.CreateNode(node.Node{ID: idOf(name), Created: tx.Now(), Texts: []node.Text{{Role: "user", Content: name}}, Summary: node.Summary{Stale: true}}),
		tx.ChangeFlow(novel, c),
	)
}

// connect puts a node that no flow holds into it, or connects two.
func (w *writer) connect(tx store.Tx) error {
	f, err := tx.Flow(novel)
	if err != nil || len(f.Members) < 2 {
		return err
	}
	a, b := f.Members[w.IntN(len(f.Members))].Index, f.Members[w.IntN(len(f.Members))].Index
	c := flow.Change{At: tx.Now(), Connect: []flow.Edge{{From: min(a, b), To: max(a, b)}}}
	if f.Check(c) == nil {
		err = tx.ChangeFlow(novel, c)
	}
	return err
}

// known is what a clone has: texts by node, and what it purged.
type known struct {
	texts  map[uuid.UUID]string
	purged map[uuid.UUID]bool
}

func (c clone) known(ids map[uuid.UUID]bool) known {
	c.Helper()
	s, err := files.Open(files.Options{Data: c.data})
	c.must(err)
	defer func() { c.must(s.Close()) }()
	k := known{map[uuid.UUID]string{}, map[uuid.UUID]bool{}}
	for id := range ids {
		n, err := s.Node(c.Context(), ns, id)
		if errors.As(err, new(*store.DroppedError)) {
			n, _, err = s.DroppedNode(c.Context(), ns, id)
		}
		switch {
		case err == nil:
			k.texts[id] = n.Texts[0].Content
		case errors.As(err, new(*store.PurgedError)):
			k.purged[id] = true
		case errors.Is(err, store.ErrNodeNotFound):
		default:
			c.Errorf("%s: %v", id, err)
		}
	}
	return k
}

// held gives all bytes of nodes, in the tree and in the trash.
func (c clone) held() string {
	c.Helper()
	var all strings.Builder
	for _, folder := range []string{"nodes", "trash/nodes"} {
		names, err := filepath.Glob(filepath.Join(c.tree, folder, "*", "*.xml"))
		c.must(err)
		for _, name := range names {
			all.WriteString(read(c.T, name))
		}
	}
	return all.String()
}

// ids are those that writers may have made.
func ids(writers ...*writer) map[uuid.UUID]bool {
	all := map[uuid.UUID]bool{idOf("one"): true}
	for _, w := range writers {
		for n := range w.count {
			all[idOf(fmt.Sprintf("text %s.%d.", w.name, n+1))] = true
		}
	}
	return all
}

// Two clones do twenty things each, of all that can be done to nodes, and are merged: every text that either has, and none
// purged, is there; a node that stays continues what it continued; nothing that was purged is; and check finds nothing but nodes that both edited.
func TestResolveRandomHistories(t *testing.T) {
	t.Parallel()
	seeds := 20
	if testing.Short() {
		seeds = 3
	}
	for seed := range seeds {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			t.Parallel()
			randomHistories(t, uint64(seed))
		})
	}
}

func randomHistories(t *testing.T, seed uint64) {
	x, y := clones(t)
	random := rand.New(rand.NewPCG(seed, 5))
	before := &writer{clone: x, Rand: random, name: "base"}
	before.work(8)
	y.git("pull", "-q", "--ff-only", x.tree, "HEAD")
	ours, theirs := &writer{clone: x, Rand: random, name: "ours"}, &writer{clone: y, Rand: random, name: "theirs"}
	all := func() map[uuid.UUID]bool { return ids(before, ours, theirs) }
	base := x.known(all())
	before.flow, _ = x.read()
	ours.work(20)
	theirs.work(20)
	a, b := x.known(all()), y.known(all())
	ours.flow, _ = x.read()
	theirs.flow, _ = y.read()
	said := x.join(y)
	gone := func(id uuid.UUID) bool { return a.purged[id] || b.purged[id] }
	wantHistory(t, before.flow, ours.flow, theirs.flow, x, gone, said)
	wantHistory(t, before.flow, theirs.flow, ours.flow, x, gone, said)
	x.wantTexts(all(), base, a, b)
	x.wantOnlyDuplicates()
	if t.Failed() {
		t.Log(said)
	}
}

// wantTexts wants, of what two sides had, every node and every text that is not what they come from, and nothing that either purged.
func (c clone) wantTexts(all map[uuid.UUID]bool, base, a, b known) {
	c.Helper()
	merged, text := c.known(all), c.held()
	for id := range all {
		gone := a.purged[id] || b.purged[id]
		if _, there := merged.texts[id]; there == gone && (gone || a.texts[id] != "" || b.texts[id] != "") || gone != merged.purged[id] {
			c.Errorf("%s: %q and %q became %q (purged: %t)", id, a.texts[id], b.texts[id], merged.texts[id], merged.purged[id])
		}
		for _, side := range []known{a, b} {
			if want := side.texts[id]; !gone && want != base.texts[id] && !strings.Contains(text, want) {
				c.Errorf("%s: %q is in no file", id, want)
			}
		}
	}
}

// wantOnlyDuplicates wants check to find nothing but nodes that are in two files.
func (c clone) wantOnlyDuplicates() {
	c.Helper()
	tree, err := filesys.Open(c.tree)
	c.must(err)
	defer func() { c.must(tree.Close()) }()
	r, err := audit.Look(c.Context(), tree, audit.Options{})
	c.must(err)
	for _, f := range r.Findings {
		if f.Kind != store.DamageDuplicateID {
			c.Errorf("check: %s %s: %s", f.Kind, f.Path, f.Reason)
		}
	}
}

// wantHistory wants a node that one side has, and that stays although the other one took it out, to continue all that it
// continues there; what was purged is passed over.
func wantHistory(t *testing.T, base, has, other flow.Flow, merged clone, purged func(uuid.UUID) bool, said string) {
	t.Helper()
	f, _ := merged.read()
	var want func(index int, id uuid.UUID)
	want = func(index int, id uuid.UUID) {
		for _, e := range has.Edges {
			before, _ := has.NodeAt(e.From)
			switch to, in := f.IndexOf(id); {
			case e.To != index || !in:
			case purged(before):
				want(e.From, id)
			case strings.Contains(said, fmt.Sprintf("%s -> %s of theirs is left out", before, id)):
			default:
				if from, in := f.IndexOf(before); !in || !slices.ContainsFunc(f.Edges, func(e flow.Edge) bool { return e.From == from && e.To == to }) {
					t.Errorf("%s does not continue %s any more", id, before)
				}
			}
		}
	}
	for _, m := range has.Members {
		_, old := base.IndexOf(m.Node)
		if _, held := other.IndexOf(m.Node); old && !held {
			want(m.Index, m.Node)
		}
	}
}
