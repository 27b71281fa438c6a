package workfolder

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"path"
	"regexp"

	"github.com/tsumugi-dev/tsumugi/services/agent/internal/folder"
)

// held is a folder.Held. Not for two goroutines at once.
type held struct {
	*Root
	// self is the descriptor that has the lock.
	self *os.File
}

// Unlock implements folder.Held. Closing the descriptor gives the lock back.
func (h *held) Unlock() error { return h.self.Close() }

// stagedName is what Stage makes and Sweep takes away.
var stagedName = regexp.MustCompile("^" + regexp.QuoteMeta(folder.StagedPrefix) + "[0-9a-f]{16}$")

func randomHex(bytes int) string {
	b := make([]byte, bytes)
	_, _ = rand.Read(b) // It never fails (crypto/rand).
	return hex.EncodeToString(b)
}

// Stage implements folder.Held.
func (h *held) Stage(ctx context.Context, c folder.Change) (folder.Staged, error) {
	c, err := c.Clean(h.rules)
	if err != nil {
		return folder.Staged{}, err
	}
	s, err := h.find(ctx, c.Path, noFollow)
	if err != nil {
		return folder.Staged{}, err
	}
	defer s.close()
	was, err := h.stateAt(ctx, s, c.Path)
	if err != nil {
		return folder.Staged{}, err
	}
	if was.Hash != c.Before || c.Before == "" {
		return folder.Staged{}, &folder.StaleError{Path: c.Path, Now: was.Hash}
	}
	st := folder.Staged{Op: c.Op, Target: was.Path, Before: was.Hash, Attempt: 1}
	if st.Folder, err = s.id(); err != nil {
		return folder.Staged{}, told(c.Path, err)
	}
	if len(s.below) > 0 {
		st.Inner = path.Join(s.below...)
	}
	if c.Op == folder.Move {
		return h.stageMove(ctx, c, s, st)
	}
	after, err := folder.After(c, was)
	if err != nil {
		return folder.Staged{}, err
	}
	st.After = after.Hash
	return h.make(c, s, st, after)
}

// make makes what is put in place, or only a name for what goes.
func (h *held) make(c folder.Change, s *spot, st folder.Staged, after folder.State) (folder.Staged, error) {
	weak, err := h.weak(s)
	if err != nil {
		return folder.Staged{}, told(c.Path, err)
	}
	st.Name, st.Weak = folder.StagedPrefix+randomHex(8), weak
	if c.Op == folder.Delete {
		st.File = statOf(s.info).Identity
		return st, nil
	}
	if st.Inner != "" {
		err = h.stageFolders(c, s, st)
	} else {
		err = stageFile(s.dir, st.Name, c.Content, after.Mode, s.info)
	}
	if err == nil {
		h.step("staging")
		err = s.self.Sync()
	}
	var info fs.FileInfo
	if err == nil {
		info, err = s.dir.Lstat(st.Name)
	}
	if err != nil {
		return folder.Staged{}, errors.Join(told(c.Path, err), s.dir.RemoveAll(st.Name))
	}
	st.File = statOf(info).Identity
	h.step("staged")
	return st, nil
}

// stageFile writes a file that nobody had, durably, with the owner and the mode of what it replaces (field/review-agent.md S25).
func stageFile(dir *os.Root, name string, content []byte, mode uint32, was fs.FileInfo) error {
	f, err := dir.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(content)
	if err == nil && was != nil {
		err = keepOwner(f, was)
	}
	if err == nil {
		err = f.Chmod(fs.FileMode(mode))
	}
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

func keepOwner(f *os.File, was fs.FileInfo) error {
	info, err := f.Stat()
	if err != nil {
		return err
	}
	now, then := statOf(info), statOf(was)
	if now.uid == then.uid && now.gid == then.gid {
		return nil
	}
	if err := f.Chown(then.uid, then.gid); err != nil {
		return folder.Refuse(folder.Forbidden, was.Name(), "it belongs to another user or group, which could not be kept")
	}
	return nil
}

// stageFolders makes the first folder that is new under the staged name, with all that is in it: one rename puts it in place.
func (h *held) stageFolders(c folder.Change, s *spot, st folder.Staged) error {
	dirs := []string{st.Name}
	for at := path.Dir(st.Inner); at != "."; at = path.Dir(at) {
		dirs = append(dirs, "")
		copy(dirs[2:], dirs[1:])
		dirs[1] = path.Join(st.Name, at)
	}
	for _, dir := range dirs {
		if err := s.dir.Mkdir(dir, folder.FolderMode); err != nil {
			return err
		}
	}
	if err := stageFile(s.dir, path.Join(st.Name, st.Inner), c.Content, folder.FileMode, nil); err != nil {
		return err
	}
	for i := len(dirs) - 1; i >= 0; i-- {
		if err := syncFolder(s.dir, dirs[i]); err != nil {
			return err
		}
	}
	return nil
}

// syncFolder makes the names in a folder of ours durable, and its mode what it is to be.
func syncFolder(dir *os.Root, name string) error {
	f, err := dir.Open(name)
	if err != nil {
		return err
	}
	return errors.Join(f.Chmod(folder.FolderMode), f.Sync(), f.Close())
}

// stageMove remembers the file that is to move: nothing needs to be made.
func (h *held) stageMove(ctx context.Context, c folder.Change, s *spot, st folder.Staged) (folder.Staged, error) {
	if kind := kindOf(s.info); kind != folder.KindFile {
		return folder.Staged{}, folder.WrongKind(c.Path, kind)
	}
	to, err := h.find(ctx, c.To, noFollow)
	if err != nil {
		return folder.Staged{}, err
	}
	defer to.close()
	there, err := h.stateAt(ctx, to, c.To)
	switch {
	case err != nil:
		return folder.Staged{}, err
	case there.Kind != "":
		return folder.Staged{}, &folder.StaleError{Path: c.To, Now: there.Hash}
	case len(to.below) > 0:
		return folder.Staged{}, folder.Refuse(folder.Missing, c.To, "its folder is not there: create a file in it first")
	}
	weak, err := h.weak(s)
	if err != nil {
		return folder.Staged{}, told(c.Path, err)
	}
	about := statOf(s.info)
	st.To, st.After, st.File, st.Changed, st.Weak = there.Path, st.Before, about.Identity, about.changed, weak
	st.FolderTo, err = to.id()
	return st, told(c.To, err)
}

// weak finds out, once, whether the file system exchanges names.
func (h *held) weak(s *spot) (bool, error) {
	if known := h.exchanges.Load(); known != 0 {
		return known == 2, nil
	}
	a, b := folder.StagedPrefix+randomHex(8), folder.StagedPrefix+randomHex(8)
	defer s.dir.Remove(a) //nolint:errcheck // Sweep takes what stays
	defer s.dir.Remove(b) //nolint:errcheck // Sweep takes what stays
	for _, name := range []string{a, b} {
		f, err := s.dir.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		if err != nil {
			return false, err
		}
		if err := f.Close(); err != nil {
			return false, err
		}
	}
	err := exchange(s.self, a, b)
	if err == nil {
		if err = renameNew(s.self, a, s.self, b); errors.Is(err, fs.ErrExist) {
			h.exchanges.Store(1)
			return false, nil
		}
	}
	if errors.Is(err, errors.ErrUnsupported) || err == nil {
		h.exchanges.Store(2)
		return true, nil
	}
	return false, err
}
