// Package filesys is the one small file-system interface that everything which keeps text trees goes through.
//
// It names only what durable writing needs, so that package powercut can stand in for it and forget whatever was not
// fsynced. Killing a process proves nothing here: the page cache outlives it.
package filesys

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
)

var (
	// ErrTooLarge says that a file is larger than the reader allowed.
	ErrTooLarge = errors.New("the file is too large")
	// ErrIrregular says that there is no file to read but a folder, a pipe or the like.
	ErrIrregular = errors.New("it is not a regular file")
)

// FS is the tree below one folder. Names are relative, slash-separated and stay below it (fs.ValidPath); `.` is the folder
// itself. Errors wrap those of package io/fs where they apply. Safe for concurrent use.
type FS interface {
	// Create opens a file for writing, empty whether it was there or not.
	Create(name string) (File, error)
	// Append opens a file for writing at its end, and makes it where it is not there.
	Append(name string) (File, error)
	// ReadFile reads a whole file. ErrTooLarge when it is longer than limit bytes; ErrIrregular.
	ReadFile(name string, limit int64) ([]byte, error)
	// Rename gives a file another name, in place of what had that name.
	Rename(from, to string) error
	// RenameNew gives a file another name in its folder. fs.ErrExist when something has that name, also when it came to have it just
	// now, where the system can tell (Linux, on most file systems).
	RenameNew(from, to string) error
	// Remove takes away a file.
	Remove(name string) error
	// Mkdir makes one folder. fs.ErrExist when there is one.
	Mkdir(name string) error
	// SyncDir makes the names in a folder durable: new ones, renamed ones, and those that are gone.
	SyncDir(name string) error
	// Stat describes a file or folder.
	Stat(name string) (Info, error)
	// List describes what is in a folder, by name.
	List(name string) ([]Info, error)
	// Folder gives the tree below a folder, and holds that open: a name in it is found in one step.
	Folder(name string) (Folder, error)
}

// Folder is a folder that is held open, whatever becomes of its name.
type Folder interface {
	FS
	// SyncAll makes durable all that was written below since the folder was opened, bytes and names: for many files it costs
	// what a few cost with Sync and SyncDir. errors.ErrUnsupported where the system cannot, or is not known to: then each has
	// to be synced by itself.
	SyncAll() error
	// Close lets go of the folder. Files that are open stay open.
	Close() error
}

// File is open for writing. What was written is durable after Sync, its name after SyncDir of the folder.
type File interface {
	io.Writer
	Sync() error
	Close() error
}

// Info is what a folder says about a file.
type Info struct {
	// Name is the last part of the file's name.
	Name string
	// Mode says folder, regular file or something else, such as a symbolic link.
	Mode fs.FileMode
	// Size in bytes.
	Size int64
	// ModTime is when it was last written, in nanoseconds since 1970.
	ModTime int64
}

// Temporary is the name under which Replace writes a file before it has its own; a process that is killed leaves it behind.
func Temporary(name string) string { return path.Join(path.Dir(name), "."+path.Base(name)+".tmp") }

// Replace writes a file under its final name in one step: whoever looks sees the old one or the new one, whole. The bytes
// are durable; the name is after SyncDir of the folder, which is left to the caller so that many files share one.
func Replace(fsys FS, name string, data []byte) error {
	return put(fsys, name, data, fsys.Rename)
}

// Place is Replace for a name that nothing has. fs.ErrExist when something has it (RenameNew).
func Place(fsys FS, name string, data []byte) error {
	return put(fsys, name, data, fsys.RenameNew)
}

// First writes a file that is not there yet, durably. Of several processes that do so at once one does, which made says; the others find what
// that one wrote. own is a name that no other process writes.
func First(fsys FS, name, own string, data []byte) (made bool, err error) {
	if err := Replace(fsys, own, data); err != nil {
		return false, err
	}
	err = fsys.RenameNew(own, name)
	if err != nil {
		err = errors.Join(err, fsys.Remove(own))
		if errors.Is(err, fs.ErrExist) {
			return false, nil
		}
		return false, err
	}
	return true, fsys.SyncDir(path.Dir(name))
}

func put(fsys FS, name string, data []byte, rename func(from, to string) error) error {
	tmp := Temporary(name)
	if err := writeSynced(fsys, tmp, data); err != nil {
		return errors.Join(fmt.Errorf("write %s: %w", tmp, err), ignoreMissing(fsys.Remove(tmp)))
	}
	if err := rename(tmp, name); err != nil {
		return errors.Join(fmt.Errorf("rename %s: %w", tmp, err), ignoreMissing(fsys.Remove(tmp)))
	}
	return nil
}

// WriteTemporary is the first half of Replace, without making the bytes durable: SyncAll is to follow, then Rename or RenameNew.
func WriteTemporary(fsys FS, name string, data []byte) error {
	f, err := fsys.Create(Temporary(name))
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	return errors.Join(err, f.Close())
}

func writeSynced(fsys FS, name string, data []byte) error {
	f, err := fsys.Create(name)
	if err != nil {
		return err
	}
	return finish(f, data)
}

// AppendSynced adds data to the end of a file and makes all of it durable, also what others wrote; the name of a new one
// is after SyncDir. Without data the file stays as it is, its time included.
func AppendSynced(fsys FS, name string, data []byte) error {
	f, err := fsys.Append(name)
	if err != nil {
		return err
	}
	return finish(f, data)
}

func finish(f File, data []byte) error {
	if len(data) > 0 {
		if _, err := f.Write(data); err != nil {
			return errors.Join(err, f.Close())
		}
	}
	if err := f.Sync(); err != nil {
		return errors.Join(err, f.Close())
	}
	return f.Close()
}

// EnsureDir makes one folder durable under its name, whether it was there or not: one that is there may be as old as a
// process that was killed before it synced the name.
func EnsureDir(fsys FS, name string) error {
	if err := fsys.Mkdir(name); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return fsys.SyncDir(path.Dir(name))
}
