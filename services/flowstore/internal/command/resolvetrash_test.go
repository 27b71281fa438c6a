package command

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/flow"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/node"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store/files"
)

func nodeOf(name string) store.Thing { return store.Thing{Kind: store.KindNode, ID: idOf(name)} }
func flowOf(name string) store.Thing { return store.Thing{Kind: store.KindFlow, ID: idOf(name)} }

// remove takes a node out of the flow and deletes it, and with flow.Subtree what hangs on it alone, as a deletion does.
func remove(tx store.Tx, id uuid.UUID, mode flow.RemoveMode) error {
	gone := []flow.Member{{Node: id}}
	f, err := tx.Flow(novel)
	if index, held := f.IndexOf(id); held {
		c, err := f.Removal(index, mode)
		if err != nil {
			return err
		}
		c.At, gone = tx.Now(), c.Remove
		if err := tx.ChangeFlow(novel, c); err != nil {
			return err
		}
	} else if err != nil && !errors.Is(err, store.ErrFlowNotFound) {
		return err
	}
	for _, m := range gone {
		if err := tx.Drop(store.Thing{Kind: store.KindNode, ID: m.Node}); err != nil {
			return err
		}
	}
	return nil
}

func (c clone) drop(t store.Thing) {
	c.Helper()
	c.edit(func(tx store.Tx) error {
		if t.Kind == store.KindNode {
			return remove(tx, t.ID, flow.Splice)
		}
		return tx.Drop(t)
	})
}

func (c clone) dropBranch(name string) {
	c.Helper()
	c.edit(func(tx store.Tx) error { return remove(tx, idOf(name), flow.Subtree) })
}

func (c clone) restore(t store.Thing) {
	c.Helper()
	c.edit(func(tx store.Tx) error { return tx.Restore(t) })
}

func (c clone) purge(t store.Thing) {
	c.Helper()
	c.drop(t)
	c.edit(func(tx store.Tx) error { return tx.Purge(t, "asked for") })
}

func (c clone) rewrite(name, text string) {
	c.Helper()
	c.edit(func(tx store.Tx) error { return replaceText(tx, idOf(name), text) })
}

func replaceText(tx store.Tx, id uuid.UUID, text string) error {
	n, err := tx.Node(id)
	if err != nil {
		return err
	}
	n.Texts = []node.Text{{Role: "user", Content: text}}
	return tx.ReplaceNode(n)
}

// knows says, of names of nodes, what their texts are; those in the trash begin with "trash: ". All of these come out of it then.
func (c clone) knows(names ...string) string {
	c.Helper()
	s, err := files.Open(files.Options{Data: c.data})
	if err != nil {
		c.Fatal(err)
	}
	defer func() { c.must(s.Close()) }()
	var told []string
	for _, name := range names {
		n, err := s.Node(c.Context(), ns, idOf(name))
		trash := ""
		if dropped := (*store.DroppedError)(nil); errors.As(err, &dropped) {
			trash = "trash: "
			n, _, err = s.DroppedNode(c.Context(), ns, idOf(name))
			if err == nil {
				err = s.Update(context.Background(), ns, func(tx store.Tx) error { return tx.Restore(nodeOf(name)) })
			}
			if back, readErr := s.Node(c.Context(), ns, idOf(name)); err == nil && (readErr != nil || back.Texts[0] != n.Texts[0]) {
				c.Errorf("%s came back as %+v, %v", name, back, readErr)
			}
		}
		switch purged := (*store.PurgedError)(nil); {
		case errors.As(err, &purged):
			told = append(told, name+": purged")
		case err != nil:
			told = append(told, name+": "+err.Error())
		default:
			told = append(told, name+": "+trash+n.Texts[0].Content)
		}
	}
	return strings.Join(told, "; ")
}

// namesOf gives the names in what knows says.
func namesOf(known string) (names []string) {
	for part := range strings.SplitSeq(known, "; ") {
		name, _, _ := strings.Cut(part, ":")
		names = append(names, name)
	}
	return names
}

func (c clone) wantClean() {
	c.Helper()
	if code, out, trouble := run(c.T, "check", c.data); code != 0 {
		c.Errorf("check: exit code %d: %s%s", code, out, trouble)
	}
}

// Both edit two nodes and delete them, and a flow holds one of these: both versions of it come out of the trash, and none of the
// other one.
func TestResolveBringsBackEveryVersion(t *testing.T) {
	t.Parallel()
	x, y := clones(t)
	x.add("a", 1)
	x.add("b", 1)
	x.newFlow("second")
	x.edit(func(tx store.Tx) error {
		return tx.ChangeFlow(idOf("second"), flow.Change{At: tx.Now(), Add: []flow.Member{{Index: 1, Node: idOf("a")}}})
	})
	x.commit()
	y.git("pull", "-q", "--ff-only", x.tree, "HEAD")
	for side, c := range map[string]clone{"ours": x, "theirs": y} {
		for _, name := range []string{"a", "b"} {
			c.rewrite(name, name+" of "+side)
			c.drop(nodeOf(name))
		}
		c.commit()
	}
	x.merge(y)
	x.resolved()
	for name, text := range map[string]string{"nodes/000/001.xml": "a of ours", "nodes/000/003.xml": "a of theirs", "trash/nodes/000/002.xml": "b of ours", "trash/nodes/000/004.xml": "b of theirs"} {
		if got := read(t, x.path(name)); !strings.Contains(got, text) {
			t.Errorf("%s is not %s: %s", name, text, got)
		}
	}
}

// One side deletes, takes back or purges, while the other one does the same or goes on. Whatever git makes of it, every text
// that was not purged is there, in the tree or in the trash, and comes out of the trash.
func TestResolveTrash(t *testing.T) {
	t.Parallel()
	nothing := func(clone) {}
	for name, c := range map[string]struct {
		base, ours, theirs func(c clone)
		nodes, told        string
	}{
		"ours deletes under a name that theirs gives": {
			nothing,
			func(c clone) { c.add("gone", 1); c.drop(nodeOf("gone")) },
			func(c clone) { c.add("b", 1) },
			"one: one; gone: trash: gone; b: b", "trash/nodes/000/001.xml: another file has this name in the tree; nodes/" + idOf("gone").String() + " is trash/nodes/000/002.xml now",
		},
		"theirs deletes under a name that ours gives": {
			nothing,
			func(c clone) { c.add("b", 1) },
			func(c clone) { c.add("gone", 1); c.drop(nodeOf("gone")) },
			"one: one; gone: trash: gone; b: b", "trash/nodes/000/001.xml: another file has this name in the tree",
		},
		"both make one and delete it": {
			nothing,
			func(c clone) { c.add("a", 1); c.drop(nodeOf("a")) },
			func(c clone) { c.add("b", 1); c.drop(nodeOf("b")) },
			"one: one; a: trash: a; b: trash: b", "trash/nodes/000/001.xml: ours stays; nodes/" + idOf("b").String() + " of theirs is trash/nodes/000/002.xml now",
		},
		"each deletes another one": {
			func(c clone) { c.add("a", 1); c.add("b", 1) },
			func(c clone) { c.drop(nodeOf("a")) },
			func(c clone) { c.drop(nodeOf("b")) },
			"one: one; a: trash: a; b: trash: b", "flows/000/000.yaml: both changed it",
		},
		"both delete the same": {
			func(c clone) { c.add("a", 1) },
			func(c clone) { c.drop(nodeOf("a")) },
			func(c clone) { c.drop(nodeOf("a")) },
			"one: one; a: trash: a", "",
		},
		"both edit and delete the same": {
			func(c clone) { c.add("a", 1) },
			func(c clone) { c.rewrite("a", "ours"); c.drop(nodeOf("a")) },
			func(c clone) { c.rewrite("a", "theirs"); c.drop(nodeOf("a")) },
			"one: one; a: trash: theirs", "trash/nodes/000/001.xml: both changed nodes/" + idOf("a").String() + " before it was deleted; both are kept, ours here and theirs as trash/nodes/000/002.xml",
		},
		"ours deletes what theirs edits": {
			func(c clone) { c.add("a", 1) },
			func(c clone) { c.drop(nodeOf("a")) },
			func(c clone) { c.rewrite("a", "edited") },
			"one: one; a: trash: edited", "",
		},
		"ours deletes every node of a folder, theirs adds one": {
			nothing,
			func(c clone) { c.drop(nodeOf("one")) },
			func(c clone) { c.add("b", 0) },
			"one: trash: one; b: b", "git took it for a part of a folder that has another name; nodes/" + idOf("b").String() + " of theirs is nodes/000/001.xml",
		},
		"theirs deletes every node of a folder, ours adds one": {
			nothing,
			func(c clone) { c.add("b", 0) },
			func(c clone) { c.drop(nodeOf("one")) },
			"one: trash: one; b: b", "of ours is nodes/000/001.xml",
		},
		"ours deletes the only flow, theirs makes another one": {
			nothing,
			func(c clone) { c.drop(flowOf("novel")) },
			func(c clone) { c.newFlow("second") },
			"one: one", "flows/" + idOf("second").String() + " of theirs is flows/000/001.yaml",
		},
		"ours deletes, theirs goes on from it": {
			func(c clone) { c.add("a", 1) },
			func(c clone) { c.drop(nodeOf("a")) },
			func(c clone) { c.add("b", 2) },
			"one: one; a: a; b: b", "trash/nodes/000/001.xml: one side deleted nodes/" + idOf("a").String() + ", and flows/000/000.yaml holds it; it is nodes/000/001.xml again",
		},
		"ours deletes a branch, theirs goes on from the end of it": {
			func(c clone) { c.add("a", 1); c.add("b", 2); c.add("c", 3) },
			func(c clone) { c.dropBranch("a") },
			func(c clone) { c.add("d", 4) },
			"one: one; a: a; b: b; c: c; d: d", "flows/000/000.yaml: nodes: ours is without node " + idOf("a").String() + ", and node " + idOf("b").String() + " of theirs continues it; it is in the flow, too",
		},
		"each deletes one of two neighbours": {
			func(c clone) { c.add("a", 1); c.add("b", 2); c.add("c", 3) },
			func(c clone) { c.drop(nodeOf("a")) },
			func(c clone) { c.drop(nodeOf("b")) },
			"one: one; a: trash: a; b: trash: b; c: c", "flows/000/000.yaml: connections: " + idOf("one").String() + " -> " + idOf("c").String() + " is new: both sides lead there",
		},
		"ours deletes, theirs has it in another flow, and git sees no conflict": {
			func(c clone) { c.add("a", 1); c.newFlow("second") },
			func(c clone) { c.drop(nodeOf("a")) },
			func(c clone) {
				c.edit(func(tx store.Tx) error {
					return tx.ChangeFlow(idOf("second"), flow.Change{At: tx.Now(), Add: []flow.Member{{Index: 1, Node: idOf("a")}}})
				})
			},
			"one: one; a: a", "and flows/000/001.yaml holds it; it is nodes/000/001.xml again",
		},
		"ours purges what theirs edits": {
			func(c clone) { c.add("a", 1) },
			func(c clone) { c.purge(nodeOf("a")) },
			func(c clone) { c.rewrite("a", "edited") },
			"one: one; a: purged", "nodes/000/001.xml: theirs has nodes/" + idOf("a").String() + ", which was purged; it does not come back",
		},
		"theirs purges what ours takes back": {
			func(c clone) { c.add("a", 1); c.drop(nodeOf("a")) },
			func(c clone) { c.restore(nodeOf("a")) },
			func(c clone) { c.edit(func(tx store.Tx) error { return tx.Purge(nodeOf("a"), "asked for") }) },
			"one: one; a: purged", "ours has nodes/" + idOf("a").String() + ", which was purged",
		},
		"ours purges, theirs goes on from it": {
			func(c clone) { c.add("a", 1) },
			func(c clone) { c.purge(nodeOf("a")) },
			func(c clone) { c.add("b", 2) },
			"one: one; a: purged; b: b", "flows/000/000.yaml: nodes/" + idOf("a").String() + " was purged; it is taken out of the flow",
		},
		"ours purges a flow, theirs adds a node to it": {
			func(c clone) { c.newFlow("second") },
			func(c clone) { c.purge(flowOf("novel")) },
			func(c clone) { c.add("b", 1) },
			"one: one; b: b", "flows/000/000.yaml: nodes/" + idOf("b").String() + ", which theirs put into it, stays, and is in no flow any more",
		},
		"theirs purges a flow, ours adds a node to it": {
			func(c clone) { c.newFlow("second") },
			func(c clone) { c.add("b", 1) },
			func(c clone) { c.purge(flowOf("novel")) },
			"one: one; b: b", "flows/000/000.yaml: nodes/" + idOf("b").String() + ", which ours put into it, stays, and is in no flow any more",
		},
		"ours purges a flow, theirs adds a node to it and to another one": {
			func(c clone) { c.newFlow("second") },
			func(c clone) { c.purge(flowOf("novel")) },
			func(c clone) {
				c.add("b", 1)
				c.edit(func(tx store.Tx) error {
					return tx.ChangeFlow(idOf("second"), flow.Change{At: tx.Now(), Add: []flow.Member{{Index: 1, Node: idOf("b")}}})
				})
			},
			"one: one; b: b", "",
		},
		"both purge the same": {
			func(c clone) { c.add("a", 1) },
			func(c clone) { c.purge(nodeOf("a")) },
			func(c clone) { c.purge(nodeOf("a")) },
			"one: one; a: purged", "",
		},
		"ours purges one and adds one that looks like it, theirs edits the first": {
			func(c clone) { c.add("a", 1) },
			func(c clone) { c.purge(nodeOf("a")); c.add("b", 1) },
			func(c clone) {
				c.edit(func(tx store.Tx) error {
					n, err := tx.Node(idOf("a"))
					n.Summary, n.Note = node.Summary{Text: "of a"}, "of a"
					return errors.Join(err, tx.ReplaceNode(n))
				})
			},
			"one: one; a: purged; b: b", "only ours has it, and it stays",
		},
		"both edit one in different lines": {
			func(c clone) { c.rewrite("one", "1\n2\n3\n4\n5") },
			func(c clone) { c.rewrite("one", "eins\n2\n3\n4\n5") },
			func(c clone) { c.rewrite("one", "1\n2\n3\n4\ncinq") },
			"one: eins\n2\n3\n4\ncinq", "nodes/000/000.xml: both changed it, in different lines; what either changed is in it",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			x, y := clones(t)
			c.base(x)
			x.commit()
			y.git("pull", "-q", "--ff-only", x.tree, "HEAD")
			c.ours(x)
			x.commit()
			c.theirs(y)
			y.commit()
			said := x.join(y)
			if strings.Contains(said, "which was purged") && strings.Contains(said, "both sides removed") {
				t.Errorf("told of what was purged: %s", said)
			}
			if leftOver := "in no flow any more"; strings.Count(said, leftOver) != strings.Count(c.told, leftOver) {
				t.Errorf("of nodes without a flow it tells: %s", said)
			}
			if !strings.Contains(said, c.told) {
				t.Errorf("%q is not told: %s", c.told, said)
			}
			x.wantClean()
			if got := x.knows(namesOf(c.nodes)...); got != c.nodes {
				t.Errorf("it has %q, not %q", got, c.nodes)
			}
			if strings.Contains(x.files()["nodes/000/002.xml"], "of a") {
				t.Error("a text came into another node")
			}
			if !strings.Contains(said, "before it was deleted") { // Then there are two files with its id, of which one counts.
				x.wantClean()
			}
		})
	}
}

// Where a side purged all of the trash, git takes the trash's folder for moved into the tree, and what the other side puts into
// the trash for moved back; of a node that only one side touched, by deleting it, nothing was left.
func TestResolveHasWhatGitLeavesOutOfBoth(t *testing.T) {
	t.Parallel()
	x, y := clones(t)
	x.purge(nodeOf("one"))
	x.add("a", 0)
	x.add("b", 0)
	x.add("c", 0)
	x.drop(nodeOf("a"))
	x.commit()
	y.git("pull", "-q", "--ff-only", x.tree, "HEAD")
	x.drop(nodeOf("b"))
	x.drop(nodeOf("c"))
	x.add("d", 0)
	x.add("e", 0)
	x.drop(nodeOf("d"))
	x.commit()
	y.edit(func(tx store.Tx) error { return tx.Purge(nodeOf("a"), "asked for") })
	y.purge(nodeOf("b"))
	y.add("f", 0)
	y.add("g", 0)
	y.commit()
	said := x.join(y)
	if got := x.knows("c"); got != "c: trash: c" || !strings.Contains(said, "git left out nodes/"+idOf("c").String()+" as ours has it; it is trash/nodes/000/") {
		t.Errorf("it has %q: %s", got, said)
	}
}
