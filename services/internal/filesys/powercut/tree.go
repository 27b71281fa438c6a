package powercut

import (
	"io/fs"

	"github.com/tsumugi-dev/tsumugi/services/internal/filesys"
)

// entry is a file or a folder.
type entry interface {
	info(name string) filesys.Info
}

// file is bytes as the running system sees them, and as they were when they were last made durable.
type file struct {
	data, durable []byte
	modTime       int64
	// dirty says that Sync has something to do. A Sync that failed clears it too, as Linux does: the next one succeeds,
	// and the bytes are on no disk.
	dirty bool
}

func (n *file) info(name string) filesys.Info {
	return filesys.Info{Name: name, Size: int64(len(n.data)), ModTime: n.modTime}
}

func (n *file) set(data []byte, at int64) {
	n.data, n.modTime, n.dirty = data, at, true
}

func (n *file) sync() {
	if n.dirty {
		n.durable, n.dirty = n.data, false
	}
}

// folder is names as the running system sees them, and as they were when they were last made durable, with what happened
// to them since.
type folder struct {
	names, durable map[string]entry
	pending        []nameOp
}

// nameOp is one change of names that is not durable yet: `to` now means n, and `from` means nothing. It happens whole.
type nameOp struct {
	from, to string
	n        entry
}

func newFolder() *folder {
	return &folder{names: map[string]entry{}, durable: map[string]entry{}}
}

func (d *folder) info(name string) filesys.Info {
	return filesys.Info{Name: name, Mode: fs.ModeDir}
}

func (d *folder) link(name string, n entry) {
	d.change(nameOp{to: name, n: n})
}

func (d *folder) unlink(name string) {
	d.change(nameOp{from: name})
}

// rename moves a file. Between folders it is two changes, of which each may be lost.
func rename(source *folder, from string, target *folder, to string, n *file) {
	if source == target {
		source.change(nameOp{from: from, to: to, n: n})
		return
	}
	target.link(to, n)
	source.unlink(from)
}

func (d *folder) change(op nameOp) {
	op.apply(d.names)
	d.pending = append(d.pending, op)
}

func (d *folder) sync() {
	for _, op := range d.pending {
		op.apply(d.durable)
	}
	d.pending = nil
}

// syncAll is sync of the folder and of all below it.
func (d *folder) syncAll() {
	d.sync()
	for _, n := range d.names {
		switch n := n.(type) {
		case *file:
			n.sync()
		case *folder:
			n.syncAll()
		}
	}
}

// lose is syncAll that failed: the next one succeeds, and the bytes are on no disk.
func (d *folder) lose() {
	for _, n := range d.names {
		switch n := n.(type) {
		case *file:
			n.dirty = false
		case *folder:
			n.lose()
		}
	}
}

func (op nameOp) apply(names map[string]entry) {
	if op.from != "" {
		delete(names, op.from)
	}
	if op.to != "" {
		names[op.to] = op.n
	}
}
