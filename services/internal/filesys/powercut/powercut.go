// Package powercut is a file system in memory that loses power: it forgets whatever was not made durable.
//
// It is the test double of package filesys, and harsher than a real disk, as POSIX allows: after a cut, bytes written
// since the last Sync of their file may be there, or a part of them, or zeros in their place, or not; names made, changed
// or removed since the last SyncDir of their folder may have been, each by itself; and a folder whose own name was lost
// takes with it all that was in it. A seed decides, so that every failure can be run again.
//
// Every call is a step. A Hook sees each step before it happens and can cut the power there, make it fail, or pretend that
// it happened.
package powercut

import (
	"bytes"
	"errors"
	"io/fs"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/tsumugi-dev/tsumugi/services/internal/filesys"
)

var (
	// ErrCut is what every call answers from the cut on. A Hook that returns it cuts the power.
	ErrCut = errors.New("the power is off")
	// ErrPretend is for a Hook to return: the step answers that it happened, and did not. So a missing fsync is acted out.
	ErrPretend = errors.New("pretend")
	// ErrKilled is for a Hook to return from some step on: the process is gone, nothing happens any more, and what it did
	// is as it was, in the page cache too. SetHook starts the next process.
	ErrKilled = errors.New("the process was killed")
)

// Op is a kind of step.
type Op string

// The kinds of steps, one for each method of filesys.FS, filesys.File and filesys.Folder.
const (
	OpCreate  Op = "create"
	OpAppend  Op = "append"
	OpWrite   Op = "write"
	OpSync    Op = "sync"
	OpClose   Op = "close"
	OpRead    Op = "read"
	OpRename  Op = "rename"
	OpRemove  Op = "remove"
	OpMkdir   Op = "mkdir"
	OpSyncDir Op = "syncdir"
	OpStat    Op = "stat"
	OpList    Op = "list"
	OpFolder  Op = "folder"
	OpSyncAll Op = "syncall"
)

// Changes says that a step of this kind changes what is on the disk or what is durable. Before all others, a cut leaves
// what it leaves before the next one that does.
func (op Op) Changes() bool {
	switch op {
	case OpRead, OpStat, OpList, OpClose, OpFolder:
		return false
	}
	return true
}

// Step is one call, before it happens.
type Step struct {
	// N counts from 1.
	N    int
	Op   Op
	Name string
}

// Hook decides what a step does: nil lets it happen, ErrCut cuts the power before it, ErrPretend and ErrKilled skip it, and
// any other error is a fault of the disk: a write leaves half of its bytes, a sync loses what it should have synced. A
// Hook does not call the file system.
type Hook func(Step) error

// CutAt cuts the power before step n. 0 never does.
func CutAt(n int) Hook {
	return func(s Step) error {
		if s.N == n {
			return ErrCut
		}
		return nil
	}
}

// FS is the file system. The zero value is not usable; New makes one.
type FS struct {
	mu    sync.Mutex
	root  *folder
	hook  Hook
	steps int
	clock int64
	off   bool
}

var _ filesys.FS = (*FS)(nil)

// New makes an empty file system. A nil hook lets every step happen.
func New(hook Hook) *FS { return &FS{root: newFolder(), hook: hook} }

// SetHook puts another hook in place.
func (f *FS) SetHook(hook Hook) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.hook = hook
}

// Steps is how many calls there were.
func (f *FS) Steps() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.steps
}

// Cut cuts the power now.
func (f *FS) Cut() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.off = true
}

// step counts a call and asks the hook. The caller holds the lock.
func (f *FS) step(op Op, name string) error {
	f.steps++
	if f.off {
		return ErrCut
	}
	if !fs.ValidPath(name) {
		return &fs.PathError{Op: string(op), Path: name, Err: fs.ErrInvalid}
	}
	if f.hook == nil {
		return nil
	}
	err := f.hook(Step{N: f.steps, Op: op, Name: name})
	f.off = errors.Is(err, ErrCut)
	return err
}

// do runs one step that changes something.
func (f *FS) do(op Op, name string, change func() error) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.step(op, name); err != nil {
		return pathError(op, name, err)
	}
	return pathError(op, name, change())
}

func pathError(op Op, name string, err error) error {
	if err == nil || errors.Is(err, ErrPretend) {
		return nil
	}
	return &fs.PathError{Op: string(op), Path: name, Err: err}
}

// Create implements filesys.FS.
func (f *FS) Create(name string) (filesys.File, error) {
	return f.open(OpCreate, name, func(n *file) { n.set(nil, f.tick()) })
}

// Append implements filesys.FS.
func (f *FS) Append(name string) (filesys.File, error) {
	return f.open(OpAppend, name, func(*file) {})
}

func (f *FS) open(op Op, name string, prepare func(*file)) (filesys.File, error) {
	var n *file
	err := f.do(op, name, func() (err error) {
		if n, err = f.fileOrNew(name); err == nil {
			prepare(n)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return &handle{fs: f, name: name, file: n}, nil
}

func (f *FS) fileOrNew(name string) (*file, error) {
	dir, err := f.folder(path.Dir(name))
	if err != nil {
		return nil, err
	}
	switch n := dir.names[path.Base(name)].(type) {
	case *file:
		return n, nil
	case *folder:
		return nil, errors.New("is a folder")
	}
	n := &file{modTime: f.tick()}
	dir.link(path.Base(name), n)
	return n, nil
}

// ReadFile implements filesys.FS.
func (f *FS) ReadFile(name string, limit int64) ([]byte, error) {
	var data []byte
	err := f.do(OpRead, name, func() error {
		n, err := f.lookup(name)
		if err != nil {
			return err
		}
		file, ok := n.(*file)
		if !ok {
			return filesys.ErrIrregular
		}
		if int64(len(file.data)) > limit {
			return filesys.ErrTooLarge
		}
		data = bytes.Clone(file.data)
		return nil
	})
	return data, err
}

// Rename implements filesys.FS.
func (f *FS) Rename(from, to string) error { return f.rename(from, to, false) }

// RenameNew implements filesys.FS. It is a step as Rename is.
func (f *FS) RenameNew(from, to string) error {
	if !fs.ValidPath(to) || path.Dir(from) != path.Dir(to) {
		return pathError(OpRename, from, fs.ErrInvalid)
	}
	return f.rename(from, to, true)
}

func (f *FS) rename(from, to string, isNew bool) error {
	return f.do(OpRename, from, func() error {
		source, err := f.folder(path.Dir(from))
		if err != nil {
			return err
		}
		target, err := f.folder(path.Dir(to))
		if err != nil {
			return err
		}
		n, ok := source.names[path.Base(from)].(*file)
		if !ok {
			return fs.ErrNotExist
		}
		if isNew && target.names[path.Base(to)] != nil {
			return fs.ErrExist
		}
		rename(source, path.Base(from), target, path.Base(to), n)
		return nil
	})
}

// Remove implements filesys.FS.
func (f *FS) Remove(name string) error {
	return f.do(OpRemove, name, func() error {
		dir, err := f.folder(path.Dir(name))
		if err != nil {
			return err
		}
		if _, ok := dir.names[path.Base(name)].(*file); !ok {
			return fs.ErrNotExist
		}
		dir.unlink(path.Base(name))
		return nil
	})
}

// Mkdir implements filesys.FS.
func (f *FS) Mkdir(name string) error {
	return f.do(OpMkdir, name, func() error {
		dir, err := f.folder(path.Dir(name))
		if err != nil {
			return err
		}
		if dir.names[path.Base(name)] != nil {
			return fs.ErrExist
		}
		dir.link(path.Base(name), newFolder())
		return nil
	})
}

// SyncDir implements filesys.FS.
func (f *FS) SyncDir(name string) error {
	return f.do(OpSyncDir, name, func() error {
		dir, err := f.folder(name)
		if err != nil {
			return err
		}
		dir.sync()
		return nil
	})
}

// Stat implements filesys.FS.
func (f *FS) Stat(name string) (filesys.Info, error) {
	var info filesys.Info
	err := f.do(OpStat, name, func() error {
		n, err := f.lookup(name)
		if err == nil {
			info = n.info(path.Base(name))
		}
		return err
	})
	return info, err
}

// List implements filesys.FS.
func (f *FS) List(name string) ([]filesys.Info, error) {
	var list []filesys.Info
	err := f.do(OpList, name, func() error {
		dir, err := f.folder(name)
		if err != nil {
			return err
		}
		for base, n := range dir.names {
			list = append(list, n.info(base))
		}
		return nil
	})
	slices.SortFunc(list, func(a, b filesys.Info) int { return strings.Compare(a.Name, b.Name) })
	return list, err
}

// lookup finds a file or folder.
func (f *FS) lookup(name string) (entry, error) {
	if name == "." {
		return f.root, nil
	}
	dir, err := f.folder(path.Dir(name))
	if err != nil {
		return nil, err
	}
	if n := dir.names[path.Base(name)]; n != nil {
		return n, nil
	}
	return nil, fs.ErrNotExist
}

func (f *FS) folder(name string) (*folder, error) {
	dir := f.root
	if name == "." {
		return dir, nil
	}
	for part := range strings.SplitSeq(name, "/") {
		next, ok := dir.names[part].(*folder)
		if !ok {
			return nil, fs.ErrNotExist
		}
		dir = next
	}
	return dir, nil
}

// tick is the clock: a millisecond later at each write, so that a change is seen in the file's time.
func (f *FS) tick() int64 {
	f.clock += 1e6
	return f.clock
}
