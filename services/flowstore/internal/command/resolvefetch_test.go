package command

import (
	"os"
	"strings"
	"testing"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/flow"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store"
)

// from gets what another clone has, as FETCH_HEAD.
func (c clone) from(other clone) {
	c.Helper()
	c.git("fetch", "-q", other.tree, "HEAD")
}

// share adds a node to the novel, which another clone then has, too.
func (c clone) share(other clone, name string) {
	c.Helper()
	c.add(name, 1)
	c.commit()
	other.git("pull", "-q", "--ff-only", c.tree, "HEAD")
}

// takeOut takes a node out of the novel by hand, and its file away.
func (c clone) takeOut(name, file string) {
	c.Helper()
	c.edit(func(tx store.Tx) error {
		f, err := tx.Flow(novel)
		if err != nil {
			return err
		}
		index, _ := f.IndexOf(idOf(name))
		return tx.ChangeFlow(novel, flow.Change{At: tx.Now(), Remove: []flow.Member{{Index: index, Node: idOf(name)}}})
	})
	c.must(os.Remove(c.path(file)))
}

// holds makes a flow that holds a node.
func (c clone) holds(name, node string) {
	c.Helper()
	c.newFlow(name)
	c.edit(func(tx store.Tx) error {
		return tx.ChangeFlow(idOf(name), flow.Change{At: tx.Now(), Add: []flow.Member{{Index: 1, Node: idOf(node)}}})
	})
}

// Git takes the file of a node away, or never brings it, and a flow holds the node: the file is fetched from whoever has it, under
// a free name, and what is said is so.
func TestResolveFetchesWhatAFlowHolds(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		do          func(x, y clone)
		nodes, file string
		told        []string
	}{
		"a revert of what added it, and ours goes on from it": {
			func(x, _ clone) {
				x.add("q5", 1)
				x.commit()
				x.add("q6", 2)
				x.commit()
				x.stops("revert", "--no-edit", "HEAD~1")
			},
			"one: one; q5: q5; q6: q6", "nodes/000/001.xml",
			[]string{
				"nodes: theirs is without node " + idOf("q5").String() + ", and ours has new connections with it; it is in the flow",
				"flows/000/000.yaml: holds nodes/" + idOf("q5").String() + ", and no file was left of it; it is nodes/000/001.xml, as HEAD has it",
				`"git revert --continue" goes on with the revert`,
			},
		},
		"a cherry-pick of what goes on from one that ours never had": {
			func(x, y clone) {
				y.add("q7", 1)
				y.commit()
				y.add("q8", 2)
				y.commit()
				x.add("m", 1)
				x.commit()
				x.from(y)
				x.stops("cherry-pick", "FETCH_HEAD")
			},
			"one: one; q7: q7; q8: q8; m: m", "nodes/000/003.xml",
			[]string{
				"nodes: ours is without node " + idOf("q7").String() + ", and theirs has new connections with it; it is in the flow",
				"and no file was left of it; it is nodes/000/003.xml, as CHERRY_PICK_HEAD has it",
				`"git cherry-pick --continue" goes on with the cherry-pick`,
			},
		},
		"a merge with one who took it out and its file away": {
			func(x, y clone) {
				x.share(y, "q6")
				y.takeOut("q6", "nodes/000/001.xml")
				y.commit()
				x.add("m", 2)
				x.commit()
				x.merge(y)
			},
			"one: one; q6: q6; m: m", "nodes/000/001.xml",
			[]string{"it is nodes/000/001.xml, as HEAD has it", `"git commit" ends the merge`},
		},
		"a merge without conflict": {
			func(x, y clone) {
				x.share(y, "q6")
				x.takeOut("q6", "nodes/000/001.xml")
				x.commit()
				y.holds("second", "q6")
				y.commit()
				x.from(y)
				x.git("merge", "-q", "-m", "merged", "FETCH_HEAD")
			},
			"one: one; q6: q6", "nodes/000/001.xml",
			[]string{"flows/000/001.yaml: holds nodes/" + idOf("q6").String() + ", and no file was left of it; it is nodes/000/001.xml, as HEAD^2 has it", `what was put right is for the next "git commit"`},
		},
		"a cherry-pick without conflict": {
			func(x, y clone) {
				y.add("q7", 1)
				y.commit()
				y.holds("second", "q7")
				y.commit()
				x.from(y)
				x.git("branch", "work", "FETCH_HEAD")
				x.git("cherry-pick", "work")
				x.from(x)
			},
			"one: one; q7: q7", "nodes/000/001.xml",
			[]string{"it is nodes/000/001.xml, as refs/heads/work has it"},
		},
		"a rebase of what goes on from one that was taken out": {
			func(x, y clone) {
				x.share(y, "q6")
				y.takeOut("q6", "nodes/000/001.xml")
				y.commit()
				x.add("m", 2)
				x.commit()
				x.from(y)
				x.stops("rebase", "FETCH_HEAD")
			},
			"one: one; q6: q6; m: m", "nodes/000/001.xml",
			[]string{`"git rebase --continue" goes on with the rebase`},
		},
		"a stash of what goes on from one that was taken out": {
			func(x, _ clone) {
				x.add("q6", 1)
				x.commit()
				x.add("m", 2)
				x.git("add", "-A")
				x.git("stash", "-q")
				x.takeOut("q6", "nodes/000/001.xml")
				x.commit()
				x.stops("stash", "pop")
			},
			"one: one; q6: q6; m: m", "nodes/000/001.xml",
			[]string{`what was put right is for the next "git commit"`, `"git stash drop" takes it away`},
		},
		"a file taken away beside a flow that holds it": {
			func(x, _ clone) { x.must(os.Remove(x.path("nodes/000/000.xml"))) },
			"one: one", "nodes/000/000.xml",
			[]string{"it is nodes/000/000.xml, as HEAD has it"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			x, y := clones(t)
			c.do(x, y)
			said := x.resolved()
			for _, want := range c.told {
				if !strings.Contains(said, want) {
					t.Errorf("%q is not told: %s", want, said)
				}
			}
			x.wantClean()
			if x.line("ls-files", c.file) == "" {
				t.Errorf("git does not have %s", c.file)
			}
			if got := x.knows(namesOf(c.nodes)...); got != c.nodes {
				t.Errorf("it has %q, not %q", got, c.nodes)
			}
		})
	}
}

// stops runs git, which is to stop at a conflict.
func (c clone) stops(args ...string) {
	c.Helper()
	if out, err := c.try(args...); err == nil || !strings.Contains(out, "CONFLICT") {
		c.Fatalf("git %q: %v\n%s", args, err, out)
	}
}

// A flow holds a node that nobody within reach has a file of: it is told, and nothing says that all is decided.
func TestResolveTellsOfANodeWithoutAFile(t *testing.T) {
	t.Parallel()
	x, y := clones(t)
	y.add("q7", 1)
	y.commit()
	y.holds("second", "q7")
	y.commit()
	x.from(y)
	x.git("cherry-pick", "FETCH_HEAD")
	x.from(x)
	code, said := x.resolve()
	if want := "flows/000/001.yaml: holds nodes/" + idOf("q7").String() + ", and no file that can be read does"; code != 1 || !strings.Contains(said, want) || strings.Contains(said, "goes together") || strings.Contains(said, "decided") {
		t.Errorf("exit code %d: %s", code, said)
	}
}

// A node is in a file that cannot be read: a person mends that, and an earlier version beside it would count in its stead.
func TestResolveFetchesNothingBesideABrokenFile(t *testing.T) {
	t.Parallel()
	const file = "nodes/000/000.xml"
	x, _ := clones(t)
	x.replace(file, "<contents>", "<contents")
	x.commit()
	code, said := x.resolve()
	if nodes := x.line("ls-files", "nodes/*.xml"); code != 1 || !strings.Contains(said, "no file that can be read does") || nodes != file {
		t.Errorf("exit code %d, nodes %q: %s", code, nodes, said)
	}
}

// What was purged is not fetched, also where the row that says so went with a revert, and that it went is told.
func TestResolveTellsOfARevertedPurge(t *testing.T) {
	t.Parallel()
	x, _ := clones(t)
	x.add("q5", 1)
	x.commit()
	x.purge(nodeOf("q5"))
	x.commit()
	for _, further := range []string{"", "m"} { // The second one stops at a conflict.
		if further != "" {
			x.add(further, 1)
			x.commit()
			x.stops("revert", "--no-edit", "HEAD~1")
		} else {
			x.git("revert", "--no-edit", "HEAD")
		}
		said := x.resolved()
		if want := "tombstones.tsv: nodes/" + idOf("q5").String() + " was purged, and the row that says so is not here any more"; !strings.Contains(said, want) || !strings.Contains(said, "nodes/000/001.xml") {
			t.Errorf("%q is not told: %s", want, said)
		}
		if further == "" {
			x.git("reset", "-q", "--hard", "HEAD~1")
		}
	}
	x.must(os.Remove(x.path("nodes/000/001.xml")))
	if code, said := x.resolve(); code != 1 || !strings.Contains(said, "no file that can be read does") || x.files()["nodes/000/001.xml"] != "" {
		t.Errorf("exit code %d: %s", code, said)
	}
}

// Of a merge that is reverted or picked, the parent is the one that git was told, and where git did not note it, who runs resolve says it.
func TestResolveGoesByTheMainline(t *testing.T) {
	t.Parallel()
	x, y := clones(t)
	y.rewrite("one", "of y")
	y.commit()
	x.add("m7", 1)
	x.commit()
	before := x.line("rev-parse", "HEAD")
	x.from(y)
	x.git("merge", "-q", "-m", "merged", "FETCH_HEAD")
	merged := x.line("rev-parse", "HEAD")
	x.add("m8", 2)
	x.commit()
	for _, c := range []struct {
		name     string
		do, args []string
		noted    bool
	}{
		{"revert", []string{"revert", "--no-edit", "-m", "2", merged}, nil, true},
		{"cherry-pick", []string{"cherry-pick", "-m", "2", merged}, []string{"--mainline", "2"}, false},
		{"two reverts", []string{"revert", "--no-edit", "-m", "2", merged, merged}, nil, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			x := x.copied()
			x.T = t
			if c.name == "cherry-pick" {
				x.git("reset", "-q", "--hard", before+"~1")
				x.add("other", 1)
				x.commit()
			}
			x.stops(c.do...)
			if !c.noted {
				if code, _, said := run(t, "resolve", x.tree); code != 1 || !strings.Contains(said, "--mainline, 1 to 2") {
					t.Errorf("exit code %d: %s", code, said)
				}
			}
			if code, _, said := run(t, append(append([]string{"resolve"}, c.args...), x.tree)...); code != 0 {
				t.Fatalf("exit code %d: %s", code, said)
			}
			want := map[bool]string{true: "one: of y", false: "one: one; m7: m7"}[c.noted]
			if got := x.knows(namesOf(want)...); got != want {
				t.Errorf("it has %q, not %q", got, want)
			}
			x.wantClean()
		})
	}
}

// What was purged does not come back by a pick of a commit that took it out of the trash, also where git sees no conflict in its file;
// and where git cannot merge the rows that say what was purged, those of both sides stay.
func TestResolveOfAPickKeepsPurgesIn(t *testing.T) {
	t.Parallel()
	x, y := clones(t)
	x.add("a", 1)
	x.add("b", 1)
	x.drop(nodeOf("a"))
	x.commit()
	y.git("pull", "-q", "--ff-only", x.tree, "HEAD")
	y.restore(nodeOf("a"))
	y.holds("second", "a")
	y.commit()
	x.purge(nodeOf("b"))
	x.commit()
	x.edit(func(tx store.Tx) error { return tx.Purge(nodeOf("a"), "asked for") })
	x.commit()
	x.from(y)
	if out, err := x.try("cherry-pick", "FETCH_HEAD"); err != nil && !strings.Contains(out, "CONFLICT") {
		t.Fatal(out)
	}
	said := x.resolved()
	x.wantClean()
	if got := x.knows("one", "a", "b"); got != "one: one; a: purged; b: purged" || !strings.Contains(said, "nodes/"+idOf("a").String()+" was purged; it is taken out of the flow") {
		t.Errorf("it has %q: %s", got, said)
	}
	x.git("commit", "-q", "-m", "picked")
	x.stops("revert", "--no-edit", "HEAD~2") // It made the file that the next commit changed.
	if said := x.resolved(); !strings.Contains(said, "tombstones.tsv: what either side purged is in it") {
		t.Error(said)
	}
	x.wantClean()
	if got := x.knows("one", "a", "b"); got != "one: one; a: purged; b: purged" {
		t.Errorf("it has %q", got)
	}
}
