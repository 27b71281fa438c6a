package workfolder

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/tsumugi-dev/tsumugi/services/agent/internal/folder"
)

// spot is where a path leads: an open folder and a name in it. Close it.
type spot struct {
	// dir is the open folder, self a descriptor of it, at its path without links, "." for the top.
	dir  *os.Root
	self *os.File
	at   string
	// base is the name; "." for the folder itself. info is nil where nothing has it.
	base string
	info fs.FileInfo
	// below are the names behind base that are not there, if base is not.
	below  []string
	opened []*os.Root
}

func (s *spot) close() {
	if s.self != nil {
		_ = s.self.Close()
	}
	for _, r := range s.opened {
		_ = r.Close()
	}
}

// path is the path of a name, without links.
func (s *spot) path() string { return path.Join(append([]string{s.at, s.base}, s.below...)...) }

// id identifies the folder.
func (s *spot) id() (folder.Identity, error) {
	info, err := s.self.Stat()
	if err != nil {
		return folder.Identity{}, err
	}
	return statOf(info).Identity, nil
}

// How a path is walked.
type how int

const (
	// noFollow leaves a link at the end as it is; those on the way are followed.
	noFollow how = iota
	// follow follows it.
	follow
	// enter follows it and opens the folder that is there.
	enter
	// noLinks refuses every link: the path was resolved once.
	noLinks
)

// errMoved says that a name was another thing when it was opened than when it was looked at.
var errMoved = errors.New("it was replaced while it was looked at")

// walk is a path on its way.
type walk struct {
	*Root
	ctx   context.Context
	raw   string
	todo  []string
	dirs  []*os.Root
	names []string
	links int
}

// find resolves a cleaned path. Each name, also of links, passes the rules, so that what is protected is refused wherever it is named.
// Nothing above the folder is ever looked at.
func (r *Root) find(ctx context.Context, name string, how how) (*spot, error) {
	w := &walk{Root: r, ctx: ctx, raw: name, todo: strings.Split(name, "/")}
	s := &spot{}
	err := w.run(how, s)
	s.opened = w.dirs
	s.dir, s.at = w.dir(), path.Join(append([]string{"."}, w.names...)...)
	if err == nil {
		err = w.arrive(s)
	}
	if err != nil {
		s.close()
		return nil, w.told(err)
	}
	return s, nil
}

func (w *walk) dir() *os.Root {
	if len(w.dirs) == 0 {
		return w.top
	}
	return w.dirs[len(w.dirs)-1]
}

// arrive opens the folder, which must be on the same mount: what is mounted in it may be anything.
func (w *walk) arrive(s *spot) (err error) {
	if s.self, err = s.dir.Open("."); err != nil {
		return err
	}
	return w.onMount(s.self, w.raw)
}

func (r *Root) onMount(f *os.File, raw string) error {
	mount, err := mountOf(f)
	if err == nil && mount != r.mount {
		err = folder.Refuse(folder.Outside, raw, "another disk or folder is mounted there, which is outside of the work folder")
	}
	return err
}

// run takes name after name.
func (w *walk) run(how how, s *spot) error {
	for len(w.todo) > 0 {
		if err := w.ctx.Err(); err != nil {
			return err
		}
		name := w.todo[0]
		last := len(w.todo) == 1
		switch name {
		case "", ".":
			w.todo = w.todo[1:]
			continue
		case "..":
			if err := w.up(); err != nil {
				return err
			}
			continue
		}
		if err := w.rules.Name(name); err != nil && (how != noLinks || err.Code != folder.Reserved) {
			err.Path = folder.Show(w.raw)
			return err
		}
		info, err := w.dir().Lstat(name)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return w.absent(s)
		case err != nil:
			return err
		case info.Mode()&fs.ModeSymlink != 0 && (!last || how != noFollow):
			if err := w.link(name, how); err != nil {
				return err
			}
			continue
		case last && (how != enter || !info.IsDir()):
			s.base, s.info = name, info
			return nil
		case !info.IsDir():
			return folder.Refuse(folder.WrongType, w.raw, fmt.Sprintf("%s is no folder", folder.Show(name)))
		}
		sub, err := openDir(w.dir(), name, info)
		if err != nil {
			return err
		}
		w.dirs, w.names, w.todo = append(w.dirs, sub), append(w.names, name), w.todo[1:]
	}
	s.base = "."
	s.info = w.info
	return nil
}

// up goes back for the .. of a link.
func (w *walk) up() error {
	if len(w.dirs) == 0 {
		return w.outside()
	}
	_ = w.dirs[len(w.dirs)-1].Close()
	w.dirs, w.names, w.todo = w.dirs[:len(w.dirs)-1], w.names[:len(w.names)-1], w.todo[1:]
	return nil
}

func (w *walk) outside() error {
	return folder.Refuse(folder.Outside, w.raw, "a link on the way leads out of the work folder")
}

// absent ends at the first name that is not there. Behind a link nothing is made: what it names may be meant to be elsewhere.
func (w *walk) absent(s *spot) error {
	for _, name := range w.todo {
		if name == ".." || w.links > 0 && len(w.todo) > 1 {
			return folder.Refuse(folder.Missing, w.raw, "nothing is there")
		}
		if err := w.rules.Name(name); err != nil && err.Code != folder.Reserved {
			err.Path = folder.Show(w.raw)
			return err
		}
	}
	s.base, s.below = w.todo[0], w.todo[1:]
	return nil
}

// link puts the names of a link in the place of its own.
func (w *walk) link(name string, how how) error {
	if how == noLinks {
		return errMoved
	}
	target, err := w.dir().Readlink(name)
	if err != nil {
		return err
	}
	if w.links++; w.links > folder.MaxLinks {
		return folder.Refuse(folder.Outside, w.raw, fmt.Sprintf("more than %d links are on the way", folder.MaxLinks))
	}
	if filepath.IsAbs(target) || len(target) > folder.MaxPath {
		return w.outside()
	}
	w.todo = append(strings.Split(filepath.ToSlash(target), "/"), w.todo[1:]...)
	return nil
}

// openDir opens a folder that was looked at. The dot has the system refuse a pipe, which would wait for a writer.
func openDir(dir *os.Root, name string, info fs.FileInfo) (*os.Root, error) {
	sub, err := dir.OpenRoot(name + "/.")
	if err != nil {
		return nil, err
	}
	now, err := sub.Stat(".")
	if err == nil && !os.SameFile(info, now) {
		err = errMoved
	}
	if err != nil {
		return nil, errors.Join(err, sub.Close())
	}
	return sub, nil
}

// told is an error of the disk in a sentence, without its path.
func (w *walk) told(err error) error { return told(w.raw, err) }

func told(raw string, err error) error {
	var refusal *folder.Refusal
	var stale *folder.StaleError
	switch {
	case err == nil || errors.As(err, &refusal) || errors.As(err, &stale) || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded):
		return err
	case errors.Is(err, errMoved):
		return &folder.StaleError{Path: raw}
	case errors.Is(err, fs.ErrNotExist):
		return folder.Refuse(folder.Missing, raw, "nothing is there")
	case errors.Is(err, fs.ErrPermission):
		return folder.Refuse(folder.Forbidden, raw, "the operating system does not allow it")
	case errors.Is(err, syscall.ENAMETOOLONG):
		return folder.Refuse(folder.BadPath, raw, "a name in it is too long for this disk")
	case errors.Is(err, syscall.ENOTDIR):
		return folder.Refuse(folder.WrongType, raw, "a name on the way is no folder")
	case errors.Is(err, syscall.ENXIO), errors.Is(err, syscall.ENODEV):
		return folder.WrongKind(raw, folder.KindOther)
	}
	return fmt.Errorf("%s: %w", folder.Show(raw), err)
}
