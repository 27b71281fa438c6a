// Package workfolder is folder.Root over a folder of the disk.
//
// Every name is looked up at each use, one after the other, each in the open folder above it (os.Root), and what was opened is compared
// with what was looked at: a link that is put in the way meanwhile leads nowhere (field/review-agent.md S2). Nothing is ever written in
// place. On Linux a change is one rename that exchanges the new content with what is there, or that refuses to replace anything (S1);
// elsewhere, and on file systems that cannot do that, it is lock, check and rename, and the outcome says so. What no rename can see is a
// writer that had the file open already: what it writes later goes to the replaced file, and Finish keeps that beside the new one where
// it has come by then.
//
// Kept of a target are mode and owner; access control lists and extended attributes are not.
package workfolder

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	"github.com/tsumugi-dev/tsumugi/services/agent/internal/folder"
)

// Config is one root.
type Config struct {
	// Name is what sessions and approvals call it. Path is the folder: absolute, or relative to where the process runs.
	Name, Path string
	// Mount is the path by which a prompt names it; empty for a work folder.
	Mount string
	// ReadOnly refuses all changes.
	ReadOnly bool
	// AskHardLinks has reads of files with several names refused as a question for a person, not for good (field/review-agent.md S4).
	AskHardLinks bool
	// Protected are more patterns of names that are never read, listed or changed (folder.NewRules).
	Protected []string
}

// Root is a folder.Root. Close it.
type Root struct {
	config Config
	// path is absolute and without links.
	path  string
	rules folder.Rules
	top   *os.Root
	info  fs.FileInfo
	// mount is the mount that the folder is on; 0 where that cannot be told.
	mount    uint64
	warnings []string
	// exchanges is whether the file system exchanges names: 0 not tried yet, 1 yes, 2 no. Under the lock.
	exchanges atomic.Int32
	// step is called between the steps of an effect, by tests.
	step func(string)
}

var _ folder.Root = (*Root)(nil)

// Open opens a root. own are the files and folders of this program (data folder, settings, tokens, consent, the program itself), there
// or not yet: a root that holds one of them or lies in one is refused, since a write tool could change the rules that hold it
// (field/review-agent.md S12). The error is a sentence.
func Open(c Config, own []string) (*Root, error) {
	rules, err := folder.NewRules(c.Protected)
	if err != nil {
		return nil, fmt.Errorf("root %q: protected: %w", c.Name, err)
	}
	path, err := filepath.Abs(c.Path)
	if err == nil {
		path, err = filepath.EvalSymlinks(path)
	}
	if err != nil {
		return nil, fmt.Errorf("root %q: %w", c.Name, err)
	}
	if err := apart(path, own); err != nil {
		return nil, fmt.Errorf("root %q: %w", c.Name, err)
	}
	top, err := os.OpenRoot(path)
	if err != nil {
		return nil, fmt.Errorf("root %q: %w", c.Name, err)
	}
	r := &Root{config: c, path: path, rules: rules, top: top, step: func(string) {}}
	if err := r.look(); err != nil {
		return nil, errors.Join(fmt.Errorf("root %q: %w", c.Name, err), top.Close())
	}
	return r, nil
}

// look reads what the folder is.
func (r *Root) look() error {
	self, err := r.top.Open(".")
	if err != nil {
		return err
	}
	defer self.Close() //nolint:errcheck // only looked at
	if r.info, err = self.Stat(); err != nil {
		return err
	}
	if r.mount, err = mountOf(self); err != nil {
		return err
	}
	r.warnings = warnings(r.path, r.info)
	return nil
}

// Close closes the folder. Locks that are held stay until they are given back.
func (r *Root) Close() error { return r.top.Close() }

// About implements folder.Root.
func (r *Root) About() folder.About {
	return folder.About{Name: r.config.Name, Mount: r.config.Mount, ReadOnly: r.config.ReadOnly, Rules: r.rules, Warnings: r.warnings}
}

// Plan implements folder.Root.
func (r *Root) Plan(ctx context.Context, changes ...folder.Change) []folder.Planned {
	scene := folder.NewScene(func(path string) (folder.State, error) { return r.state(ctx, path) })
	all := make([]folder.Planned, len(changes))
	for i, c := range changes {
		if i >= folder.MaxChanges {
			all[i].Err = folder.Refuse(folder.TooLarge, c.Path, fmt.Sprintf("more than %d changes at once", folder.MaxChanges))
			continue
		}
		if all[i].Err = r.writable(); all[i].Err != nil {
			continue
		}
		if c, all[i].Err = c.Clean(r.rules); all[i].Err == nil {
			all[i].Plan, all[i].Err = scene.Plan(c)
		}
	}
	return all
}

func (r *Root) writable() error {
	if r.config.ReadOnly {
		return folder.Refuse(folder.ReadOnly, r.config.Name, "this folder may only be read")
	}
	if !canProve {
		return folder.Refuse(folder.ReadOnly, r.config.Name, "on this operating system folders may only be read: it has no numbers of files by which a change could be proved")
	}
	return nil
}

// poll is how long one waits before the lock is tried again.
const poll = 20 * time.Millisecond

// Lock implements folder.Root. The lock is that of the open folder itself, so it holds among processes, and among sessions of one.
func (r *Root) Lock(ctx context.Context) (folder.Held, error) {
	if err := r.writable(); err != nil {
		return nil, err
	}
	self, err := r.top.Open(".")
	if err != nil {
		return nil, err
	}
	if err := r.wait(ctx, self); err != nil {
		return nil, errors.Join(err, self.Close())
	}
	if now, err := os.Stat(r.path); err != nil || !os.SameFile(now, r.info) {
		return nil, errors.Join(folder.Refuse(folder.Forbidden, r.config.Name, "another folder stands in its place since it was opened; start again"), self.Close())
	}
	return &held{Root: r, self: self}, nil
}

// wait tries to lock until the context ends.
func (r *Root) wait(ctx context.Context, self *os.File) error {
	ticker := time.NewTicker(poll)
	defer ticker.Stop()
	for {
		ok, err := tryLock(self)
		if ok || err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return &folder.BusyError{Folder: r.config.Name}
		case <-ticker.C:
		}
	}
}

// apart refuses a root that holds one of own, or lies in one, after links were resolved; also where two paths are one folder.
func apart(root string, own []string) error {
	if root == filepath.Dir(root) {
		return errors.New("the whole disk is no work folder")
	}
	for _, o := range own {
		if o == "" {
			continue
		}
		there, err := resolved(o)
		if err != nil {
			return err
		}
		if within(root, there) || within(there, root) {
			return fmt.Errorf("it overlaps %s, which is this program's own: what a session may write must lie apart from it", o)
		}
	}
	return nil
}

// Overlaps says that one of two roots is the other or lies in it, after links were resolved; also where two paths are one folder. Their locks would be
// two, and each would see what is staged in the other (field/review-agent.md C51). A part of a root that is mounted a second time elsewhere is not seen.
func (r *Root) Overlaps(other *Root) bool {
	return within(r.path, other.path) || within(other.path, r.path)
}

// resolved is a path without links, also where its end is not there yet.
func resolved(path string) (string, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	rest := ""
	for at := path; ; at = filepath.Dir(at) {
		there, err := filepath.EvalSymlinks(at)
		if err == nil {
			return filepath.Join(there, rest), nil
		}
		if !errors.Is(err, fs.ErrNotExist) || at == filepath.Dir(at) {
			return "", err
		}
		rest = filepath.Join(filepath.Base(at), rest)
	}
}

// within says that a path is in a folder or is the folder, by its letters or by what the disk says of the folders above it.
func within(dir, path string) bool {
	rel, err := filepath.Rel(dir, path)
	if err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator)) {
		return true
	}
	info, err := os.Stat(dir)
	if err != nil {
		return false
	}
	for at := path; ; at = filepath.Dir(at) {
		if above, err := os.Stat(at); err == nil && os.SameFile(info, above) {
			return true
		}
		if at == filepath.Dir(at) {
			return false
		}
	}
}
