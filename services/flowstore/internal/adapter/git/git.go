// Package git asks the git program for what a merge left undecided, and tells it what was decided: plumbing commands only,
// whose output is made for programs.
package git

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
)

// ErrTooLarge says that a version of a file is larger than the reader allowed.
var ErrTooLarge = errors.New("it is too large")

// Repo is a folder in the working tree of a repository. Paths are seen from it, with slashes; what lies outside of it is not
// touched. It is for one goroutine at a time.
type Repo struct {
	dir string
	// objects is nil until one is asked for.
	objects *objects
}

// Open finds the repository of a folder. The error says what to do where git is not installed, or the folder is in no
// repository. Close it.
func Open(ctx context.Context, dir string) (*Repo, error) {
	if _, err := exec.LookPath("git"); err != nil {
		return nil, fmt.Errorf("the program git is not in the PATH; install it: %w", err)
	}
	r := &Repo{dir: dir}
	inside, err := r.run(ctx, nil, "rev-parse", "--is-inside-work-tree")
	if err != nil {
		return nil, err
	}
	if strings.TrimSpace(string(inside)) != "true" {
		return nil, fmt.Errorf("%s is not in the working tree of a repository", dir)
	}
	return r, nil
}

// Version is a file as one side of a merge has it.
type Version struct {
	// Mode is git's, such as 100644; Hash is the name of the content. Both are empty where the side has no such file.
	Mode, Hash string
}

// Regular says that the version is a file, and no symbolic link, folder or other repository.
func (v Version) Regular() bool { return v.Mode == "100644" || v.Mode == "100755" }

// Conflict is a file that a merge did not decide. Base is where both sides came from; a rebase calls ours what a merge
// calls theirs.
type Conflict struct {
	Path               string
	Base, Ours, Theirs Version
}

// Conflicts lists what is undecided, by path.
func (r *Repo) Conflicts(ctx context.Context) ([]Conflict, error) {
	out, err := r.run(ctx, nil, "ls-files", "--unmerged", "-z")
	if err != nil {
		return nil, err
	}
	return parseUnmerged(string(out))
}

// parseUnmerged reads entries `mode hash stage TAB path NUL`.
func parseUnmerged(out string) (conflicts []Conflict, err error) {
	for entry := range strings.SplitSeq(strings.TrimSuffix(out, "\x00"), "\x00") {
		if entry == "" {
			continue
		}
		about, path, _ := strings.Cut(entry, "\t")
		fields := strings.Fields(about)
		if len(fields) != 3 || path == "" {
			return nil, fmt.Errorf("git ls-files answered %q, which is no entry of the index", entry)
		}
		if n := len(conflicts); n == 0 || conflicts[n-1].Path != path {
			conflicts = append(conflicts, Conflict{Path: path})
		}
		c, v := &conflicts[len(conflicts)-1], Version{Mode: fields[0], Hash: fields[1]}
		switch fields[2] {
		case "1":
			c.Base = v
		case "2":
			c.Ours = v
		case "3":
			c.Theirs = v
		default:
			return nil, fmt.Errorf("git ls-files answered %q, whose stage is not 1 to 3", entry)
		}
	}
	return conflicts, nil
}

// Changed lists the files below some folders, by path, that are not in the index as they are in the working tree: changed, new or
// gone. Those that .gitignore names are left out; those in conflict are among them.
func (r *Repo) Changed(ctx context.Context, folders ...string) ([]string, error) {
	out, err := r.run(ctx, nil, append([]string{"ls-files", "--modified", "--others", "--exclude-standard", "-z", "--"}, folders...)...)
	if err != nil {
		return nil, err
	}
	paths := strings.FieldsFunc(string(out), func(c rune) bool { return c == 0 })
	slices.Sort(paths)
	return slices.Compact(paths), nil
}

// Stage makes files as they are in the working tree part of the next commit, those that are gone as gone; an undecided one
// is decided with that. All or none.
func (r *Repo) Stage(ctx context.Context, paths []string) error {
	if len(paths) == 0 {
		return nil
	}
	_, err := r.run(ctx, []byte(strings.Join(paths, "\x00")+"\x00"), "update-index", "--add", "--remove", "-z", "--stdin")
	return err
}

func (r *Repo) run(ctx context.Context, in []byte, args ...string) ([]byte, error) {
	c := r.command(ctx, args...)
	c.Stdin = bytes.NewReader(in)
	var out, trouble bytes.Buffer
	c.Stdout, c.Stderr = &out, &trouble
	if err := c.Run(); err != nil {
		return nil, told(err, args[0], trouble.String())
	}
	return out.Bytes(), nil
}

// command is a git command in the folder, in English, that asks nothing and starts no program that a repository names.
func (r *Repo) command(ctx context.Context, args ...string) *exec.Cmd {
	c := exec.CommandContext(ctx, "git", slices.Concat([]string{"-C", r.dir, "-c", "core.fsmonitor=false"}, args)...)
	c.Env = append(os.Environ(), "LC_ALL=C", "GIT_TERMINAL_PROMPT=0")
	return c
}

func told(err error, command, trouble string) error {
	if trouble = strings.TrimSpace(trouble); trouble != "" {
		return fmt.Errorf("git %s: %s", command, trouble)
	}
	return fmt.Errorf("git %s: %w", command, err)
}
