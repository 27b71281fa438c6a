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

// Both are the files of both sides of a change, and of the commits that they come from, by path.
type Both struct {
	Bases        []map[string]Version
	Ours, Theirs map[string]Version
}

// Both lists what both sides of a change have below some folders.
func (r *Repo) Both(ctx context.Context, c Change, folders ...string) (b Both, err error) {
	for _, base := range c.Bases {
		files, err := r.List(ctx, base, folders...)
		if err != nil {
			return Both{}, err
		}
		b.Bases = append(b.Bases, files)
	}
	if b.Ours, err = r.List(ctx, Ours, folders...); err != nil {
		return Both{}, err
	}
	b.Theirs, err = r.List(ctx, c.Theirs, folders...)
	return b, err
}

// List gives the files that a commit has among some and below some folders, by path; nil where there is no such commit.
func (r *Repo) List(ctx context.Context, commit string, paths ...string) (map[string]Version, error) {
	if !r.has(ctx, commit) {
		return nil, nil
	}
	out, err := r.run(ctx, nil, append([]string{"ls-tree", "-r", "-z", commit, "--"}, paths...)...) // entries `mode type hash TAB path NUL`
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
	// Decided are the contents that were in a conflict which is decided, also those that were decided against.
	Decided map[string]bool
}

// Against says that a content was in a conflict which is decided, and that no file has it any more.
func (x Index) Against(hash string) bool {
	for _, staged := range x.Staged {
		if staged == hash {
			return false
		}
	}
	return x.Decided[hash]
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
			if list == "--stage" {
				x.Staged[path] = fields[1]
			} else {
				x.Decided[fields[1]] = true
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
