package files

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store/files/commitlog"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store/format"
	"github.com/tsumugi-dev/tsumugi/services/internal/filesys"
)

// heldFolders bounds how many folders are held open at once: each takes two file descriptors, of which a process may have as few as 256.
const heldFolders = 64

// holdFolders makes the folders of files where they are not there, and holds those open for which it pays: with more than one file,
// and the first heldFolders of them.
func (sp *space) holdFolders(files []string) (filesys.Folder, error) {
	counts := map[string]int{}
	for _, file := range files {
		counts[path.Dir(file)]++
	}
	var several []string
	for _, dir := range slices.Sorted(maps.Keys(counts)) {
		if err := sp.ensureFolder(dir); err != nil {
			return nil, err
		}
		if counts[dir] > 1 && len(several) < heldFolders {
			several = append(several, dir)
		}
	}
	return filesys.Hold(sp.tree, several...)
}

// inPlace finds out whether the folders that are held are still those of their names. One file of each tells: no other folder has
// one of that name, size and time. fs.ErrNotExist where a hand moved one away while files were written into it.
func (sp *space) inPlace(tree filesys.Folder, files []outFile) error {
	one := map[string]string{}
	for _, f := range files {
		one[path.Dir(f.path)] = f.path
	}
	for dir, file := range one {
		there, err := tree.Stat(file)
		if err != nil {
			return err
		}
		named, err := sp.tree.Stat(file)
		if err == nil && named != there {
			err = fmt.Errorf("%s is not the folder any more that was written into: %w", dir, fs.ErrNotExist)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// writeFiles makes files durable under their names, with their rows in the index, and gives what local.db is to remember
// of them. A file stands in its place whole or not at all. tree holds their folders. errTaken; fs.ErrNotExist
// where a hand took a folder away.
func (sp *space) writeFiles(tree filesys.Folder, kind format.Kind, files []outFile) (c commitlog.Changes, err error) {
	if err := sp.putFiles(tree, files); err != nil {
		return c, err
	}
	if err := sp.inPlace(tree, files); err != nil {
		return c, err
	}
	x := sp.written.indexes[kind]
	sp.lookAtIndex(x)
	if !x.sound {
		// It has no rows of these files, and must not be taken for right when it is found as it was.
		c.Gone = []string{x.path()}
	} else if err := sp.appendRows(x, files); err != nil {
		return c, err
	} else {
		files = append(files, outFile{path: x.path()})
	}
	if c.Files, err = describeIn(tree, files); err == nil && x.sound {
		x.left(c.Files[len(c.Files)-1])
	}
	return c, err
}

// putFiles makes files durable under their names. What replaces a file is made so by itself, and what is new together where
// it is enough (Gate.Together).
func (sp *space) putFiles(tree filesys.Folder, files []outFile) error {
	var made, replaced []outFile
	for _, f := range files {
		if f.isNew {
			made = append(made, f)
		} else {
			replaced = append(replaced, f)
		}
	}
	if len(made) < sp.gate.Together || sp.written.apart {
		return sp.putEach(tree, files)
	}
	if err := sp.putEach(tree, replaced); err != nil {
		return err
	}
	return sp.putTogether(tree, made)
}

// putEach syncs each file, and then their folders. errTaken.
func (sp *space) putEach(tree filesys.Folder, files []outFile) error {
	err := sp.parallel(files, func(f outFile) error {
		if f.isNew {
			return orTaken(filesys.Place(tree, f.path, f.data))
		}
		return filesys.Replace(tree, f.path, f.data)
	})
	if err != nil {
		return err
	}
	var folders []string
	for _, f := range files {
		folders = append(folders, path.Dir(f.path))
	}
	slices.Sort(folders)
	for _, dir := range slices.Compact(folders) {
		if err := tree.SyncDir(dir); err != nil {
			return err
		}
	}
	return nil
}

// errTaken says that something came to stand in a place while files were written: they are to be looked at again.
var errTaken = errors.New("another file came to stand where one was about to be written")

// putTogether has all files durable before the first gets its name, with one call for them and one for their names. errTaken,
// behind the other files, where one may not have its name.
func (sp *space) putTogether(tree filesys.Folder, files []outFile) error {
	err := sp.parallel(files, func(f outFile) error { return filesys.WriteTemporary(tree, f.path, f.data) })
	if err == nil {
		err = tree.SyncAll()
	}
	if errors.Is(err, errors.ErrUnsupported) {
		sp.written.apart = true
		return sp.putEach(tree, files)
	}
	if err == nil {
		err = sp.parallel(files, func(f outFile) error { return orTaken(tree.RenameNew(filesys.Temporary(f.path), f.path)) })
	}
	if err != nil {
		for _, f := range files {
			_ = tree.Remove(filesys.Temporary(f.path)) // Where it cannot go, the next one takes its place.
		}
		return err
	}
	return tree.SyncAll()
}

// orTaken is an error of giving a new file its name.
func orTaken(err error) error {
	if errors.Is(err, fs.ErrExist) {
		return errTaken
	}
	return err
}

// parallel does something to files, as many at once as the gate allows.
func (sp *space) parallel(files []outFile, do func(outFile) error) error {
	var group errgroup.Group
	group.SetLimit(max(sp.gate.Parallel, 1))
	for _, f := range files {
		group.Go(func() error { return do(f) })
	}
	return group.Wait()
}
