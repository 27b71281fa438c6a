package command

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/flow"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/node"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store/files"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store/format"
)

// Two clones of a store both add nodes; git merges what it can, one command does the rest (cases/flowstore.md 32).
func TestFlowstore32TwoClones(t *testing.T) {
	t.Parallel()
	t.Run("as init makes a tree", func(t *testing.T) {
		t.Parallel()
		x, y := clones(t)
		twoClones(x, y, nil)
	})
	t.Run("a tree from before, in which git merges lines", func(t *testing.T) {
		t.Parallel()
		x, y := clones(t)
		write(t, x.path(".gitattributes"), strings.ReplaceAll(format.GitAttributes, " -merge\n", " text\n"))
		x.commit()
		y.git("pull", "-q", "--ff-only", x.tree, "HEAD")
		twoClones(x, y, []string{"flows/000/000.yaml", "nodes/000/001.xml"})
	})
}

func twoClones(x, y clone, marked []string) {
	t := x.T
	x.add("of x", 1)
	x.commit()
	y.add("of y", 1)
	y.commit()
	x.merge(y)

	// Before resolve the service starts all the same, and puts aside what git marked.
	_, problems := x.read()
	var aside []string
	for _, p := range problems {
		aside = append(aside, p.Path)
	}
	if !slices.Equal(aside, marked) {
		t.Errorf("put aside: %q", aside)
	}

	x.resolved()
	all := x.files()
	for name, text := range all {
		if strings.Contains(text, "<<<<") || strings.Contains(text, ">>>>") {
			t.Errorf("%s has marks of a conflict", name)
		}
	}
	for name, id := range map[string]uuid.UUID{"nodes/000/000.xml": idOf("one"), "nodes/000/001.xml": idOf("of x"), "nodes/000/002.xml": idOf("of y")} {
		if !strings.Contains(all[name], id.String()) {
			t.Errorf("%s does not hold %s: %q", name, id, all[name])
		}
	}
	if rows := strings.Count(all["nodes/index.tsv"], "\n") - 1; rows != 3 {
		t.Errorf("the index has %d rows", rows)
	}
	x.git("commit", "-q", "--no-edit")
	if status := x.git("status", "--porcelain"); status != "" {
		t.Errorf("not all of it is committed: %q", status)
	}

	f, problems := x.read()
	want := []flow.Member{{Index: 1, Node: idOf("one")}, {Index: 2, Node: idOf("of x")}, {Index: 3, Node: idOf("of y")}}
	if len(problems) > 0 || !slices.Equal(f.Members, want) || !slices.Equal(f.Edges, []flow.Edge{{From: 1, To: 2}, {From: 1, To: 3}}) {
		t.Errorf("%+v, %v", f, problems)
	}
	if !maps.Equal(x.files(), all) {
		t.Error("opening the store changed the tree")
	}
	if code, said := x.resolve(); code != 0 || !strings.Contains(said, "no conflicts") || !maps.Equal(x.files(), all) {
		t.Errorf("the second time: exit code %d, %s", code, said)
	}

	// The other clone takes it over, and both go on: once more, with more.
	y.git("pull", "-q", "--ff-only", x.tree, "HEAD")
	for i := range 3 {
		x.add(fmt.Sprint("x", i), 2)
		y.add(fmt.Sprint("y", i), 3)
	}
	x.commit()
	y.commit()
	y.merge(x)
	y.resolved()
	if f, problems := y.read(); len(f.Members) != 9 || len(f.Edges) != 8 || len(problems) > 0 || len(f.Problems) > 0 {
		t.Errorf("%+v, %v", f, problems)
	}
}

// A dry run says what would be done, and does nothing.
func TestResolveDryRun(t *testing.T) {
	t.Parallel()
	x, y := clones(t)
	x.add("of x", 1)
	x.commit()
	y.add("of y", 1)
	y.commit()
	x.merge(y)
	index := read(t, x.path(".git/index"))
	before := x.files()
	if code, said := x.resolve("--dry-run"); code != 0 || !strings.Contains(said, "nodes/000/002.xml") || !maps.Equal(x.files(), before) {
		t.Errorf("dry run: exit code %d, %s", code, said)
	}
	if read(t, x.path(".git/index")) != index {
		t.Error("the dry run told git")
	}
}

// The indexes that git gets tell of all nodes and flows that are there: git gets these along, and no file that is none of them.
func TestResolveAddsWhatTheIndexesTellOf(t *testing.T) {
	t.Parallel()
	x, y := clones(t)
	x.edit(func(tx store.Tx) error { return tx.CreateNode(node.Node{ID: idOf("goes"), Created: tx.Now()}) })
	x.commit()
	y.git("pull", "-q", "--ff-only", x.tree, "HEAD")
	y.newFlow("of y")
	y.commit()
	x.git("fetch", "-q", y.tree, "HEAD")
	x.git("merge", "-q", "--no-commit", "--no-ff", "FETCH_HEAD")
	x.add("of x", 1)
	x.must(os.Remove(x.path("nodes/000/001.xml")))
	write(t, x.path("nodes/000/003.xml"), "cut o")
	write(t, x.path("nodes/000/notes.txt"), "of mine")
	said := x.resolved()
	for _, want := range []string{"nodes/000/001.xml: is gone, and git has it", "nodes/000/002.xml: git does not have it as it is here; it is added"} {
		if !strings.Contains(said, want) {
			t.Errorf("%q is not told: %s", want, said)
		}
	}
	if changes := x.git("status", "--porcelain", "--untracked-files=all", "--no-renames", "nodes"); changes != "D  nodes/000/001.xml\nA  nodes/000/002.xml\nM  nodes/index.tsv\n?? nodes/000/003.xml\n?? nodes/000/notes.txt\n" {
		t.Errorf("git has:\n%s", changes)
	}
}

// A store that has the tree open is not disturbed, and a tree that none ever opened needs no folder of ours beside it.
func TestResolveWhileAStoreIsOpen(t *testing.T) {
	t.Parallel()
	x, y := clones(t)
	x.add("of x", 1)
	x.commit()
	y.add("of y", 1)
	y.commit()
	x.merge(y)
	s, err := files.Open(files.Options{Data: x.data})
	if err != nil {
		t.Fatal(err)
	}
	before := x.files()
	if code, _, said := run(t, "resolve", x.tree); code != 1 || !strings.Contains(said, "in use by process") || !maps.Equal(x.files(), before) {
		t.Errorf("exit code %d, %s", code, said)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	alone := newClone(t)
	x.git("merge", "--abort")
	alone.git2("clone", "-q", x.tree, alone.tree)
	alone.resolved()
	if _, err := os.Stat(filepath.Join(alone.data, ".flowstore")); err == nil {
		t.Error("a folder was made beside the tree")
	}
}

// The tree may be a part of a repository; what lies beside it is not touched.
func TestResolveInALargerRepository(t *testing.T) {
	t.Parallel()
	needGit(t)
	x, y := newClone(t), newClone(t)
	outer := clone{t, x.data, x.data}
	write(t, outer.path(".gitignore"), ".flowstore/\n")
	write(t, outer.path("README"), "base\n")
	x.newFlow("novel")
	outer.git("init", "-q")
	outer.commit()
	outer.git("clone", "-q", x.data, y.data)
	for name, c := range map[string]clone{"a": x, "b": y} {
		c.add(name, 0)
		write(t, filepath.Join(c.data, "README"), name+"\n")
		clone{t, c.data, c.data}.commit()
	}
	outer.merge(clone{t, y.data, y.data})
	x.resolved()
	if left := outer.git("diff", "--name-only", "--diff-filter=U"); left != "README\n" {
		t.Errorf("git has as undecided: %q", left)
	}
	if f, problems := x.read(); len(f.Members) != 2 || len(problems) > 0 {
		t.Errorf("%+v, %v", f, problems)
	}
	x.must(os.Remove(x.path("nodes/000/000.xml")))
	if said := x.resolved(); !strings.Contains(said, "it is nodes/000/000.xml, as HEAD has it") {
		t.Error(said)
	}
}

// Without a merge, a tree that goes together is left alone, also one without any node; one that does not is put right, and a dry run
// names what git would get.
func TestResolveWithoutAMerge(t *testing.T) {
	t.Parallel()
	needGit(t)
	c := newClone(t)
	c.must(errors.Join(os.MkdirAll(filepath.Join(c.tree, "nodes"), 0o700), os.MkdirAll(filepath.Join(c.tree, "flows"), 0o700)))
	c.git("init", "-q")
	c.commit()
	if code, said := c.resolve(); code != 0 || !strings.Contains(said, "goes together") || len(c.files()) > 0 {
		t.Errorf("exit code %d: %s %q", code, said, slices.Sorted(maps.Keys(c.files())))
	}
	x, _ := clones(t)
	x.must(os.Remove(x.path("nodes/index.tsv")))
	if code, said := x.resolve("--dry-run"); code != 0 || !strings.Contains(said, "for git: nodes/index.tsv\n") || strings.Contains(said, "merge") {
		t.Errorf("exit code %d: %s", code, said)
	}
	if said := x.resolved(); !strings.Contains(said, "No merge is under way") {
		t.Error(said)
	}
}
