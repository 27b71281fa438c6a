package git

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

const ours = "HEAD"

// change is what is brought to HEAD: what lies between one of the bases and a commit.
type change struct {
	theirs string
	bases  []string
}

// changeUnderway says what a merge, a cherry-pick, a rebase or a revert that is under way brings to HEAD; ok is false where none is. Of a
// merge commit that is picked or reverted, the first parent is what it changed, as with git's -m 1.
func (r *Repo) changeUnderway(ctx context.Context) (c change, ok bool, err error) {
	if r.has(ctx, "MERGE_HEAD") {
		found, err := r.run(ctx, nil, "merge-base", "--all", ours, "MERGE_HEAD")
		if err != nil {
			found = nil // They have nothing in common.
		}
		return change{"MERGE_HEAD", strings.Fields(string(found))}, true, nil
	}
	for _, name := range []string{"CHERRY_PICK_HEAD", "REBASE_HEAD"} {
		if r.has(ctx, name) {
			return change{name, r.parent(ctx, name)}, true, nil
		}
	}
	if !r.has(ctx, "REVERT_HEAD") {
		return change{}, false, nil
	}
	// A revert goes the way back: from the commit to the one before it, which is the empty tree for the first of all.
	before := r.parent(ctx, "REVERT_HEAD")
	if before == nil {
		empty, err := r.run(ctx, nil, "hash-object", "-t", "tree", "-w", "--stdin")
		if err != nil {
			return change{}, false, err
		}
		before = []string{strings.TrimSpace(string(empty))}
	}
	return change{before[0], []string{"REVERT_HEAD"}}, true, nil
}

// Underway says that a merge, a cherry-pick, a rebase or a revert is.
func (r *Repo) Underway(ctx context.Context) (bool, error) {
	_, ok, err := r.changeUnderway(ctx)
	return ok, err
}

func (r *Repo) has(ctx context.Context, commit string) bool {
	_, err := r.run(ctx, nil, "rev-parse", "--verify", "--quiet", commit+"^{commit}")
	return err == nil
}

// parent gives the commit before one; nil before the first.
func (r *Repo) parent(ctx context.Context, commit string) []string {
	if !r.has(ctx, commit+"^") {
		return nil
	}
	return []string{commit + "^"}
}

// InOurs says which of some paths the commit has that one is on; nil where there is none.
func (r *Repo) InOurs(ctx context.Context, paths ...string) ([]string, error) {
	if !r.has(ctx, ours) {
		return nil, nil
	}
	return r.in(ctx, ours, paths)
}

// InTheirs says the same of what is brought to it; nil where nothing is.
func (r *Repo) InTheirs(ctx context.Context, paths ...string) ([]string, error) {
	c, ok, err := r.changeUnderway(ctx)
	if err != nil || !ok {
		return nil, err
	}
	return r.in(ctx, c.theirs, paths)
}

func (r *Repo) in(ctx context.Context, commit string, paths []string) ([]string, error) {
	out, err := r.run(ctx, nil, append([]string{"ls-tree", "-z", "--name-only", commit, "--"}, paths...)...)
	if err != nil {
		return nil, err
	}
	return strings.FieldsFunc(string(out), func(c rune) bool { return c == 0 }), nil
}

// Both are the files of both sides of a merge, a cherry-pick, a rebase or a revert that is under way, and of the commits that they come from, by path. Of these there is one,
// none where they have nothing in common, and several where each side took in work of the other before.
type Both struct {
	Bases        []map[string]Version
	Ours, Theirs map[string]Version
}

// Both lists what both sides have below some folders; ok is false where nothing is under way.
func (r *Repo) Both(ctx context.Context, folders ...string) (b Both, ok bool, err error) {
	c, ok, err := r.changeUnderway(ctx)
	if err != nil || !ok {
		return Both{}, false, err
	}
	for _, base := range c.bases {
		files, err := r.list(ctx, base, folders)
		if err != nil {
			return Both{}, false, err
		}
		b.Bases = append(b.Bases, files)
	}
	if b.Ours, err = r.list(ctx, ours, folders); err != nil {
		return Both{}, false, err
	}
	b.Theirs, err = r.list(ctx, c.theirs, folders)
	return b, err == nil, err
}

// list gives the files that a commit has, from entries `mode type hash TAB path NUL`.
func (r *Repo) list(ctx context.Context, commit string, folders []string) (map[string]Version, error) {
	out, err := r.run(ctx, nil, append([]string{"ls-tree", "-r", "-z", commit, "--"}, folders...)...)
	if err != nil {
		return nil, err
	}
	files := map[string]Version{}
	for entry := range strings.SplitSeq(string(out), "\x00") {
		about, path, _ := strings.Cut(entry, "\t")
		if fields := strings.Fields(about); len(fields) == 3 && fields[1] == "blob" {
			files[path] = Version{Mode: fields[0], Hash: fields[2]}
		}
	}
	return files, nil
}

// Index is what git has of a merge so far.
type Index struct {
	// Staged are the contents of files, by path, of which nothing is in conflict, by their names in git.
	Staged map[string]string
	// Decided are the contents that the merge has taken: those of Staged, and all that were in a conflict which is decided, also those that
	// were decided against.
	Decided map[string]bool
}

// Index reads the index.
func (r *Repo) Index(ctx context.Context) (Index, error) {
	x := Index{map[string]string{}, map[string]bool{}}
	for _, list := range []string{"--stage", "--resolve-undo"} {
		out, err := r.run(ctx, nil, "ls-files", list, "-z")
		if err != nil {
			return Index{}, err
		}
		for entry := range strings.SplitSeq(string(out), "\x00") {
			about, path, _ := strings.Cut(entry, "\t")
			fields := strings.Fields(about)
			if len(fields) != 3 || list == "--stage" && fields[2] != "0" {
				continue
			}
			x.Decided[fields[1]] = true
			if list == "--stage" {
				x.Staged[path] = fields[1]
			}
		}
	}
	return x, nil
}

// MergeText merges what both sides made of a text, line by line, as git does. clean is false where both changed the same lines.
func (r *Repo) MergeText(ctx context.Context, base, ours, theirs []byte) (merged []byte, clean bool, err error) {
	dir, err := os.MkdirTemp("", "flowstore-merge-")
	if err != nil {
		return nil, false, err
	}
	defer func() { _ = os.RemoveAll(dir) }() // copies alone
	args := []string{"merge-file", "--stdout", "--quiet"}
	for name, text := range map[string][]byte{"ours": ours, "base": base, "theirs": theirs} {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
			return nil, false, err
		}
	}
	for _, name := range []string{"ours", "base", "theirs"} {
		args = append(args, filepath.Join(dir, name))
	}
	c := r.command(ctx, args...)
	var out, trouble bytes.Buffer
	c.Stdout, c.Stderr = &out, &trouble
	err = c.Run()
	// The exit code is the number of conflicts, at most 127; from 128 on something else is wrong.
	if failed := (*exec.ExitError)(nil); errors.As(err, &failed) && failed.ExitCode() > 0 && failed.ExitCode() < 128 {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, fmt.Errorf("merge both sides: %w", told(err, "merge-file", trouble.String()))
	}
	return out.Bytes(), true, nil
}
