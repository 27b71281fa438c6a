package command

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/flow"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/node"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store/format"
)

// What a person decided before resolve is decided: it brings nothing of the other side back.
func TestResolveGoesByWhatAPersonDecided(t *testing.T) {
	t.Parallel()
	const file = "nodes/000/000.xml"
	ours := func(c clone) { c.replace(file, "one", "ours text") }
	for name, c := range map[string]struct {
		theirs, decide func(c clone)
		keeps          bool
	}{
		"for ours": {
			func(c clone) { c.replace(file, "one", "theirs text") },
			func(c clone) { c.git("checkout", "--ours", file); c.git("add", file) },
			true,
		},
		"against both": {
			func(c clone) { c.must(os.Remove(c.path(file))) },
			func(c clone) { c.git("rm", "-q", file) },
			false,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			x, y := clones(t)
			ours(x)
			x.commit()
			c.theirs(y)
			y.commit()
			x.merge(y)
			c.decide(x)
			x.resolved()
			x.wantClean() // No flow holds what is gone.
			var nodes []string
			for name, text := range x.files() {
				if strings.HasPrefix(name, "nodes/") && strings.HasSuffix(name, ".xml") {
					nodes = append(nodes, text)
				}
			}
			if kept := len(nodes) == 1 && strings.Contains(nodes[0], "ours text"); kept != c.keeps || len(nodes) > 1 {
				t.Errorf("the nodes are %q", nodes)
			}
		})
	}
}

// Theirs takes a node out of a flow that ours gives another name: it stays out, however often resolve runs.
func TestResolveTwiceKeepsANodeOut(t *testing.T) {
	t.Parallel()
	x, y := clones(t)
	x.add("a", 1)
	x.commit()
	y.git("pull", "-q", "--ff-only", x.tree, "HEAD")
	x.replace("flows/000/000.yaml", "name: ", "name: saga # ")
	x.commit()
	y.drop(nodeOf("a"))
	y.commit()
	x.merge(y)
	x.resolved()
	f, _ := x.read()
	for _, m := range f.Members {
		if m.Node == idOf("a") {
			t.Error("the node is back")
		}
	}
}

// Both change a node, and git, told to merge text, puts them together: neither side's file was left out.
func TestResolveKeepsANodeThatGitMerged(t *testing.T) {
	t.Parallel()
	x, y := clones(t)
	x.must(os.Remove(x.path(".gitattributes")))
	x.rewrite("one", "first\n1\n2\n3\n4\n5\n6\n7\nlast")
	x.commit()
	y.git("pull", "-q", "--ff-only", x.tree, "HEAD")
	const file = "nodes/000/000.xml"
	x.replace(file, "first", "first of ours")
	x.add("ours", 1)
	x.commit()
	y.replace(file, "last", "last of theirs")
	y.add("theirs", 1)
	y.commit()
	x.merge(y)
	x.resolved()
	for _, words := range []string{"first of ours", "last of theirs"} {
		if !strings.Contains(x.knows("one"), words) {
			t.Errorf("%q is not in what counts: %s", words, x.knows("one"))
		}
	}
	if all := x.files(); strings.Contains(all["nodes/000/001.xml"]+all["nodes/000/002.xml"]+all["nodes/000/003.xml"], "first") {
		t.Errorf("the node has further files: %q", all)
	}
}

// Ours gives a flow another name and deletes it, theirs takes a node out of it: it stays out, also where git, told to merge text,
// followed the file into the trash.
func TestResolveKeepsANodeOutOfADeletedFlow(t *testing.T) {
	t.Parallel()
	x, y := clones(t)
	x.must(os.Remove(x.path(".gitattributes")))
	for _, name := range []string{"a", "b", "c", "d", "e"} {
		x.add(name, 1)
	}
	x.commit()
	y.git("pull", "-q", "--ff-only", x.tree, "HEAD")
	x.replace("flows/000/000.yaml", "name: ", "name: saga # ")
	x.drop(flowOf("novel"))
	x.commit()
	y.drop(nodeOf("e"))
	y.commit()
	x.join(y)
	x.restore(flowOf("novel"))
	f, _ := x.read()
	for _, m := range f.Members {
		if m.Node == idOf("e") {
			t.Error("the node is back")
		}
	}
	if len(f.Members) != 5 {
		t.Errorf("the flow has %d nodes", len(f.Members))
	}
}

// Ours changes a node and deletes it, theirs changes it, too; git follows the file into the trash, and a person decides the conflict
// there by hand. Theirs does not come back in the tree, neither before nor after it is added.
func TestResolveLeavesHandworkWhereGitFollowedAMove(t *testing.T) {
	t.Parallel()
	x, y := clones(t)
	x.rewrite("one", strings.Repeat("line\n", 30)+"the end")
	x.commit()
	y.git("pull", "-q", "--ff-only", x.tree, "HEAD")
	for _, side := range []struct {
		clone
		of string
	}{{x, "ours"}, {y, "theirs"}} {
		side.rewrite("one", strings.Repeat("line\n", 30)+"the end of "+side.of)
		side.edit(func(tx store.Tx) error {
			f, err := tx.Flow(novel)
			if err != nil {
				return err
			}
			index, _ := f.IndexOf(idOf("one"))
			change, err := f.Removal(index, flow.Splice)
			change.At = tx.Now()
			return errors.Join(err, tx.ChangeFlow(novel, change))
		})
	}
	x.drop(nodeOf("one"))
	x.commit()
	y.commit()
	x.merge(y)
	const file = "trash/nodes/000/000.xml"
	x.must(os.WriteFile(x.path(file), []byte(strings.Replace(x.git("show", "HEAD:"+file), "of ours", "of both", 1)), 0o600))
	if code, said := x.resolve(); code != 1 || !strings.Contains(said, file+": was edited since the merge") {
		t.Errorf("exit code %d: %s", code, said)
	}
	x.git("add", file)
	x.resolved()
	if _, err := os.Stat(x.path("nodes/000/000.xml")); err == nil || x.knows("one") != "one: trash: "+strings.Repeat("line\n", 30)+"the end of both" {
		t.Error("theirs is back beside it")
	}
	x.wantClean()
}

// Each took in the other's work before, so that both come from two commits, and git names them in an order of its own. One side changes
// what is the same in both sides and in one of these commits.
func TestResolveAfterACrissCross(t *testing.T) {
	t.Parallel()
	for _, oursFirst := range []bool{true, false} {
		t.Run(fmt.Sprint(oursFirst), func(t *testing.T) {
			t.Parallel()
			x, y := clones(t)
			first, second := x, y
			if !oursFirst {
				first, second = y, x
			}
			first.rewrite("one", "at first")
			first.commit()
			second.must(os.WriteFile(second.path("notes.txt"), []byte("of mine"), 0o600))
			second.commit()
			x.git("fetch", "-q", y.tree, "HEAD")
			y.git("fetch", "-q", x.tree, "HEAD")
			x.git("merge", "-q", "-m", "y", "FETCH_HEAD")
			y.git("merge", "-q", "-m", "x", "FETCH_HEAD")
			x.add("ours", 1)
			x.commit()
			y.rewrite("one", "then")
			y.add("theirs", 1)
			y.commit()
			x.merge(y)
			if bases := strings.Fields(x.git("merge-base", "--all", "HEAD", "MERGE_HEAD")); len(bases) != 2 {
				t.Fatalf("they come from %q", bases)
			}
			x.resolved()
			if told := x.knows("one"); told != "one: then" {
				t.Error(told)
			}
			for name, text := range x.files() {
				if strings.Contains(text, "at first") {
					t.Errorf("%s has what theirs changed", name)
				}
			}
		})
	}
}

// A revert takes away what the commit brought, and what it did to a text that was changed since is decided as in a merge.
func TestResolveOfARevert(t *testing.T) {
	t.Parallel()
	x, _ := clones(t)
	x.add("a", 1)
	x.replace("nodes/000/000.xml", "\none\n", "\neins\n")
	x.commit()
	x.replace("nodes/000/000.xml", "\neins\n", "\nun\n")
	x.commit()
	if out, err := x.try("revert", "--no-edit", "HEAD~1"); err == nil || !strings.Contains(out, "CONFLICT") {
		t.Fatalf("git revert: %v\n%s", err, out)
	}
	said := x.resolved()
	all := x.files()
	for name, text := range all {
		if strings.HasPrefix(name, "nodes/") && strings.Contains(text, "\na\n") {
			t.Errorf("%s is back: %s", name, said)
		}
	}
	if !strings.Contains(all["nodes/000/000.xml"], "\nun\n") || !strings.Contains(all["nodes/000/001.xml"], "\none\n") {
		t.Errorf("both versions are to be there: %s\n%v", said, all)
	}
	// That there are two versions is told until a person removes one.
	if f, problems := x.read(); len(f.Members) != 1 || len(problems) != 1 {
		t.Errorf("members %v, %v", f.Members, problems)
	}
}

// An earlier version of a node is in the trash under the name that another node has in the tree: it gets one of its own there.
func TestResolveNamesAnEarlierVersionInTheTrash(t *testing.T) {
	t.Parallel()
	needGit(t)
	c := newClone(t)
	for name, n := range map[string]node.Node{
		"nodes/000/000.xml":       {ID: idOf("a"), Created: time.Unix(0, 0), Note: "later"},
		"nodes/000/001.xml":       {ID: idOf("b"), Created: time.Unix(0, 0)},
		"trash/nodes/000/001.xml": {ID: idOf("a"), Created: time.Unix(0, 0)},
	} {
		write(t, c.path(name), string(format.EncodeNode(n)))
	}
	c.must(os.MkdirAll(c.path("flows"), 0o700))
	c.git("init", "-q")
	c.commit()
	if said := c.resolved(); !strings.Contains(said, "trash/nodes/000/001.xml: another file has this name in the tree; nodes/"+idOf("a").String()+" is trash/nodes/000/002.xml now") {
		t.Error(said)
	}
	c.wantOnlyDuplicates()
}
