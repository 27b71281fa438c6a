package command

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/flow"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/node"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store/files"
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

// line is a line that git says.
func (c clone) line(args ...string) string {
	c.Helper()
	return strings.TrimSpace(c.git(args...))
}

// merge merges the other clone, and wants conflicts.
func (c clone) merge(other clone) {
	c.Helper()
	c.git("fetch", "-q", other.tree, "HEAD")
	if out, err := c.try("merge", "-q", "FETCH_HEAD"); err == nil || !strings.Contains(out, "CONFLICT") {
		c.Fatalf("git merge: %v\n%s", err, out)
	}
}

// join merges the other clone, with conflicts or without, resolves and commits; it gives what resolve said.
func (c clone) join(other clone) string {
	c.Helper()
	c.git("fetch", "-q", other.tree, "HEAD")
	if out, err := c.try("merge", "-q", "FETCH_HEAD"); err != nil && !strings.Contains(out, "CONFLICT") {
		c.Fatalf("git merge: %v\n%s", err, out)
	}
	said := c.resolved()
	c.git("commit", "-q", "--allow-empty", "-m", "merged")
	if status := c.git("status", "--porcelain"); status != "" {
		c.Errorf("not all of it is committed: %q", status)
	}
	return said
}

func (c clone) commit() {
	c.Helper()
	c.git("add", "-A")
	c.git("commit", "-q", "--allow-empty", "-m", "work")
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

// resolve runs the command and gives its exit code, and all it said. Once more, there is nothing left to do; interrupted at any step
// and run again, it ends the same.
func (c clone) resolve(args ...string) (code int, said string) {
	c.Helper()
	args = append(append([]string{"resolve"}, args...), c.tree)
	before := c.copied()
	code, out, trouble := run(c.T, args...)
	end := c.ends(code)
	if code, said, more := run(c.T, args...); c.ends(code) != end {
		c.Errorf("resolved once more, exit code %d, it is not as it was: %s", code, said+more)
	}
	if len(args) == 2 { // A dry run has no steps.
		before.survives(end)
	}
	return code, out + trouble
}

// resolved resolves everything.
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
