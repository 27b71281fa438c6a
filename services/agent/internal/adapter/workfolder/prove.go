package workfolder

import (
	"context"
	"errors"
	"path"

	"github.com/tsumugi-dev/tsumugi/services/agent/internal/folder"
)

// Check implements folder.Held.
func (h *held) Check(ctx context.Context, s folder.Staged) error {
	at, err := h.reopen(ctx, path.Dir(s.Top()), s.Folder)
	if err != nil {
		return told(s.Target, err)
	}
	defer at.close()
	now := h.hashAt(ctx, at, path.Base(s.Top()))
	if err := ctx.Err(); err != nil {
		return err
	}
	if now != s.Before {
		return &folder.StaleError{Path: s.Target, Now: now}
	}
	if s.Op == folder.Delete || s.Op == folder.Move {
		return nil
	}
	if h.inode(at, s.Name) != s.File.Inode {
		return folder.Refuse(folder.Missing, s.Target, whyStaged)
	}
	return nil
}

// inode is the number of what has a name; 0 where nothing has, which is no file's number.
func (h *held) inode(at *spot, name string) uint64 {
	info, err := at.dir.Lstat(name)
	if err != nil {
		return 0
	}
	return statOf(info).Inode
}

// Prove implements folder.Held. Done <=> the staged file is no longer under its staged name (field/review-agent.md S3): no content is
// asked, so it does not matter what somebody has put in place since. The number of the file decides; that of its device may change when
// the machine starts anew. Where the staged name is gone and cannot have gone by Apply, nobody knows.
func (h *held) Prove(ctx context.Context, s folder.Staged) folder.Outcome {
	ctx = context.WithoutCancel(ctx) // Half a look is no proof.
	if s.Op == folder.Move {
		return h.proveMove(ctx, s)
	}
	at, err := h.findAgain(ctx, path.Dir(s.Top()))
	if err != nil {
		return unknown("its folder cannot be opened: " + err.Error())
	}
	defer at.close()
	if id, err := at.id(); err != nil || id.Inode != s.Folder.Inode {
		return unknown(whyReplace)
	}
	at.base = path.Base(s.Top())
	staged := h.inode(at, s.Name)
	switch {
	case s.Op == folder.Delete && staged == 0:
		return notDone("the crash came before it")
	case s.Op == folder.Delete:
		return h.proveDelete(ctx, at, s)
	case staged == s.File.Inode:
		return notDone("the crash came before it")
	case staged == 0 && (s.Before == folder.Absent || s.Weak || h.inode(at, at.base) == s.File.Inode):
		return h.proven(ctx, at, s)
	case staged == 0 || s.Before == folder.Absent || s.Weak:
		return unknown("the staged file is gone, and not by this change")
	}
	return h.proveExchange(ctx, at, s)
}

func (h *held) proven(ctx context.Context, folders *spot, s folder.Staged) folder.Outcome {
	out := h.done(s, folders)
	if out.Result == folder.Done {
		out.Now = h.hashAt(ctx, folders, folders.base)
	}
	return out
}

// proveDelete: what waits under the staged name is what was to go, or the crash came before one had looked.
func (h *held) proveDelete(ctx context.Context, at *spot, s folder.Staged) folder.Outcome {
	if h.hashAt(ctx, at, s.Name) == s.Before {
		return h.proven(ctx, at, s)
	}
	return h.putBack(ctx, at, s)
}

// proveExchange: what was replaced waits under the staged name. Where it is not what was to be replaced, the crash came before one had
// looked, and the exchange is taken back if nobody has touched the target since; else what waits is kept beside it.
func (h *held) proveExchange(ctx context.Context, at *spot, s folder.Staged) folder.Outcome {
	if h.hashAt(ctx, at, s.Name) == s.Before {
		return h.proven(ctx, at, s)
	}
	if own, err := hold(at.dir, at.base); err == nil {
		defer own.Close() //nolint:errcheck // only held
		info, err := own.Stat()
		if err == nil && statOf(info).Inode == s.File.Inode && h.hashAt(ctx, at, at.base) == s.After {
			if !h.takeBack(at, s.Name, own) {
				return unknown(whyFight)
			}
			return h.stale(ctx, at)
		}
	}
	kept, err := h.keep(at, s, at.base)
	if err != nil {
		return unknown("what was replaced cannot be kept: " + err.Error())
	}
	out := h.proven(ctx, at, s)
	out.Kept = kept
	return out
}

// proveMove: the file is at its destination, or at its source and nothing of it has changed, its name included.
func (h *held) proveMove(ctx context.Context, s folder.Staged) folder.Outcome {
	from, err := h.reopen(ctx, path.Dir(s.Target), s.Folder)
	if err != nil {
		return unknown(whyReplace)
	}
	defer from.close()
	to, err := h.reopen(ctx, path.Dir(s.To), s.FolderTo)
	if err != nil {
		return unknown(whyReplace)
	}
	defer to.close()
	to.base = path.Base(s.To)
	if h.inode(to, to.base) == s.File.Inode {
		if err := from.self.Sync(); err != nil {
			return unknown(err.Error())
		}
		return h.proven(ctx, to, s)
	}
	if h.untouched(from, s) {
		return notDone("the crash came before it")
	}
	return unknown("the file is neither at its destination nor at its source as it was")
}

// Finish implements folder.Held.
func (h *held) Finish(ctx context.Context, s folder.Staged) (kept string, err error) {
	if s.Name == "" {
		return "", nil
	}
	at, err := h.findAgain(ctx, path.Dir(s.Top()))
	if err != nil {
		return "", told(s.Target, err)
	}
	defer at.close()
	ctx = context.WithoutCancel(ctx)
	switch inode := h.inode(at, s.Name); {
	case inode == 0:
		return "", nil
	case inode == s.File.Inode && s.Op != folder.Delete && s.Inner != "":
		err = at.dir.RemoveAll(s.Name)
	case inode == s.File.Inode && s.Op != folder.Delete && h.hashAt(ctx, at, s.Name) == s.After:
		err = at.dir.Remove(s.Name)
	case h.hashAt(ctx, at, s.Name) == s.Before:
		err = at.dir.Remove(s.Name)
	default:
		return h.keep(at, s, path.Base(s.Target))
	}
	h.step("finished")
	return "", told(s.Target, errors.Join(err, at.self.Sync()))
}
