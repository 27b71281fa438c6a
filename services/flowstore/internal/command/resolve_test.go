package command

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/flow"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/node"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store/files"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store/format"
	"github.com/tsumugi-dev/tsumugi/services/internal/testkit"
)

const ns = "default"

func idOf(name string) uuid.UUID { return uuid.NewSHA1(uuid.NameSpaceOID, []byte(name)) }

var novel = idOf("novel")

// clone is a data folder whose namespace is kept in git.
type clone struct {
	*testing.T
	data, tree string
}

// gitEnv keeps the person's own git configuration out.
func gitEnv() []string {
	return append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1", "LC_ALL=C",
		"GIT_AUTHOR_NAME=t", "GIT_AUTHOR_EMAIL=t@example.com", "GIT_COMMITTER_NAME=t", "GIT_COMMITTER_EMAIL=t@example.com")
}

func needGit(t *testing.T) {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		if testkit.Need("git") {
			t.Fatal("git is missing")
		}
		t.Skip("git is not installed: apt-get install git, or your system's way")
	}
}

func (c clone) try(args ...string) (string, error) {
	cmd := exec.CommandContext(c.Context(), "git", append([]string{"-C", c.tree}, args...)...)
	cmd.Env = gitEnv()
	out, err := cmd.CombinedOutput()
	return string(out), err
}

func (c clone) git(args ...string) string {
	c.Helper()
	out, err := c.try(args...)
	if err != nil {
		c.Fatalf("git %q: %v\n%s", args, err, out)
	}
	return out
}

// merge merges the other clone, and wants conflicts.
func (c clone) merge(other clone) {
	c.Helper()
	c.git("fetch", "-q", other.tree, "HEAD")
	if out, err := c.try("merge", "-q", "FETCH_HEAD"); err == nil || !strings.Contains(out, "CONFLICT") {
		c.Fatalf("git merge: %v\n%s", err, out)
	}
}

func (c clone) commit() {
	c.Helper()
	c.git("add", "-A")
	c.git("commit", "-q", "-m", "work")
}

// edit writes through the engine, which then lets go of the files.
func (c clone) edit(fn func(tx store.Tx) error) {
	c.Helper()
	s, err := files.Open(files.Options{Data: c.data})
	if err != nil {
		c.Fatal(err)
	}
	if err := s.Update(c.Context(), ns, fn); err != nil {
		c.Error(err)
	}
	if err := s.Close(); err != nil {
		c.Error(err)
	}
}

// add adds a node that continues the one with an index.
func (c clone) add(name string, parent int) {
	c.Helper()
	c.edit(func(tx store.Tx) error {
		if err := tx.CreateNode(node.Node{ID: idOf(name), Created: tx.Now(), Texts: []node.Text{{Role: "user", Content: name}}, Summary: node.Summary{Stale: true}}); err != nil {
			return err
		}
		f, err := tx.Flow(novel)
		if err != nil {
			return err
		}
		change := flow.Change{At: tx.Now(), Add: []flow.Member{{Index: f.Next, Node: idOf(name)}}}
		if parent > 0 {
			change.Connect = []flow.Edge{{From: parent, To: f.Next}}
		}
		return tx.ChangeFlow(novel, change)
	})
}

// read opens the store, gives the flow and the problems, and closes it again.
func (c clone) read() (flow.Flow, []store.Problem) {
	c.Helper()
	s, err := files.Open(files.Options{Data: c.data})
	if err != nil {
		c.Fatal(err)
	}
	problems, err := s.Problems(c.Context(), ns)
	if err != nil {
		c.Error(err)
	}
	f, _ := s.Flow(c.Context(), ns, novel)
	for _, m := range f.Members {
		if n, err := s.Node(c.Context(), ns, m.Node); err != nil || n.ID != m.Node {
			c.Errorf("node %s: %v", m.Node, err)
		}
	}
	if err := s.Close(); err != nil {
		c.Error(err)
	}
	return f, problems
}

// files gives the text files of the tree.
func (c clone) files() map[string]string {
	c.Helper()
	all := map[string]string{}
	for _, folder := range []string{"nodes", "flows"} {
		err := filepath.WalkDir(filepath.Join(c.tree, folder), func(name string, d os.DirEntry, err error) error {
			if err == nil && !d.IsDir() {
				all[strings.TrimPrefix(name, c.tree+"/")] = read(c.T, name)
			}
			return err
		})
		if err != nil {
			c.Fatal(err)
		}
	}
	return all
}

func (c clone) path(name string) string { return filepath.Join(c.tree, name) }

// resolve runs the command and gives its exit code, and all it said.
func (c clone) resolve(args ...string) (code int, said string) {
	c.Helper()
	code, out, trouble := run(c.T, append(append([]string{"resolve"}, args...), c.tree)...)
	return code, out + trouble
}

func (c clone) resolved() string {
	c.Helper()
	code, said := c.resolve()
	if code != 0 {
		c.Fatalf("exit code %d: %s", code, said)
	}
	if left := c.git("ls-files", "--unmerged"); left != "" {
		c.Errorf("git has conflicts still: %s", left)
	}
	return said
}

func newClone(t *testing.T) clone {
	t.Helper()
	data := t.TempDir()
	return clone{t, data, filepath.Join(data, ns)}
}

// clones gives two clones of a store with one node in a flow.
func clones(t *testing.T) (x, y clone) {
	t.Helper()
	needGit(t)
	x, y = newClone(t), newClone(t)
	x.edit(func(tx store.Tx) error {
		return tx.CreateFlow(flow.Examine(flow.Flow{ID: novel, Name: "novel", Created: tx.Now(), Updated: tx.Now()}))
	})
	x.add("one", 0)
	x.git("init", "-q")
	x.commit()
	x.git("clone", "-q", x.tree, y.tree)
	return x, y
}

// Two clones of a store both add nodes; git merges what it can, one command does the rest (cases/flowstore.md 32).
func TestFlowstore32TwoClones(t *testing.T) {
	t.Parallel()
	x, y := clones(t)
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
	if !slices.Equal(aside, []string{"flows/000/000.yaml", "nodes/000/001.xml"}) {
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

// Interrupted before git was told, resolve is run again and comes to the same.
func TestResolveInterrupted(t *testing.T) {
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
	x.resolved()
	all := x.files()
	write(t, x.path(".git/index"), index)
	x.resolved()
	if !maps.Equal(x.files(), all) {
		t.Errorf("%q", slices.Sorted(maps.Keys(x.files())))
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
	if code, said := x.resolve(); code != 1 || !strings.Contains(said, "in use by process") || !maps.Equal(x.files(), before) {
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

// git2 runs git outside of the clone, which is not there yet.
func (c clone) git2(args ...string) {
	c.Helper()
	clone{c.T, c.data, c.data}.git(args...)
}

// sides makes a conflict out of what each side makes of the files of a tree.
func conflict(t *testing.T, ours, theirs func(c clone)) clone {
	t.Helper()
	x, y := clones(t)
	ours(x)
	x.commit()
	theirs(y)
	y.commit()
	x.merge(y)
	return x
}

func (c clone) replace(name, old, text string) {
	c.Helper()
	before := read(c.T, c.path(name))
	if !strings.Contains(before, old) {
		c.Fatalf("%s does not hold %q:\n%s", name, old, before)
	}
	write(c.T, c.path(name), strings.Replace(before, old, text, 1))
}

// Each kind of conflict: what stays where, what is told, what is left for a person.
func TestResolveConflicts(t *testing.T) {
	t.Parallel()
	nothing := func(clone) {}
	for name, c := range map[string]struct {
		ours, theirs func(c clone)
		code         int
		told         []string
		check        func(c clone)
	}{
		"both changed a text": {
			func(c clone) { c.replace("nodes/000/000.xml", "\none\n", "\neins\n") },
			func(c clone) { c.replace("nodes/000/000.xml", "\none\n", "\nun\n") },
			0, []string{"nodes/000/000.xml: both changed nodes/" + idOf("one").String() + "; ours stays, theirs is nodes/000/001.xml, and nodes/000/001.xml counts"},
			func(c clone) {
				if !strings.Contains(c.files()["nodes/000/000.xml"], "eins") || !strings.Contains(c.files()["nodes/000/001.xml"], "\nun\n") {
					c.Error("a version is lost")
				}
			},
		},
		"ours removed a node, theirs changed it": {
			func(c clone) { c.must(os.Remove(c.path("nodes/000/000.xml"))) },
			func(c clone) { c.replace("nodes/000/000.xml", "\none\n", "\nun\n") },
			0, []string{"nodes/000/000.xml: ours removed it, and theirs changed it"},
			func(c clone) {
				if !strings.Contains(c.files()["nodes/000/000.xml"], "\nun\n") {
					c.Error("theirs is lost")
				}
			},
		},
		"theirs removed a node, ours changed it": {
			func(c clone) { c.replace("nodes/000/000.xml", "\none\n", "\neins\n") },
			func(c clone) { c.must(os.Remove(c.path("nodes/000/000.xml"))) },
			0, []string{"nodes/000/000.xml: theirs removed it, and ours changed it"}, nothing,
		},
		"the file of a removed node is not given again": {
			func(c clone) { c.add("a", 1); c.add("gone", 1); c.must(os.Remove(c.path("nodes/000/002.xml"))) },
			func(c clone) { c.add("b", 1) },
			0, []string{"nodes/000/001.xml: ours stays; nodes/" + idOf("b").String() + " of theirs is nodes/000/003.xml now"}, nothing,
		},
		"a file in the trash keeps its place": {
			func(c clone) { c.add("a", 1); write(c.T, c.path("trash/nodes/000/004.xml"), "kept") },
			func(c clone) { c.add("b", 1) },
			0, []string{"nodes/000/001.xml: ours stays; nodes/" + idOf("b").String() + " of theirs is nodes/000/005.xml now"}, nothing,
		},
		"two flows in one place": {
			func(c clone) { c.newFlow("a") }, func(c clone) { c.newFlow("b") },
			0, []string{"flows/000/001.yaml: ours stays; flows/" + idOf("b").String() + " of theirs is flows/000/002.yaml now"},
			func(c clone) {
				if rows := strings.Count(c.files()["flows/index.tsv"], "\n"); rows != 4 {
					c.Errorf("%d rows", rows)
				}
			},
		},
		"both named the flow": {
			func(c clone) { c.replace("flows/000/000.yaml", `"novel"`, `"ours"`) },
			func(c clone) { c.replace("flows/000/000.yaml", `"novel"`, `"theirs"`) },
			0, []string{`flows/000/000.yaml: name: both changed it; "ours", of ours, stays, and "theirs", of theirs, does not`},
			func(c clone) {
				if f, _ := c.read(); f.Name != "ours" {
					c.Errorf("the name is %q", f.Name)
				}
			},
		},
		"ours took a node out, theirs went on elsewhere": {
			func(c clone) {
				c.edit(func(tx store.Tx) error {
					return tx.ChangeFlow(novel, flow.Change{At: tx.Now(), Remove: []flow.Member{{Index: 1, Node: idOf("one")}}})
				})
			},
			func(c clone) { c.add("b", 0) },
			0, []string{"flows/000/000.yaml: both changed it"},
			func(c clone) {
				if f, _ := c.read(); !slices.Equal(f.Members, []flow.Member{{Index: 2, Node: idOf("b")}}) {
					c.Errorf("%+v", f.Members)
				}
			},
		},
		"comments of theirs": {
			func(c clone) { c.replace("flows/000/000.yaml", `"novel"`, `"ours"`) },
			func(c clone) {
				c.replace("flows/000/000.yaml", `name: "novel"`, "# why\nname: \"novel\" # so\nmood: calm")
			},
			0, []string{"flows/000/000.yaml: both changed it"},
			func(c clone) {
				text := c.files()["flows/000/000.yaml"]
				for _, want := range []string{"# why", "# so", "mood: calm", `name: "ours"`} {
					if !strings.Contains(text, want) {
						c.Errorf("%q is lost: %s", want, text)
					}
				}
			},
		},
		"comments of both": {
			func(c clone) { c.replace("flows/000/000.yaml", `name: "novel"`, "name: \"novel\" # mine") },
			func(c clone) { c.replace("flows/000/000.yaml", `name: "novel"`, "name: \"novel\" # yours") },
			0, []string{"which theirs added by hand are not in it"},
			func(c clone) {
				if text := c.files()["flows/000/000.yaml"]; !strings.Contains(text, "# mine") {
					c.Error(text)
				}
			},
		},
		"a broken node": {
			func(c clone) { c.replace("nodes/000/000.xml", "<contents>", "<contents") },
			func(c clone) { c.replace("nodes/000/000.xml", "<contents>", "<content>") },
			1, []string{"1 files are not decided", "nodes/000/000.xml: ours cannot be read: line ", "; neither can theirs: line "},
			func(c clone) {
				if !marked([]byte(c.files()["nodes/000/000.xml"])) {
					c.Error("it was changed")
				}
			},
		},
		"a broken flow beside two nodes": {
			func(c clone) { c.add("a", 1); c.replace("flows/000/000.yaml", "id: ", "- ") },
			func(c clone) { c.add("b", 1) },
			1, []string{"nodes/000/001.xml: ours stays; nodes/" + idOf("b").String() + " of theirs is nodes/000/002.xml now", "flows/000/000.yaml: ours cannot be read"},
			func(c clone) {
				if left := c.git("ls-files", "--unmerged"); strings.Contains(left, ".xml") || !strings.Contains(left, "flows/000/000.yaml") {
					c.Errorf("git has as undecided: %s", left)
				}
			},
		},
		"other files": {
			func(c clone) { write(c.T, c.path("README"), "a\n"); write(c.T, c.path("metadata/tags.yaml"), "a: 1\n") },
			func(c clone) { write(c.T, c.path("README"), "b\n"); write(c.T, c.path("metadata/tags.yaml"), "b: 1\n") },
			1, []string{"README: is no node, no flow", "metadata/tags.yaml: is made from nodes and flows: it is left out"},
			func(c clone) {
				if _, err := os.Stat(c.path("metadata/tags.yaml")); err == nil || c.git("ls-files", "metadata/tags.yaml") != "" {
					c.Error("the derived file is there")
				}
			},
		},
		"a link": {
			func(c clone) { c.must(os.Symlink("000.xml", c.path("nodes/000/001.xml"))) },
			func(c clone) { write(c.T, c.path("nodes/000/001.xml"), "x") },
			1, []string{"nodes/000/001.xml"}, nothing,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			x := conflict(t, c.ours, c.theirs)
			code, said := x.resolve()
			if code != c.code {
				t.Errorf("exit code %d: %s", code, said)
			}
			for _, want := range c.told {
				if !strings.Contains(said, want) {
					t.Errorf("%q is not told: %s", want, said)
				}
			}
			c.check(x)
			if code == 0 {
				x.git("commit", "-q", "--no-edit")
			}
		})
	}
}

func (c clone) must(err error) {
	c.Helper()
	if err != nil {
		c.Fatal(err)
	}
}

func (c clone) newFlow(name string) {
	c.Helper()
	c.edit(func(tx store.Tx) error {
		return tx.CreateFlow(flow.Examine(flow.Flow{ID: idOf(name), Name: name, Created: tx.Now(), Updated: tx.Now()}))
	})
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
}

// What a person decided by hand and did not yet add stays.
func TestResolveLeavesHandwork(t *testing.T) {
	t.Parallel()
	x := conflict(t, func(c clone) { c.add("a", 1) }, func(c clone) { c.add("b", 1) })
	text := string(format.EncodeNode(node.Node{ID: idOf("c"), Created: time.Unix(0, 0)}))
	write(t, x.path("nodes/000/001.xml"), text)
	if code, said := x.resolve(); code != 1 || !strings.Contains(said, "nodes/000/001.xml: was edited since the merge") || x.files()["nodes/000/001.xml"] != text {
		t.Errorf("exit code %d: %s", code, said)
	}
}

// Who took one side of a file, and did not yet add it, has both all the same.
func TestResolveAfterASideWasTaken(t *testing.T) {
	t.Parallel()
	x := conflict(t, func(c clone) { c.add("a", 1) }, func(c clone) { c.add("b", 1) })
	x.git("checkout", "-q", "--theirs", "nodes/000/001.xml")
	x.resolved()
	if f, problems := x.read(); len(f.Members) != 3 || len(problems) > 0 || !strings.Contains(x.files()["nodes/000/001.xml"], idOf("a").String()) {
		t.Errorf("%+v, %v", f, problems)
	}
}

func TestResolveRefuses(t *testing.T) {
	t.Parallel()
	needGit(t)
	c := newClone(t)
	if code, said := c.resolve(); code != 1 || !strings.Contains(said, "no tree of flowstore") {
		t.Errorf("no tree: exit code %d, %s", code, said)
	}
	write(t, c.path("nodes/index.tsv"), format.IndexHeader)
	if code, said := c.resolve(); code != 1 || !strings.Contains(said, "not a git repository") {
		t.Errorf("no repository: exit code %d, %s", code, said)
	}
}

// git diff and git log -p show what textconv says.
func TestGitShowsConversations(t *testing.T) {
	t.Parallel()
	x, _ := clones(t)
	binary := filepath.Join(t.TempDir(), "flowstore")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", binary, "../../cmd/flowstore")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	x.git("config", "diff.tsumugi.textconv", binary+" textconv")
	x.replace("nodes/000/000.xml", "\none\n", "\nuno\n")
	diff := x.git("diff")
	if !strings.Contains(diff, " --- user ---\n-one\n+uno\n") || strings.Contains(diff, "CDATA") {
		t.Errorf("git diff shows %s", diff)
	}
	write(t, x.path("nodes/000/000.xml"), "broken")
	if log := x.git("log", "-p"); !strings.Contains(log, "+--- user ---\n+one\n") {
		t.Errorf("git log -p shows %s", log)
	}
	if diff := x.git("diff"); !bytes.Contains([]byte(diff), []byte("+broken")) {
		t.Errorf("git diff of a broken file shows %s", diff)
	}
}
