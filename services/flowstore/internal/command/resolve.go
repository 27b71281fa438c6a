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
	var o order
	c := &cobra.Command{
		Use:   "resolve TREE",
		Short: "Decide the conflicts of a git merge: both sides stay, what theirs added gets numbers of its own",
		Long: `Decide the conflicts that a git merge left in TREE, the folder of a namespace with nodes and flows.

Where both sides made a node, ours stays where it is and theirs gets the next free file; both keep their ids. A flow that
both changed gets what either added; where both changed the same thing, ours stays and the other is told. What was deleted
comes out of the trash where the other side has a flow with it, and gets a name of its own there where the other side gave
it away; what was purged is gone. A file that git took away or did not bring, and whose node a flow holds, is fetched from the
side that has it. Indexes are made anew. Then the files are added to git, and "git commit" ends the merge.
Where git saw no conflict, the two sides may not go together all the same: run it then, too.

The same goes for a revert, a cherry-pick, a rebase and a stash that is popped; the last line says what to run next.

What cannot be decided is told with the reason, stays as git left it, and the exit code is 1, as where a flow holds a node
that is in no file. Stop flowstore first.`,
		Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			o.dir, o.out, o.trouble = args[0], c.OutOrStdout(), c.ErrOrStderr()
			return resolve(c.Context(), o)
		},
	}
	c.Flags().BoolVar(&o.dry, "dry-run", false, "say what would be done, and do nothing")
	c.Flags().IntVar(&o.mainline, "mainline", 0, `of a merge commit that is picked, the parent that "git cherry-pick -m" was given, from 1`)
	return c
}

// order is what resolve is told to do.
type order struct {
	dir          string
	dry          bool
	mainline     int
	out, trouble io.Writer
}

// resolve decides the conflicts of a tree. Everything is read and decided before anything is written, and git is told at the end,
// so that whatever interrupts it leaves conflicts that can be resolved again.
func resolve(ctx context.Context, o order) (err error) {
	release, err := ownTree(o.dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, release()) }()
	tree, err := openTree(o.dir)
	if err != nil {
		return err
	}
	defer func() { _ = tree.Close() }() // what was written is synced
	return resolveIn(ctx, tree, o)
}

func resolveIn(ctx context.Context, tree filesys.FS, o order) error {
	repo, err := git.Open(ctx, o.dir)
	if err != nil {
		return err
	}
	defer repo.Close()
	conflicts, err := repo.Conflicts(ctx)
	if err != nil {
		return err
	}
	isConfig := func(c git.Conflict) bool { return c.Path == format.ConfigName }
	if err := checkConfig(tree, o.dir); err != nil && !slices.ContainsFunc(conflicts, isConfig) {
		return err
	}
	change, err := repo.Underway(ctx, o.mainline)
	if unclear := (*git.MainlineError)(nil); errors.As(err, &unclear) && unclear.Noted == 0 {
		return fmt.Errorf("%w: say it with --mainline, 1 to %d", err, unclear.Parents)
	} else if err != nil {
		return err
	}
	p, err := newPlan(tree, change, conflicts)
	if err != nil {
		return err
	}
	if err := p.make(ctx, repo, conflicts); err != nil {
		return err
	}
	if !o.dry && len(p.staged()) > 0 {
		if err := p.carryOut(ctx, repo); err != nil {
			return err
		}
	}
	return p.report(o)
}

// make decides everything.
func (p *plan) make(ctx context.Context, repo *git.Repo, conflicts []git.Conflict) (err error) {
	if p.taken, err = repo.Index(ctx); err != nil {
		return err
	}
	if err := p.surveyLifted(ctx, repo); err != nil {
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
	if err := p.settle(ctx, repo); err != nil {
		return err
	}
	p.tellLeftOver()
	p.tellLifted()
	if err := p.indexes(); err != nil {
		return err
	}
	return p.catchUp(ctx, repo)
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

// report tells what was done, and what was not.
func (p *plan) report(o order) error {
	if o.dry && len(p.staged()) > 0 {
		fmt.Fprintln(o.out, "Nothing was written. Without --dry-run:")
	}
	for _, line := range p.told {
		fmt.Fprintln(o.out, line)
	}
	if o.dry {
		for _, name := range p.staged() {
			fmt.Fprintln(o.out, "for git: "+name)
		}
	}
	if len(p.undecided)+len(p.holes) == 0 {
		p.reportEnd(o)
		return nil
	}
	for _, left := range []struct {
		lines []string
		what  string
	}{
		{p.undecided, `%d files are not decided; decide each by hand, then "git add" it:` + "\n"},
		{p.holes, "%d nodes that flows hold are in no file; bring each file back from git or a backup, or take the entry out of the flow:\n"},
	} {
		if len(left.lines) > 0 {
			fmt.Fprintf(o.trouble, left.what, len(left.lines))
		}
		for _, line := range left.lines {
			fmt.Fprintln(o.trouble, line)
		}
	}
	return errTold
}

// reportEnd tells what is left to do for git.
func (p *plan) reportEnd(o order) {
	op := p.change.Operation
	switch {
	case len(p.staged()) == 0:
		fmt.Fprintf(o.out, "git has no conflicts in %s, and what it merged goes together\n", o.dir)
	case o.dry:
	case op == git.Merge:
		fmt.Fprintln(o.out, `All conflicts are decided; "git commit" ends the merge.`)
	case op != git.None:
		fmt.Fprintf(o.out, "All conflicts are decided; \"git %s --continue\" goes on with the %s.\n", op, op)
	case len(p.conflicts) > 0:
		fmt.Fprintln(o.out, `All conflicts are decided; what was put right is for the next "git commit". After a "git stash pop" the stash is there still; "git stash drop" takes it away.`)
	default:
		fmt.Fprintln(o.out, `No merge is under way; what was put right is for the next "git commit".`)
	}
}
