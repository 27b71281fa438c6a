package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/adapter/git"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store/files"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store/format"
	"github.com/tsumugi-dev/tsumugi/services/internal/filesys"
)

func resolveCommand() *cobra.Command {
	dry := false
	c := &cobra.Command{
		Use:   "resolve TREE",
		Short: "Decide the conflicts of a git merge: both sides stay, what theirs added gets numbers of its own",
		Long: `Decide the conflicts that a git merge left in TREE, the folder of a namespace with nodes and flows.

Where both sides made a node, ours stays where it is and theirs gets the next free file; both keep their ids. A flow that
both changed gets what either added; where both changed the same thing, ours stays and the other is told. What was deleted
comes out of the trash where the other side has a flow with it, and gets a name of its own there where the other side gave
it away; what was purged is gone. Indexes are made anew. Then the files are added to git, and "git commit" ends the merge.
Where git saw no conflict, the two sides may not go together all the same: run it then, too.

What cannot be decided is told with the reason, stays as git left it, and the exit code is 1. Stop flowstore first.`,
		Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			return resolve(c.Context(), args[0], dry, c.OutOrStdout(), c.ErrOrStderr())
		},
	}
	c.Flags().BoolVar(&dry, "dry-run", false, "say what would be done, and do nothing")
	return c
}

// resolve decides the conflicts of a tree. Everything is read and decided before anything is written, and git is told at the end,
// so that whatever interrupts it leaves conflicts that can be resolved again.
func resolve(ctx context.Context, dir string, dry bool, out, trouble io.Writer) (err error) {
	release, err := ownTree(dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, release()) }()
	tree, err := openTree(dir)
	if err != nil {
		return err
	}
	defer func() { _ = tree.Close() }() // what was written is synced
	return resolveIn(ctx, tree, dir, dry, out, trouble)
}

func resolveIn(ctx context.Context, tree filesys.FS, dir string, dry bool, out, trouble io.Writer) error {
	repo, err := git.Open(ctx, dir)
	if err != nil {
		return err
	}
	conflicts, err := repo.Conflicts(ctx)
	if err != nil {
		return err
	}
	isConfig := func(c git.Conflict) bool { return c.Path == format.ConfigName }
	if err := checkConfig(tree, dir); err != nil && !slices.ContainsFunc(conflicts, isConfig) {
		return err
	}
	p, err := newPlan(tree, conflicts)
	if err != nil {
		return err
	}
	for _, c := range conflicts {
		if err := p.decide(ctx, repo, c); err != nil {
			return err
		}
	}
	if err := p.complete(ctx, repo, conflicts); err != nil {
		return err
	}
	if err := p.settle(); err != nil {
		return err
	}
	p.tellLeftOver()
	if err := p.indexes(); err != nil {
		return err
	}
	if err := p.catchUp(ctx, repo); err != nil {
		return err
	}
	if len(conflicts)+len(p.staged()) == 0 {
		_, err := fmt.Fprintf(out, "git has no conflicts in %s, and what it merged goes together\n", dir)
		return err
	}
	if !dry {
		if err := p.carryOut(ctx, repo); err != nil {
			return err
		}
	}
	underway, err := repo.Underway(ctx)
	if err != nil {
		return err
	}
	return p.report(dry, underway, out, trouble)
}

// ownTree keeps stores from opening the tree meanwhile, and refuses while one has it open. Where no store ever was, there is
// nothing to hold.
func ownTree(dir string) (release func() error, err error) {
	dir, err = filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	data := filepath.Dir(dir)
	if _, err := os.Stat(filepath.Join(data, ".flowstore")); errors.Is(err, fs.ErrNotExist) {
		return func() error { return nil }, nil
	}
	hold, err := files.Take(data, time.Now())
	if err != nil {
		return nil, err
	}
	return hold.Release, nil
}

// openTree opens a tree that is there.
func openTree(dir string) (*filesys.Dir, error) {
	for _, kind := range kinds {
		if info, err := os.Stat(filepath.Join(dir, string(kind))); err == nil && info.IsDir() {
			return filesys.Open(dir)
		}
	}
	return nil, fmt.Errorf("%s is no tree of flowstore: it has neither a folder nodes nor a folder flows; name the folder of a namespace, such as DATA/default", dir)
}

// carryOut writes the plan: files in the order of their slots, in which slots are given, so that an interrupted resolve leaves no gap
// and the next one gives the same; then the indexes, then it takes away what goes. git comes last, when all of it is durable: until
// then it has what both sides made.
func (p *plan) carryOut(ctx context.Context, repo *git.Repo) error {
	slices.SortStableFunc(p.writes, inSlotOrder)
	folders := map[string]bool{}
	for _, w := range p.writes {
		dir := path.Dir(w.path)
		if !folders[dir] {
			if err := ensureAll(p.tree, dir); err != nil {
				return err
			}
			folders[dir] = true
		}
		if err := filesys.Replace(p.tree, w.path, w.data); err != nil {
			return err
		}
	}
	for _, dir := range slices.Sorted(maps.Keys(folders)) {
		if err := p.tree.SyncDir(dir); err != nil {
			return err
		}
	}
	for _, name := range p.removes {
		if err := p.tree.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return repo.Stage(ctx, p.staged())
}

// inSlotOrder compares by slots; what has none comes last.
func inSlotOrder(a, b treeFile) int {
	_, x, slot := slotOf(a.path)
	_, y, other := slotOf(b.path)
	switch {
	case slot && other:
		return x.Compare(y)
	case slot:
		return -1
	case other:
		return 1
	}
	return 0
}

// ensureAll makes a folder and those above it.
func ensureAll(tree filesys.FS, dir string) error {
	if dir == "." {
		return nil
	}
	if err := ensureAll(tree, path.Dir(dir)); err != nil {
		return err
	}
	return filesys.EnsureDir(tree, dir)
}

// report tells what was done, and what was not; underway says that there is something for a commit to end.
func (p *plan) report(dry, underway bool, out, trouble io.Writer) error {
	if dry {
		fmt.Fprintln(out, "Nothing was written. Without --dry-run:")
	}
	for _, line := range p.told {
		fmt.Fprintln(out, line)
	}
	if dry {
		for _, name := range p.staged() {
			fmt.Fprintln(out, "for git: "+name)
		}
	}
	if len(p.undecided) == 0 {
		switch {
		case dry:
		case underway:
			fmt.Fprintln(out, `All conflicts are decided; "git commit" ends the merge.`)
		default:
			fmt.Fprintln(out, `No merge is under way; what was put right is for the next "git commit".`)
		}
		return nil
	}
	fmt.Fprintf(trouble, "%d files are not decided; decide each by hand, then \"git add\" it:\n", len(p.undecided))
	for _, line := range p.undecided {
		fmt.Fprintln(trouble, line)
	}
	return errTold
}
