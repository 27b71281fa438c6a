package workfolder

import (
	"context"
	"errors"
	"io/fs"
	"os"

	"github.com/tsumugi-dev/tsumugi/services/agent/internal/folder"
)

// errLittered ends a walk: one staged name is enough to know.
var errLittered = errors.New("something stands under a staged name")

// Littered implements folder.Root.
func (r *Root) Littered(ctx context.Context) (bool, error) {
	err := r.litter(ctx, r.top, 0, func(*os.Root, string) (bool, error) { return false, errLittered })
	if errors.Is(err, errLittered) {
		return true, nil
	}
	return false, err
}

// Sweep implements folder.Held. A name of which is known what was staged under it is finished where it was staged, and stays where that is not possible.
func (h *held) Sweep(ctx context.Context, unproven []folder.Staged) (out folder.Swept, err error) {
	known := map[string]folder.Staged{}
	for _, s := range unproven {
		known[s.Name] = s
	}
	err = h.litter(ctx, h.top, 0, func(dir *os.Root, name string) (bool, error) {
		s, ok := known[name]
		if !ok {
			out.Gone++
			return true, dir.RemoveAll(name)
		}
		kept, err := h.Finish(ctx, s)
		if err != nil {
			return false, ctx.Err()
		}
		if kept != "" {
			out.Kept = append(out.Kept, kept)
		} else if _, err := dir.Lstat(name); errors.Is(err, fs.ErrNotExist) {
			out.Gone++
		}
		return false, nil
	})
	return out, err
}

// litter calls each for the staged names in a folder and in those below it, and makes durable that one is gone.
func (r *Root) litter(ctx context.Context, dir *os.Root, depth int, each func(dir *os.Root, name string) (gone bool, err error)) error {
	self, err := dir.Open(".")
	if err != nil {
		return err
	}
	defer self.Close() //nolint:errcheck // only read
	if depth > folder.MaxDepth || r.onMount(self, "") != nil {
		return nil
	}
	entries, err := self.ReadDir(-1)
	if err != nil {
		return err
	}
	swept := false
	for _, e := range entries {
		if err = ctx.Err(); err != nil {
			break
		}
		if stagedName.MatchString(e.Name()) {
			var gone bool
			gone, err = each(dir, e.Name())
			swept = swept || gone
		} else if e.IsDir() {
			err = r.litterIn(ctx, dir, e, depth, each)
		}
		if err != nil {
			break
		}
	}
	if swept {
		err = errors.Join(err, self.Sync())
	}
	return err
}

// litterIn is litter of a folder that is still there.
func (r *Root) litterIn(ctx context.Context, dir *os.Root, e fs.DirEntry, depth int, each func(*os.Root, string) (bool, error)) error {
	info, err := dir.Lstat(e.Name())
	if err != nil || !info.IsDir() {
		return nil // It went away meanwhile.
	}
	sub, err := openDir(dir, e.Name(), info)
	if err != nil {
		return nil // It went away meanwhile, or is nothing that we could have written in.
	}
	defer sub.Close() //nolint:errcheck // only read
	return r.litter(ctx, sub, depth+1, each)
}
