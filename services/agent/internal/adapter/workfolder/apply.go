package workfolder

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path"

	"github.com/tsumugi-dev/tsumugi/services/agent/internal/folder"
)

// maxTurns is how often an exchange is taken back before one gives up: each time somebody else was quicker.
const maxTurns = 100

// Sentences of outcomes.
const (
	whyStaged  = "what was staged for it is not there as it was staged"
	whyStale   = "the target is not what was approved"
	whyReplace = "a folder on the way was replaced"
	whyAgain   = "it was applied before, or others have changed what was staged for it; the proof tells"
	whyFight   = "somebody else changes the target all the time"
)

func notDone(why string) folder.Outcome { return folder.Outcome{Result: folder.NotDone, Reason: why} }

func unknown(why string) folder.Outcome { return folder.Outcome{Result: folder.Unknown, Reason: why} }

// Apply implements folder.Held.
func (h *held) Apply(ctx context.Context, s folder.Staged) folder.Outcome {
	if err := ctx.Err(); err != nil {
		return notDone(err.Error())
	}
	at, err := h.reopen(ctx, path.Dir(s.Top()), s.Folder)
	if err != nil {
		return h.staleOr(err)
	}
	defer at.close()
	at.base = path.Base(s.Top())
	ctx = context.WithoutCancel(ctx)
	if s.Op == folder.Move {
		return h.move(ctx, at, s)
	}
	if s.Op == folder.Delete {
		return h.remove(ctx, at, s)
	}
	own, err := hold(at.dir, s.Name)
	if err != nil {
		return unknown(whyAgain)
	}
	defer own.Close() //nolint:errcheck // only held
	if info, err := own.Stat(); err != nil || statOf(info).Inode != s.File.Inode {
		return unknown(whyAgain)
	}
	if !h.isStaged(ctx, at, s) {
		return notDone(whyStaged)
	}
	if s.Before == folder.Absent {
		return h.create(ctx, at, s)
	}
	return h.exchange(ctx, at, own, s)
}

// staleOr is the outcome of a folder that could not be opened again.
func (h *held) staleOr(err error) folder.Outcome {
	var refusal *folder.Refusal
	if errors.Is(err, errMoved) || errors.As(err, &refusal) {
		return folder.Outcome{Result: folder.Stale, Reason: whyReplace}
	}
	return notDone(err.Error())
}

// reopen opens a folder by a path without links. errMoved where it is not the one that it was.
func (h *held) reopen(ctx context.Context, name string, id folder.Identity) (*spot, error) {
	s, err := h.findAgain(ctx, name)
	if err != nil {
		return nil, err
	}
	now, err := s.id()
	// The number of a device may be another one after a restart of the machine; that it is the same mount is checked by find.
	if err == nil && now.Inode != id.Inode {
		err = errMoved
	}
	if err != nil {
		s.close()
		return nil, err
	}
	return s, nil
}

// findAgain opens a folder by a path that find gave.
func (h *held) findAgain(ctx context.Context, name string) (*spot, error) {
	s, err := h.find(ctx, name+"/.", noLinks)
	var stale *folder.StaleError
	if errors.As(err, &stale) {
		return nil, errMoved
	}
	if err == nil && s.base != "." {
		s.close()
		return nil, errMoved
	}
	return s, err
}

// same says that a folder still stands at its path.
func (h *held) same(ctx context.Context, at *spot, id folder.Identity) bool {
	again, err := h.reopen(ctx, at.at, id)
	if err != nil {
		return false
	}
	again.close()
	return true
}

// isStaged says that a held file is as it was staged: its one name and its content.
func (h *held) isStaged(ctx context.Context, at *spot, s folder.Staged) bool {
	if s.Inner == "" {
		return h.hashAt(ctx, at, s.Name) == s.After
	}
	file, err := h.find(ctx, path.Join(at.at, s.Name, s.Inner), noLinks)
	if err != nil {
		return false
	}
	defer file.close()
	return h.hashAt(ctx, file, file.base) == s.After
}

// hashAt is the hash of what has a name in an open folder: Absent where nothing has, empty where it is no file with one name, and no link,
// or cannot be read.
func (h *held) hashAt(ctx context.Context, at *spot, name string) folder.Hash {
	info, err := at.dir.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return folder.Absent
	}
	if err != nil {
		return ""
	}
	st, err := h.stateAt(ctx, &spot{dir: at.dir, self: at.self, at: at.at, base: name, info: info}, name)
	if err != nil {
		return ""
	}
	return st.Hash
}

// done makes the names durable.
func (h *held) done(s folder.Staged, folders ...*spot) folder.Outcome {
	h.step("verified")
	for _, f := range folders {
		if err := f.self.Sync(); err != nil {
			return unknown("the folder could not be written to the disk: " + err.Error())
		}
	}
	h.step("synced")
	return folder.Outcome{Result: folder.Done, Now: s.After, Weak: s.Weak}
}

// stale says that others' content is in place, durably.
func (h *held) stale(ctx context.Context, at *spot) folder.Outcome {
	if err := at.self.Sync(); err != nil {
		return unknown("the folder could not be written to the disk: " + err.Error())
	}
	return folder.Outcome{Result: folder.Stale, Now: h.hashAt(ctx, at, at.base), Reason: whyStale}
}

// exchange replaces a file and looks at what came out (field/review-agent.md S1).
func (h *held) exchange(ctx context.Context, at *spot, own *os.File, s folder.Staged) folder.Outcome {
	if s.Weak {
		return h.replace(ctx, at, s)
	}
	switch err := exchange(at.self, s.Name, at.base); {
	case errors.Is(err, fs.ErrNotExist):
		return h.stale(ctx, at)
	case err != nil:
		return notDone(err.Error())
	}
	h.step("renamed")
	if h.hashAt(ctx, at, s.Name) == s.Before && h.same(ctx, at, s.Folder) {
		return h.done(s, at)
	}
	if !h.takeBack(at, s.Name, own) {
		return unknown(whyFight)
	}
	h.step("taken back")
	return h.stale(ctx, at)
}

// takeBack exchanges until what comes out is what went in the time before, so that nobody came between the last two and the newest content
// of others is in place. All that was seen is held meanwhile: the number of a file that is gone is soon another's. What came out last is our
// own, which stays for Prove, or was replaced by its own writers, and goes.
func (h *held) takeBack(at *spot, name string, own *os.File) bool {
	seen := []*os.File{own}
	defer func() {
		for _, f := range seen[1:] {
			_ = f.Close()
		}
	}()
	out, err := hold(at.dir, name)
	for turn := 0; err == nil && turn < maxTurns; turn++ {
		in := seen[len(seen)-1]
		seen = append(seen, out)
		err = exchange(at.self, name, at.base)
		h.step("turn")
		if errors.Is(err, fs.ErrNotExist) { // Somebody took the target away, which is no reason to lose what was there before.
			if err = renameNew(at.self, name, at.self, at.base); err == nil {
				return true
			}
			if errors.Is(err, fs.ErrExist) { // And put another one there.
				err, seen = nil, seen[:len(seen)-1]
				continue
			}
		}
		if err != nil {
			return false
		}
		if out, err = hold(at.dir, name); err == nil && sameFile(out, in) {
			ours := sameFile(out, own)
			_ = out.Close()
			return ours || at.dir.Remove(name) == nil
		}
	}
	return false
}

func sameFile(a, b *os.File) bool {
	x, errX := a.Stat()
	y, errY := b.Stat()
	return errX == nil && errY == nil && os.SameFile(x, y)
}

// replace is exchange where the file system has none: there is a moment between the look and the rename.
func (h *held) replace(ctx context.Context, at *spot, s folder.Staged) folder.Outcome {
	if now := h.hashAt(ctx, at, at.base); now != s.Before {
		return h.stale(ctx, at)
	}
	if err := at.dir.Rename(s.Name, at.base); err != nil {
		return notDone(err.Error())
	}
	h.step("renamed")
	return h.done(s, at)
}

// create puts a new file or folder in place.
func (h *held) create(ctx context.Context, at *spot, s folder.Staged) folder.Outcome {
	err := h.renameNew(at, s.Name, at, at.base, s.Weak)
	switch {
	case errors.Is(err, fs.ErrExist):
		return h.stale(ctx, at)
	case err != nil:
		return notDone(err.Error())
	}
	h.step("renamed")
	if h.same(ctx, at, s.Folder) {
		return h.done(s, at)
	}
	if err := h.renameNew(at, at.base, at, s.Name, s.Weak); err != nil {
		return unknown(whyReplace)
	}
	h.step("taken back")
	return folder.Outcome{Result: folder.Stale, Reason: whyReplace}
}

// renameNew renames without replacing, with a moment between look and rename where the file system cannot do it in one.
func (h *held) renameNew(from *spot, old string, to *spot, name string, weak bool) error {
	if !weak {
		return renameNew(from.self, old, to.self, name)
	}
	switch _, err := to.dir.Lstat(name); {
	case err == nil:
		return fs.ErrExist
	case !errors.Is(err, fs.ErrNotExist):
		return err
	}
	return renamePlain(from.self, old, to.self, name)
}

// remove gives a file its staged name, where it waits until the caller has written down that it is deleted.
func (h *held) remove(ctx context.Context, at *spot, s folder.Staged) folder.Outcome {
	err := h.renameNew(at, at.base, at, s.Name, s.Weak)
	switch {
	case h.inode(at, s.Name) != 0 && err != nil:
		return unknown(whyAgain)
	case errors.Is(err, fs.ErrNotExist):
		return h.stale(ctx, at)
	case err != nil:
		return notDone(err.Error())
	}
	h.step("renamed")
	if h.hashAt(ctx, at, s.Name) == s.Before && h.same(ctx, at, s.Folder) {
		return h.done(s, at)
	}
	out := h.putBack(ctx, at, s)
	h.step("taken back")
	return out
}

// putBack gives a file that was not the one to delete its name again. Where somebody else has made another one meanwhile, it stays beside it.
func (h *held) putBack(ctx context.Context, at *spot, s folder.Staged) folder.Outcome {
	err := h.renameNew(at, s.Name, at, at.base, s.Weak)
	kept := ""
	if errors.Is(err, fs.ErrExist) {
		kept, err = h.keep(at, s, at.base)
	}
	if err != nil {
		return unknown(err.Error())
	}
	out := h.stale(ctx, at)
	out.Kept = kept
	return out
}

// keep gives content that has no other name left one that a person sees, beside its own.
func (h *held) keep(at *spot, s folder.Staged, base string) (string, error) {
	if len(base) > folder.MaxName/2 {
		base = "file"
	}
	kept := base + ".kept-" + randomHex(4)
	if err := h.renameNew(at, s.Name, at, kept, s.Weak); err != nil {
		return "", err
	}
	return path.Join(at.at, kept), at.self.Sync()
}

// untouched says that the file to move is the one that was staged and that nothing of it has changed since, its name included: one that was
// moved and moved back is not moved again.
func (h *held) untouched(from *spot, s folder.Staged) bool {
	info, err := from.dir.Lstat(path.Base(s.Target))
	return err == nil && statOf(info).Inode == s.File.Inode && statOf(info).changed == s.Changed
}

// move gives a file its new path and looks at it there.
func (h *held) move(ctx context.Context, from *spot, s folder.Staged) folder.Outcome {
	to, err := h.reopen(ctx, path.Dir(s.To), s.FolderTo)
	if err != nil {
		return h.staleOr(err)
	}
	defer to.close()
	to.base = path.Base(s.To)
	if h.inode(to, to.base) == s.File.Inode {
		return unknown(whyAgain)
	}
	if !h.untouched(from, s) || h.hashAt(ctx, from, from.base) != s.Before {
		return h.stale(ctx, from)
	}
	h.step("checked")
	err = h.renameNew(from, from.base, to, to.base, s.Weak)
	switch {
	case errors.Is(err, fs.ErrExist), errors.Is(err, fs.ErrNotExist):
		return h.stale(ctx, from)
	case err != nil:
		return notDone(err.Error())
	}
	h.step("renamed")
	if h.hashAt(ctx, to, to.base) == s.Before && h.same(ctx, from, s.Folder) && h.same(ctx, to, s.FolderTo) {
		return h.done(s, to, from)
	}
	if err := h.renameNew(to, to.base, from, from.base, s.Weak); err != nil {
		return unknown("the file was moved, although it was not what was approved, and cannot be moved back: " + err.Error())
	}
	h.step("taken back")
	return h.stale(ctx, from)
}
