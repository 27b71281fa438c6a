package files

import (
	"cmp"
	"errors"
	"io/fs"
	"path"
	"slices"
	"sync/atomic"

	"github.com/google/uuid"
	"go.uber.org/zap"
	"golang.org/x/sync/errgroup"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store/files/commitlog"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store/format"
	"github.com/tsumugi-dev/tsumugi/services/internal/filesys"
)

// scan finds out what the tree holds. A file of the size and time that local.db remembers is not opened; others are read,
// and remembered. It gives the files by path, and changes nothing in the tree.
func (sp *space) scan(known map[string]commitlog.File) (map[string]commitlog.File, error) {
	found := make(map[string]commitlog.File, len(known))
	var c commitlog.Changes
	for _, kind := range []format.Kind{format.Nodes, format.Flows} {
		files, read, err := sp.scanKind(kind, known)
		if err != nil {
			return nil, err
		}
		gone := 0
		for _, f := range files {
			found[f.Path] = f
			sp.indexFound(kind, f)
		}
		c.Files = append(c.Files, read...)
		for file := range known {
			if _, ours := sp.indexedBy(kind).name(file); ours && found[file].Path == "" {
				c.Gone = append(c.Gone, file)
				gone++
			}
		}
		if len(read)+gone > 0 {
			sp.log.Info("files changed while the store was closed",
				zap.String("kind", string(kind)), zap.Int("new_or_changed", len(read)), zap.Int("gone", gone))
		}
		if err := sp.findIndex(kind, known, len(read)+gone == 0); err != nil {
			return nil, err
		}
	}
	slices.Sort(c.Gone)
	if len(c.Files)+len(c.Gone) == 0 {
		return found, nil
	}
	return found, sp.local.Apply(c)
}

// indexFound indexes a file.
func (sp *space) indexFound(kind format.Kind, f commitlog.File) {
	x := sp.indexedBy(kind)
	if f.Problem != "" {
		x.take(f.Path)
		x.broken[f.Path] = f.Problem
		if f.ID != uuid.Nil {
			x.lost[f.ID] = f.Path
		}
		return
	}
	x.put(f.ID, holding{f.Path, f.Time, f.Created})
}

// findIndex decides whether index.tsv is as it was left, and right.
func (sp *space) findIndex(kind format.Kind, known map[string]commitlog.File, unchanged bool) error {
	x := sp.written.indexes[kind]
	info, err := sp.tree.Stat(x.path())
	if errors.Is(err, fs.ErrNotExist) {
		indexed := sp.indexedBy(kind)
		x.absent = len(indexed.heads)+len(indexed.broken) == 0
		x.found(x.absent, 0)
		return nil
	}
	if err != nil {
		return err
	}
	k, ok := known[x.path()]
	x.found(ok && unchanged && k.Size == info.Size && k.ModTime == info.ModTime, info.Size)
	return nil
}

// scanKind describes the files of one kind, in the order of the tree, and says which of them had to be read.
func (sp *space) scanKind(kind format.Kind, known map[string]commitlog.File) (all, read []commitlog.File, err error) {
	all, err = sp.listKind(kind)
	if err != nil {
		return nil, nil, err
	}
	var unknown []*commitlog.File
	for i := range all {
		if k, ok := known[all[i].Path]; ok && k.Size == all[i].Size && k.ModTime == all[i].ModTime {
			all[i] = k
			continue
		}
		all[i].ID = known[all[i].Path].ID
		unknown = append(unknown, &all[i])
	}
	if err := sp.readAll(kind, unknown); err != nil {
		return nil, nil, err
	}
	for _, f := range unknown {
		if f.Hash != (commitlog.Hash{}) {
			read = append(read, *f)
		}
	}
	all = slices.DeleteFunc(all, func(f commitlog.File) bool { return f.Path == "" })
	return all, read, nil
}

// listKind lists the files of one kind with size and time. What has another name than ours is left alone, and counted.
func (sp *space) listKind(kind format.Kind) ([]commitlog.File, error) {
	folders, err := sp.tree.List(string(kind))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var list []named
	ignored := 0
	for _, folder := range folders {
		if !folder.Mode.IsDir() {
			continue
		}
		dir := path.Join(string(kind), folder.Name)
		entries, err := sp.tree.List(dir)
		if err != nil {
			return nil, err
		}
		for _, e := range entries {
			name, ours := kind.ParseName(folder.Name + "/" + e.Name)
			if !ours || !e.Mode.IsRegular() {
				ignored++
				continue
			}
			list = append(list, named{name, commitlog.File{Path: path.Join(dir, e.Name), Size: e.Size, ModTime: e.ModTime}})
		}
	}
	if ignored > 0 {
		sp.log.Info("files with other names than ours are left alone", zap.String("kind", string(kind)), zap.Int("files", ignored))
	}
	return inOrder(list), nil
}

type named struct {
	name format.FileName
	file commitlog.File
}

func inOrder(list []named) []commitlog.File {
	slices.SortFunc(list, func(a, b named) int {
		return cmp.Or(a.name.Compare(b.name), cmp.Compare(a.file.Path, b.file.Path))
	})
	files := make([]commitlog.File, len(list))
	for i, n := range list {
		files[i] = n.file
	}
	return files
}

// readers is how many files are read at once: a cold disk answers slowly, but many at a time.
const readers = 16

// readAll reads files and notes what they hold, or why they cannot be read.
func (sp *space) readAll(kind format.Kind, files []*commitlog.File) error {
	var next atomic.Int64
	var group errgroup.Group
	for range min(readers, len(files)) {
		group.Go(func() error {
			for i := int(next.Add(1)) - 1; i < len(files); i = int(next.Add(1)) - 1 {
				if err := sp.examine(kind, files[i]); err != nil {
					return err
				}
			}
			return nil
		})
	}
	return group.Wait()
}

// examine reads one file. A disk error is an error; whatever is wrong with the file itself is its Problem, and its ID stays
// what it held before. A file that may
// not be read has no Hash, and is not remembered: a permission changes without changing the file. One that went away
// meanwhile has no Path.
func (sp *space) examine(kind format.Kind, f *commitlog.File) error {
	data, err := sp.tree.ReadFile(f.Path, format.MaxFile)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		f.Path = ""
		return nil
	case errors.Is(err, filesys.ErrTooLarge), errors.Is(err, fs.ErrPermission):
		f.Problem = err.Error()
		return nil
	case err != nil:
		return err
	}
	f.Hash = commitlog.HashOf(data)
	id, h, err := identify(kind, f.Path, data)
	if err == nil {
		f.ID, f.Time, f.Created = id, h.time, h.created
	} else {
		f.Problem = err.Error()
	}
	return nil
}

// identify says what a file holds, and since when.
func identify(kind format.Kind, file string, data []byte) (uuid.UUID, holding, error) {
	if kind == format.Nodes {
		n, err := format.DecodeNode(data)
		return n.ID, holdsNode(file, n.Created), err
	}
	f, err := format.DecodeFlow(data)
	return f.ID, holdsFlow(file, f), err
}
