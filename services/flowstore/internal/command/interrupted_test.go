package command

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/adapter/git"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/flow"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/node"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store/format"
	"github.com/tsumugi-dev/tsumugi/services/internal/filesys"
)

var errStopped = errors.New("stopped before this step")

// stopping is a tree whose process is killed after some steps: a step gives a file its name, or takes it away.
type stopping struct {
	filesys.FS
	steps int
}

func (s *stopping) step() error {
	if s.steps--; s.steps < 0 {
		return errStopped
	}
	return nil
}

func (s *stopping) Rename(from, to string) error {
	if err := s.step(); err != nil {
		return err
	}
	return s.FS.Rename(from, to)
}

func (s *stopping) Remove(name string) error {
	if err := s.step(); err != nil {
		return err
	}
	return s.FS.Remove(name)
}

// copied is a clone as it is now.
func (c clone) copied() clone {
	c.Helper()
	data := c.TempDir()
	c.must(os.CopyFS(data, os.DirFS(c.data)))
	return clone{c.T, data, filepath.Join(data, ns)}
}

// interrupted has resolve killed before a step, or, where there are not as many, before it tells git. last says that of the latter.
func (c clone) interrupted(step int) (last bool) {
	c.Helper()
	tree, err := filesys.Open(c.tree)
	c.must(err)
	defer func() { c.must(tree.Close()) }()
	lock := filepath.Join(c.tree, c.line("rev-parse", "--git-path", "index.lock"))
	write(c.T, lock, "")
	err = resolveIn(c.Context(), &stopping{tree, step}, order{dir: c.tree, out: io.Discard, trouble: io.Discard})
	c.must(os.Remove(lock))
	return !errors.Is(err, errStopped)
}

// ends is all that resolve leaves: its exit code, the files, and what git has of them.
func (c clone) ends(code int) string {
	c.Helper()
	return fmt.Sprintln(code, c.git("ls-files", "--stage"), c.git("status", "--porcelain", "--untracked-files=all"), c.files())
}

// survives wants resolve to end as it did where it is killed before any of its steps, and run again.
func (c clone) survives(want string) {
	c.Helper()
	for step, last := 0, false; !last; step += 1 + step/2 { // each of the first, and fewer of many
		again := c.copied()
		last = again.interrupted(step)
		code, out, trouble := run(c.T, "resolve", again.tree)
		if got := again.ends(code); got != want {
			c.Errorf("killed before step %d, and run again, it ends as\n%s\nnot as\n%s\n%s%s", step, got, want, out, trouble)
		}
	}
}

// A path in conflict is given to nothing else, also where what was in conflict there is gone: killed then, the next resolve would take
// the other file for a person's work on the conflict.
func TestAPathInConflictIsGivenToNothingElse(t *testing.T) {
	t.Parallel()
	c := newClone(t)
	write(t, c.path("trash/nodes/000/001.xml"), string(format.EncodeNode(node.Node{ID: idOf("a"), Created: time.Unix(0, 0)})))
	write(t, c.path("flows/000/000.yaml"), string(format.EncodeFlow(flow.Flow{ID: novel, Members: []flow.Member{{Index: 1, Node: idOf("a")}}})))
	tree, err := filesys.Open(c.tree)
	c.must(err)
	defer func() { c.must(tree.Close()) }()
	const name = "nodes/000/001.xml"
	p, err := newPlan(tree, git.Change{}, []git.Conflict{{Path: name}})
	c.must(err)
	p.remove(name)
	c.must(p.settleMembers())
	c.must(p.settleTrash())
	if to := "nodes/000/002.xml"; p.names[name] || p.held[to].id != idOf("a") {
		t.Errorf("the node is not %s: %v", to, p.told)
	}
}
