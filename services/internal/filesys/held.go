package filesys

import (
	"errors"
	"path"
)

// Hold gives a tree of which some folders are held open until it is closed: names in these are found in one step.
func Hold(fsys FS, folders ...string) (Folder, error) {
	all, err := fsys.Folder(".")
	if err != nil {
		return nil, err
	}
	h := &held{whole: all, open: make(map[string]Folder, len(folders))}
	for _, name := range folders {
		if h.open[name] != nil {
			continue
		}
		if h.open[name], err = all.Folder(name); err != nil {
			delete(h.open, name)
			return nil, errors.Join(err, h.Close())
		}
	}
	return h, nil
}

// held is the whole tree; what it does not do itself goes the long way.
type held struct {
	whole
	open map[string]Folder
}

// whole is Folder by a name that is not that of its method.
type whole = Folder

func (h *held) in(name string) (FS, string) {
	if f := h.open[path.Dir(name)]; f != nil {
		return f, path.Base(name)
	}
	return h.whole, name
}

func (h *held) Create(name string) (File, error) {
	f, base := h.in(name)
	return f.Create(base)
}

func (h *held) ReadFile(name string, limit int64) ([]byte, error) {
	f, base := h.in(name)
	return f.ReadFile(base, limit)
}

func (h *held) Rename(from, to string) error {
	f, base := h.in(from)
	if path.Dir(from) != path.Dir(to) || base == from {
		return h.whole.Rename(from, to)
	}
	return f.Rename(base, path.Base(to))
}

func (h *held) RenameNew(from, to string) error {
	f, base := h.in(from)
	if path.Dir(from) != path.Dir(to) || base == from {
		return h.whole.RenameNew(from, to)
	}
	return f.RenameNew(base, path.Base(to))
}

func (h *held) Remove(name string) error {
	f, base := h.in(name)
	return f.Remove(base)
}

func (h *held) Stat(name string) (Info, error) {
	f, base := h.in(name)
	return f.Stat(base)
}

func (h *held) SyncDir(name string) error {
	if f := h.open[name]; f != nil {
		return f.SyncDir(".")
	}
	return h.whole.SyncDir(name)
}

func (h *held) Close() error {
	errs := []error{h.whole.Close()}
	for _, f := range h.open {
		errs = append(errs, f.Close())
	}
	return errors.Join(errs...)
}
