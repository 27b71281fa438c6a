package filesys

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// Permissions of what is made: conversations are private to the user who runs the store.
const (
	dirMode  = 0o700
	fileMode = 0o600
)

// Dir is a real folder. No name and no symbolic link leads out of it (os.Root).
type Dir struct {
	root *os.Root
	// self is the folder: SyncAll tells of what could not be written since this was opened.
	self *os.File
}

var _ Folder = (*Dir)(nil)

// Open opens the folder, and makes it, durably, with those above it, where it is not there.
func Open(dir string) (*Dir, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	if err := makeAll(abs); err != nil {
		return nil, fmt.Errorf("make the folder %s: %w", abs, err)
	}
	return hold(os.OpenRoot(abs))
}

// Folder implements FS.
func (d *Dir) Folder(name string) (Folder, error) { return hold(d.root.OpenRoot(name)) }

func hold(root *os.Root, err error) (*Dir, error) {
	if err != nil {
		return nil, err
	}
	self, err := root.Open(".")
	if err != nil {
		return nil, errors.Join(err, root.Close())
	}
	return &Dir{root, self}, nil
}

// makeAll makes a folder and those above it; each new name is durable before something is put into it.
func makeAll(dir string) error {
	if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	parent := filepath.Dir(dir)
	if err := makeAll(parent); err != nil {
		return err
	}
	if err := os.Mkdir(dir, dirMode); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	f, err := os.Open(parent)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// Close implements Folder.
func (d *Dir) Close() error { return errors.Join(d.self.Close(), d.root.Close()) }

// SyncAll implements Folder. Syncing the folder behind it has the disk's own cache emptied also where the file system keeps no
// journal.
func (d *Dir) SyncAll() error {
	if err := syncAll(d.self); err != nil {
		return err
	}
	return d.self.Sync()
}

// Create implements FS.
func (d *Dir) Create(name string) (File, error) {
	return d.open(name, os.O_CREATE|os.O_WRONLY|os.O_TRUNC)
}

// Append implements FS.
func (d *Dir) Append(name string) (File, error) {
	return d.open(name, os.O_CREATE|os.O_WRONLY|os.O_APPEND)
}

func (d *Dir) open(name string, flag int) (File, error) {
	f, err := d.root.OpenFile(name, flag, fileMode)
	if err != nil {
		return nil, err
	}
	return f, nil
}

// ReadFile implements FS. It does not wait for somebody to write, where the name is that of a pipe.
func (d *Dir) ReadFile(name string, limit int64) ([]byte, error) {
	f, err := d.root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	if err != nil {
		if info, e := d.root.Stat(name); e == nil && !info.Mode().IsRegular() { // A socket, which cannot be opened.
			err = &fs.PathError{Op: "read", Path: name, Err: ErrIrregular}
		}
		return nil, err
	}
	defer func() { _ = f.Close() }()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, &fs.PathError{Op: "read", Path: name, Err: ErrIrregular}
	}
	return readAll(f, name, info.Size(), limit)
}

// readAll reads in one piece when the size is right, and notices when the file grew meanwhile.
func readAll(f io.Reader, name string, size, limit int64) ([]byte, error) {
	if size > limit {
		return nil, &fs.PathError{Op: "read", Path: name, Err: fmt.Errorf("%w: %d bytes, at most %d", ErrTooLarge, size, limit)}
	}
	data := make([]byte, 0, size+1)
	for {
		n, err := f.Read(data[len(data):cap(data)])
		data = data[:len(data)+n]
		switch {
		case errors.Is(err, io.EOF):
			return data, nil
		case err != nil:
			return nil, err
		case int64(len(data)) > limit:
			return nil, &fs.PathError{Op: "read", Path: name, Err: fmt.Errorf("%w: more than %d bytes", ErrTooLarge, limit)}
		case len(data) == cap(data):
			data = slices.Grow(data, len(data))
		}
	}
}

// Rename implements FS.
func (d *Dir) Rename(from, to string) error { return d.root.Rename(from, to) }

// RenameNew implements FS. A symbolic link that leads nowhere is nothing, as for ReadFile and Stat.
func (d *Dir) RenameNew(from, to string) error {
	if !fs.ValidPath(from) || !fs.ValidPath(to) || path.Dir(from) != path.Dir(to) {
		return &os.LinkError{Op: "rename", Old: from, New: to, Err: fs.ErrInvalid}
	}
	err := d.renameNew(from, to)
	if !errors.Is(err, errors.ErrUnsupported) && !errors.Is(err, fs.ErrExist) {
		return err
	}
	switch _, err := d.root.Stat(to); {
	case err == nil:
		return &os.LinkError{Op: "rename", Old: from, New: to, Err: fs.ErrExist}
	case !errors.Is(err, fs.ErrNotExist):
		return err
	}
	return d.root.Rename(from, to)
}

// renameNew is one call of the system for names of one folder. errors.ErrUnsupported where there is none.
func (d *Dir) renameNew(from, to string) (err error) {
	folder := d.self
	if dir := path.Dir(from); dir != "." {
		if folder, err = d.root.Open(dir); err != nil {
			return err
		}
		defer func() { _ = folder.Close() }()
	}
	if err := renameNew(folder, path.Base(from), path.Base(to)); err != nil {
		return &os.LinkError{Op: "rename", Old: from, New: to, Err: err}
	}
	return nil
}

// Remove implements FS.
func (d *Dir) Remove(name string) error { return d.root.Remove(name) }

// Mkdir implements FS.
func (d *Dir) Mkdir(name string) error { return d.root.Mkdir(name, dirMode) }

// SyncDir implements FS.
func (d *Dir) SyncDir(name string) error {
	f, err := d.root.Open(name)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// Stat implements FS.
func (d *Dir) Stat(name string) (Info, error) {
	info, err := d.root.Stat(name)
	if err != nil {
		return Info{}, err
	}
	return infoOf(info), nil
}

// List implements FS. A symbolic link is described as itself, not as what it leads to.
func (d *Dir) List(name string) ([]Info, error) {
	f, err := d.root.Open(name)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	entries, err := f.ReadDir(-1)
	if err != nil {
		return nil, err
	}
	list := make([]Info, 0, len(entries))
	for _, e := range entries {
		info, err := e.Info()
		if errors.Is(err, fs.ErrNotExist) {
			continue // It went away meanwhile.
		}
		if err != nil {
			return nil, err
		}
		list = append(list, infoOf(info))
	}
	slices.SortFunc(list, func(a, b Info) int { return strings.Compare(a.Name, b.Name) })
	return list, nil
}

func infoOf(info fs.FileInfo) Info {
	return Info{Name: info.Name(), Mode: info.Mode(), Size: info.Size(), ModTime: info.ModTime().UnixNano()}
}

func ignoreMissing(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
