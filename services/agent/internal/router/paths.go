package router

import (
	"context"
	"errors"
	"path"
	"slices"
	"strings"

	"github.com/tsumugi-dev/tsumugi/services/agent/internal/folder"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/tool"
)

// fileChange says that a tool is one of our own that change files.
func fileChange(d tool.Definition) bool {
	return d.Origin.Kind == tool.BuiltIn && slices.Contains([]string{tool.Write, tool.Create, tool.Move, tool.Delete}, d.Name)
}

// paths is step 5 by the letters of the paths: nothing is looked at.
func (r Router) paths(j *Judged) bool {
	written := j.Writes
	j.Writes = nil
	var cleaned, writes []string
	for _, raw := range j.named {
		root, inside, err := r.Mounts.Find(raw)
		if err != nil {
			return j.refuse(err)
		}
		about := root.About()
		if !j.read && (root != r.Mounts.Work || about.ReadOnly) {
			return j.refuse(folder.Refuse(folder.ReadOnly, raw, "it is in a folder that may only be read"))
		}
		j.root = root
		name, err := about.Rules.Clean(inside, use(j, slices.Contains(written, raw)))
		if err != nil {
			return j.refuse(err)
		}
		cleaned = append(cleaned, name)
		if slices.Contains(written, raw) {
			writes = append(writes, name)
		}
	}
	j.Paths, j.Writes = cleaned, writes
	return r.describe(j)
}

// use is what a path is named for. Where source and destination of a move have the same letters, the stricter one.
func use(j *Judged, written bool) folder.Use {
	switch {
	case !fileChange(j.Tool.Definition):
		return folder.Read
	case j.Tool.Name == tool.Create, j.Tool.Name == tool.Move && written:
		return folder.New
	}
	return folder.Alter
}

// resolve adds to the paths where links in them lead, so that no link leads around a rule about another path. What is changed is never
// followed at its end. The look is by Stat alone, and what it tells is held against the plan or the read later: a link may change.
func (r Router) resolve(ctx context.Context, j *Judged) error {
	for i, name := range j.Paths[:len(j.Paths):len(j.Paths)] {
		to, err := follow(ctx, j.root, name, j.read || !fileChange(j.Tool.Definition))
		if err != nil {
			return err
		}
		if to != name {
			j.Paths = append(j.Paths, to)
			if slices.Contains(j.Writes, j.Paths[i]) {
				j.Writes = append(j.Writes, to)
			}
		}
	}
	j.asked.Paths, j.asked.Writes = j.Paths, j.Writes
	return nil
}

// follow gives a path with its links followed, as far as they can be: whoever opens it refuses the rest.
func follow(ctx context.Context, root folder.Root, name string, end bool) (string, error) {
	todo := strings.Split(name, "/")
	done := "."
	for links := 0; len(todo) > 0; {
		if err := ctx.Err(); err != nil {
			return "", err
		}
		at := path.Join(done, todo[0])
		todo = todo[1:]
		if at == ".." || strings.HasPrefix(at, "../") {
			return name, nil // It leads out, which the folder refuses.
		}
		if at == "." || len(todo) == 0 && !end {
			done = at
			continue
		}
		e, err := root.Stat(ctx, at)
		if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
			return "", err
		}
		if err != nil || e.Kind != folder.KindLink || strings.HasPrefix(e.Target, "/") {
			done = at
			continue
		}
		if links++; links > folder.MaxLinks {
			return name, nil
		}
		todo = append(strings.Split(e.Target, "/"), todo...)
	}
	return done, nil
}

// hide takes from the entry of a link where it leads, unless each name there is one that this caller may be told, as those of a list are (S21); at is where
// it is, with links followed. Of what is out of the folder no rule says that it may be told.
func (r Router) hide(ctx context.Context, j Judged, at string, e folder.Entry) (folder.Entry, error) {
	if e.Kind != folder.KindLink {
		return e, nil
	}
	denied, outside, err := r.leads(ctx, j, at, e.Target)
	if denied || outside {
		e.Target, e.Hidden = "", true
	}
	return e, err
}

// leads says whether a link names what this caller may not stat, or leads out of the folder before it does.
func (r Router) leads(ctx context.Context, j Judged, at, target string) (denied, outside bool, err error) {
	if strings.HasPrefix(target, "/") {
		return false, true, nil
	}
	done := path.Dir(at)
	for name := range strings.SplitSeq(target, "/") {
		next := path.Join(done, name)
		if next == ".." || strings.HasPrefix(next, "../") {
			return false, true, nil
		}
		if name != "" && name != "." && name != ".." {
			if _, err := j.root.About().Rules.Clean(next, folder.Read); err != nil || !r.may(j.session, tool.Stat, j.Root, next) {
				return true, false, nil // A name that no path may have is told as little.
			}
		}
		if done, err = follow(ctx, j.root, next, true); err != nil {
			return true, false, err
		}
	}
	return false, false, nil
}
