package git

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// Ours is the commit that one is on.
const Ours = "HEAD"

// Operation is what git has stopped in.
type Operation string

// The operations; None where nothing is under way, as after a merge without a conflict, and in a stash that is popped.
const (
	None       Operation = ""
	Merge      Operation = "merge"
	CherryPick Operation = "cherry-pick"
	Revert     Operation = "revert"
	Rebase     Operation = "rebase"
)

// Change is what an operation brings to HEAD: what lies between one of the bases and a commit. Of bases there is one, none where they
// have nothing in common, and several where each side took in work of the other before.
type Change struct {
	Operation Operation
	// Theirs and Bases are names of commits; none where nothing is under way.
	Theirs string
	Bases  []string
}

// MainlineError says that a merge commit is picked or reverted, and that nobody says from which of its parents on, or that git says
// another one than a person.
type MainlineError struct {
	Operation Operation
	// Parents is how many there are, and Noted the number of the one that git noted, from 1; 0 for none.
	Parents, Noted int
}

func (e *MainlineError) Error() string {
	if e.Noted > 0 {
		return fmt.Sprintf("in git's %s, -m named parent %d, as git noted", e.Operation, e.Noted)
	}
	return fmt.Sprintf(`a merge commit is under way in git's %s, and git did not note which of its %d parents -m named`, e.Operation, e.Parents)
}

// Underway says what git brings to HEAD. Of a merge commit that is picked or reverted it is what that changed in one of its parents:
// the one that git notes, else mainline, counted from 1, or 0. *MainlineError where there is neither, or both and they differ.
func (r *Repo) Underway(ctx context.Context, mainline int) (Change, error) {
	switch {
	case r.has(ctx, "MERGE_HEAD"):
		return Change{Merge, "MERGE_HEAD", r.mergeBases(ctx, Ours, "MERGE_HEAD")}, nil
	case r.has(ctx, "CHERRY_PICK_HEAD") && !r.same(ctx, "CHERRY_PICK_HEAD", "REBASE_HEAD"): // A rebase picks, too.
		before, err := r.parent(ctx, CherryPick, "CHERRY_PICK_HEAD", mainline)
		return Change{CherryPick, "CHERRY_PICK_HEAD", before}, err
	case r.has(ctx, "REBASE_HEAD"):
		before, err := r.parent(ctx, Rebase, "REBASE_HEAD", 1)
		return Change{Rebase, "REBASE_HEAD", before}, err
	case r.has(ctx, "REVERT_HEAD"):
		return r.revert(ctx, mainline)
	}
	return Change{}, nil
}

// revert is the way back: from the commit to the one before it, which is the empty tree for the first of all.
func (r *Repo) revert(ctx context.Context, mainline int) (Change, error) {
	before, err := r.parent(ctx, Revert, "REVERT_HEAD", mainline)
	if err != nil {
		return Change{}, err
	}
	if len(before) == 0 {
		empty, err := r.run(ctx, nil, "hash-object", "-t", "tree", "-w", "--stdin")
		if err != nil {
			return Change{}, err
		}
		before = []string{strings.TrimSpace(string(empty))}
	}
	return Change{Revert, before[0], []string{"REVERT_HEAD"}}, nil
}

// parent gives the commit before one; none before the first.
func (r *Repo) parent(ctx context.Context, op Operation, commit string, mainline int) ([]string, error) {
	parents, err := r.parents(ctx, commit)
	if err != nil || len(parents) <= 1 {
		return parents, err
	}
	noted := r.noted(ctx, op, parents)
	switch {
	case noted > 0 && mainline == 0:
		mainline = noted
	case noted > 0 && mainline != noted, mainline < 1, mainline > len(parents):
		return nil, &MainlineError{op, len(parents), noted}
	}
	return parents[mainline-1 : mainline], nil
}

// noted gives the parent that -m named, counted from 1: git writes its number beside several commits, and its hash into the message of
// a revert. 0 where it is not noted.
func (r *Repo) noted(ctx context.Context, op Operation, parents []string) int {
	if op == Rebase {
		return 0
	}
	if out, err := r.run(ctx, nil, "rev-parse", "--git-path", "sequencer/opts"); err == nil {
		number, _ := r.run(ctx, nil, "config", "--file", strings.TrimSuffix(string(out), "\n"), "options.mainline") // It may not be there.
		if n, err := strconv.Atoi(strings.TrimSpace(string(number))); err == nil && n <= len(parents) {
			return n
		}
	}
	if op != Revert {
		return 0
	}
	_, words, found := strings.Cut(r.message(ctx), ", reversing\nchanges made to ")
	word, _, _ := strings.Cut(words, " ") // With --reference the hash is short, and its subject follows.
	word, _, _ = strings.Cut(word, ".")
	if !found || len(word) < 4 {
		return 0
	}
	return 1 + slices.IndexFunc(parents, func(parent string) bool { return strings.HasPrefix(parent, word) })
}

// message is the one that git proposes for the next commit; empty where there is none.
func (r *Repo) message(ctx context.Context) string {
	out, err := r.run(ctx, nil, "rev-parse", "--git-path", "MERGE_MSG")
	if err != nil {
		return ""
	}
	name := strings.TrimSuffix(string(out), "\n")
	if !filepath.IsAbs(name) {
		name = filepath.Join(r.dir, name)
	}
	text, _ := os.ReadFile(name) //nolint:gosec // git names it
	return string(text)
}

// same says that two names are of one commit.
func (r *Repo) same(ctx context.Context, a, b string) bool {
	out, err := r.run(ctx, nil, "rev-parse", "--verify", "--quiet", a+"^{commit}")
	other, otherErr := r.run(ctx, nil, "rev-parse", "--verify", "--quiet", b+"^{commit}")
	return err == nil && otherErr == nil && bytes.Equal(out, other)
}

// parents are the hashes of the commits before one.
func (r *Repo) parents(ctx context.Context, commit string) ([]string, error) {
	out, err := r.run(ctx, nil, "rev-parse", commit+"^@")
	return strings.Fields(string(out)), err
}

// mergeBases are the commits that two come from; nil where they have nothing in common.
func (r *Repo) mergeBases(ctx context.Context, a, b string) []string {
	out, err := r.run(ctx, nil, "merge-base", "--all", a, b)
	if err != nil {
		return nil
	}
	return strings.Fields(string(out))
}

// Around names the commits in which there may be what a change has left out, best first: HEAD, theirs and the bases; where nothing is
// under way, HEAD, those that it was made of, what these come from, and what was stashed last. Not all of them need to be there.
func (r *Repo) Around(ctx context.Context, c Change) []string {
	if c.Operation != None {
		return append([]string{Ours, c.Theirs}, c.Bases...)
	}
	names := append([]string{Ours, Ours + "^1", Ours + "^2"}, r.mergeBases(ctx, Ours+"^1", Ours+"^2")...)
	return append(names, "refs/stash", "refs/stash^1", "refs/stash^3") // The third one has what git did not follow.
}

// maxTips is how many branches Tips names.
const maxTips = 20

// Tips names what was fetched last and the branches with the newest commits, at most maxTips of them. Not all need to be there.
func (r *Repo) Tips(ctx context.Context) ([]string, error) {
	out, err := r.run(ctx, nil, "for-each-ref", "--sort=-committerdate", fmt.Sprint("--count=", maxTips), "--format=%(refname)", "refs/heads", "refs/remotes")
	return append([]string{"FETCH_HEAD"}, strings.Fields(string(out))...), err
}

// Mention gives the files of a commit, below some folders, in which one of some words is, whatever its case; nil where there is no
// such commit.
func (r *Repo) Mention(ctx context.Context, commit string, words []string, folders ...string) (map[string]Version, error) {
	if !r.has(ctx, commit) {
		return nil, nil
	}
	args := []string{"grep", "--no-color", "--no-full-name", "-a", "-i", "-l", "-z", "-F", "-f", "-", commit, "--"}
	out, err := r.run(ctx, []byte(strings.Join(words, "\n")), append(args, folders...)...)
	if failed := (*exec.ExitError)(nil); errors.As(err, &failed) && failed.ExitCode() == 1 {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var paths []string
	for entry := range strings.SplitSeq(strings.TrimSuffix(string(out), "\x00"), "\x00") {
		paths = append(paths, strings.TrimPrefix(entry, commit+":"))
	}
	return r.List(ctx, commit, paths...)
}
