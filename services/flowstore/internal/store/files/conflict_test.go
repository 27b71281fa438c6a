package files

import (
	"errors"
	"os"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/flow"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store/format"
)

// The place of a pending node is taken: by hand, or by git (cases/flowstore.md 32). Both files stay.
func TestANodeWhosePlaceIsTaken(t *testing.T) {
	t.Parallel()
	theirs := string(format.EncodeNode(nodeOf("theirs", "text")))
	for name, c := range map[string]struct {
		theirs  string
		running bool
	}{
		"by a node, while the store runs":  {theirs, true},
		"by a node, after a crash":         {theirs, false},
		"by no node, while the store runs": {"<<<<<<< ours\n", true},
		"by no node, after a crash":        {"", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newDesk(t)
			d.must(errors.Join(d.createNode("one"), d.createNode("two")))
			take := func() { d.put("nodes/000/000.xml", c.theirs) }
			if c.running {
				take()
			} else {
				d.crash(take)
			}
			d.flushed()
			d.text("one")
			if !slices.Contains(d.problemPaths(), "nodes/000/000.xml") {
				t.Errorf("problems of %q", d.problemPaths())
			}
			d.restart()
			if d.read("nodes/000/000.xml") != c.theirs || !strings.Contains(d.read("nodes/000/002.xml"), idOf("one").String()) {
				t.Error("theirs was changed, or ours is not beside it")
			}
			d.text("one")
			if c.theirs == theirs {
				d.text("theirs")
				d.wantProblems()
				d.nodes[idOf("theirs")] = nodeOf("theirs", "text")
				d.must(d.findsInTree(filesysOf(d)))
			} else {
				d.wantProblems("nodes/000/000.xml")
			}
		})
	}
}

func TestANodeWhosePlaceHoldsItself(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.must(d.createNode("one"))
	body := string(d.store.spaces[ns].space.pending.nodes[idOf("one")].body)
	d.crash(func() { d.put("nodes/000/000.xml", body) })
	d.flushed()
	d.wantProblems()
	d.must(d.findsInTree(filesysOf(d)))
}

func TestAFlowThatAHandChangedWhileAChangeWasPending(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.must(errors.Join(d.createFlow("novel"), d.addNode("novel", "a")))
	d.flushed()
	d.must(d.addNode("novel", "b"))
	d.edit("flows/000/000.yaml", "name: \"novel\"", "name: 長編")
	theirs := d.edit("flows/000/000.yaml", "updated: 2026", "updated: 2030")
	d.flushed()
	for range 2 {
		if f := d.flowOf("novel"); f.Name != "novel" || len(f.Members) != 2 {
			t.Errorf("what was acknowledged is not what is read: %+v", f)
		}
		if d.read("flows/000/000.yaml") != theirs || !d.exists("flows/000/001.yaml") {
			t.Error("theirs was changed, or ours is not beside it")
		}
		if !slices.Contains(d.problemPaths(), "flows/000/000.yaml") {
			t.Errorf("problems of %q", d.problemPaths())
		}
		d.restart()
	}
	d.must(os.Remove(d.path("flows/000/001.yaml")))
	d.restart()
	d.wantProblems()
	if f := d.flowOf("novel"); f.Name != "長編" || len(f.Members) != 1 {
		t.Errorf("without ours it is theirs: %+v", f)
	}
}

// A hand changed the file after a crash: what the flow was is in no place any more, what was done to it is.
func TestChangesOfAFlowThatAHandChangedAfterACrash(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.must(errors.Join(d.createFlow("novel"), d.addNode("novel", "a"), d.addNode("novel", "b")))
	d.flushed()
	d.must(errors.Join(d.addNode("novel", "c"), d.addNode("novel", "d")))
	var theirs string
	d.crash(func() {
		theirs = d.edit("flows/000/000.yaml", "name: \"novel\"", "name: 長編")
		theirs = d.edit("flows/000/000.yaml", "  - index: 2\n", "  - index: 3\n    id: "+idOf("x").String()+"\n  - index: 2\n")
	})
	for range 2 {
		d.flushed()
		f := d.flowOf("novel")
		wantMembers := []flow.Member{{Index: 1, Node: idOf("a")}, {Index: 2, Node: idOf("b")}, {Index: 3, Node: idOf("x")},
			{Index: 4, Node: idOf("c")}, {Index: 5, Node: idOf("d")}}
		wantEdges := []flow.Edge{{From: 1, To: 2}, {From: 2, To: 4}, {From: 4, To: 5}}
		if f.Name != "長編" || !slices.Equal(f.Members, wantMembers) || !slices.Equal(f.Edges, wantEdges) || f.Current != 5 {
			t.Errorf("the flow is %+v", f)
		}
		if d.read("flows/000/000.yaml") != theirs {
			t.Error("theirs was changed")
		}
		if !slices.Contains(d.problemPaths(), "flows/000/000.yaml") {
			t.Errorf("problems of %q", d.problemPaths())
		}
		d.restart()
	}
}

// The file went away or broke after a crash: the changes wait for it.
func TestChangesOfAFlowWhoseFileIsGoneAfterACrash(t *testing.T) {
	t.Parallel()
	for name, damage := range map[string]func(d *desk){
		"gone":   func(d *desk) { d.must(os.Remove(d.path("flows/000/000.yaml"))) },
		"broken": func(d *desk) { d.put("flows/000/000.yaml", "<<<<<<< ours\n") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newDesk(t)
			d.must(errors.Join(d.createFlow("novel"), d.addNode("novel", "a")))
			d.flushed()
			whole := d.read("flows/000/000.yaml")
			d.must(d.addNode("novel", "b"))
			d.crash(func() { damage(d) })
			for range 2 {
				d.flushed()
				if !slices.Contains(d.problemPaths(), "flows/000/000.yaml") {
					t.Errorf("problems of %q", d.problemPaths())
				}
				_, err := d.store.Flow(t.Context(), ns, idOf("novel"))
				if unreadable := new(store.UnreadableError); errors.Is(err, store.ErrFlowNotFound) != (name == "gone") || errors.As(err, &unreadable) != (name == "broken") {
					t.Errorf("error %v", err)
				}
				d.text("b")
				d.restart()
			}
			d.must(d.store.Close())
			d.put("flows/000/000.yaml", whole)
			d.open()
			d.must(d.finds(d.store))
			d.flushed()
			d.must(d.findsInTree(filesysOf(d)))
		})
	}
}

// Identity is the UUID, never the path.
func TestChangesOfAFlowThatAHandMovedAfterACrash(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.must(errors.Join(d.createFlow("novel"), d.addNode("novel", "a")))
	d.flushed()
	d.must(d.addNode("novel", "b"))
	d.crash(func() { d.must(os.Rename(d.path("flows/000/000.yaml"), d.path("flows/000/007.yaml"))) })
	d.flushed()
	d.must(d.finds(d.store))
	if d.exists("flows/000/000.yaml") || !strings.Contains(d.read("flows/000/007.yaml"), idOf("b").String()) {
		t.Error("the change did not follow the file")
	}
	d.must(d.findsInTree(filesysOf(d)))
}

func TestAFlowWhoseFileIsGoneWhileItRuns(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.must(errors.Join(d.createFlow("novel"), d.addNode("novel", "a")))
	d.flushed()
	d.must(d.addNode("novel", "b"))
	d.must(os.Remove(d.path("flows/000/000.yaml")))
	d.flushed()
	d.must(d.finds(d.store))
	d.must(d.findsInTree(filesysOf(d)))
}

// Whatever changes are made and whatever the other version is: the result is a sound flow that holds all members of both.
func TestRebase(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		theirs := drawFlow(t, "theirs")
		ours := drawFlow(t, "ours")
		var changes []flow.Change
		for _, m := range ours.Members {
			changes = append(changes, flow.Change{At: ours.Updated, Add: []flow.Member{m}})
		}
		changes = append(changes, flow.Change{At: ours.Updated, Connect: ours.Edges, Current: &ours.Current})
		got, _ := rebase(theirs, changes)
		for _, m := range theirs.Members {
			if index, ok := got.IndexOf(m.Node); !ok || index != m.Index {
				t.Fatalf("their member %v has index %d, %v", m, index, ok)
			}
		}
		for _, m := range ours.Members {
			if _, ok := got.IndexOf(m.Node); !ok {
				t.Fatalf("our member %v is lost", m)
			}
		}
		again, err := format.DecodeFlow(format.EncodeFlow(got))
		if err != nil || len(again.Problems) > 0 || len(again.Members) != len(got.Members) || len(got.Edges) < len(theirs.Edges) {
			t.Fatalf("the result is no sound flow: %v, %v\n%+v", err, again.Problems, got)
		}
		rebaseTakingAway(t, theirs, ours, changes)
	})
}

// rebaseTakingAway: what we took away is not there, whoever had it, and under which index.
func rebaseTakingAway(t *rapid.T, theirs, ours flow.Flow, changes []flow.Change) {
	if len(ours.Members) == 0 {
		return
	}
	gone := rapid.SampledFrom(ours.Members).Draw(t, "gone")
	got, _ := rebase(theirs, append(changes, flow.Change{At: ours.Updated, Remove: []flow.Member{gone}}))
	if _, held := got.IndexOf(gone.Node); held {
		t.Fatalf("the member %v is still there", gone)
	}
	if len(ours.Edges) == 0 {
		return
	}
	cut := rapid.SampledFrom(ours.Edges).Draw(t, "cut")
	got, _ = rebase(theirs, append(changes, flow.Change{At: ours.Updated, Disconnect: []flow.Edge{cut}}))
	from, _ := ours.NodeAt(cut.From)
	to, _ := ours.NodeAt(cut.To)
	for _, e := range got.Edges {
		if a, _ := got.NodeAt(e.From); a != from {
			continue
		}
		if b, _ := got.NodeAt(e.To); b == to {
			t.Fatalf("the edge %v is still there", cut)
		}
	}
}

// drawFlow makes a flow of up to 6 of 8 nodes, with edges that close no cycle.
func drawFlow(t *rapid.T, name string) flow.Flow {
	f := flow.Flow{ID: idOf("novel"), Name: name, Next: 1}
	for _, i := range rapid.SliceOfNDistinct(rapid.IntRange(0, 7), 0, 6, rapid.ID).Draw(t, name) {
		c := flow.Change{Add: []flow.Member{{Index: f.Next, Node: idOf(string(rune('a' + i)))}}}
		if f.Next > 1 {
			c.Connect = []flow.Edge{{From: rapid.IntRange(1, f.Next-1).Draw(t, "parent"), To: f.Next}}
		}
		f = f.Apply(c)
	}
	f.Current = rapid.IntRange(0, len(f.Members)).Draw(t, "current")
	return f
}

func TestANewFlowWhosePlaceIsTaken(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	theirs := string(format.EncodeFlow(flow.Flow{ID: idOf("theirs"), Name: "theirs", Next: 1}))
	d.must(errors.Join(d.createFlow("novel"), d.addNode("novel", "a")))
	d.put("flows/000/000.yaml", theirs)
	d.flushed()
	d.flowOf("theirs")
	if d.read("flows/000/000.yaml") != theirs || !d.exists("flows/000/001.yaml") {
		t.Error("theirs was changed, or ours is not beside it")
	}
	d.restart()
	d.must(d.finds(d.store))
	d.flowOf("theirs")
}

// A file of hands that cannot be changed without losing something stays, and ours goes beside it.
func TestAFlowWhoseFileCannotBeEdited(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.must(d.createFlow("novel"))
	d.flushed()
	theirs := d.edit("flows/000/000.yaml", "nodes: []", "nodes: 5")
	d.must(d.addNode("novel", "a"))
	d.flushed()
	for range 2 {
		if f := d.flowOf("novel"); len(f.Members) != 1 || d.read("flows/000/000.yaml") != theirs || !d.exists("flows/000/001.yaml") {
			t.Errorf("the flow is %+v", f)
		}
		if !slices.Contains(d.problemPaths(), "flows/000/000.yaml") {
			t.Errorf("problems of %q", d.problemPaths())
		}
		d.restart()
	}
}
