package files

import (
	"errors"
	"io/fs"
	"path"
	"sync/atomic"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store/files/commitlog"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store/format"
	"github.com/tsumugi-dev/tsumugi/services/internal/filesys"
)

// indexFile is what is known of a kind's index.tsv. It is derived from the files: it is appended to behind them, made anew
// when it is not what was written, and put in order when it has grown.
type indexFile struct {
	kind format.Kind
	// sound says that it has a row for each file, with the newest last. absent: there is none, and no file either.
	sound, absent bool
	// touched says that this process wrote it: if that failed, reading it back proves nothing.
	touched bool
	// lines is how many rows it has, about: with other line ends than ours it seems to have more.
	lines int
	// sorted says that they are in the order of the tree, as far as is known; last is the last one.
	sorted bool
	last   format.FileName
	// size and modTime are those of the file as it was left.
	size, modTime int64
	// outdated says that hands changed files of which it has rows, or has none yet; look, that they may have changed it itself.
	// Others set them, and wake the gate.
	outdated, look atomic.Bool
}

func (x *indexFile) path() string { return path.Join(string(x.kind), "index.tsv") }

// distrust has it made anew, whatever it holds now.
func (x *indexFile) distrust() { x.sound, x.touched = false, true }

// rowBytes is the length of a row: `000/000.xml`, a UUID, a time and what is between.
const rowBytes = 82

// found notes what a namespace is opened with.
func (x *indexFile) found(sound bool, size int64) {
	x.sound, x.sorted, x.lines = sound, true, int(size)/rowBytes
}

// grown says that more than a fifth of the rows are old ones.
func (x *indexFile) grown(entries int) bool { return x.lines > entries+entries/4+100 }

// stale says that an index has to be made anew.
func (t *treeState) stale() bool {
	for _, x := range t.indexes {
		if !x.sound || x.outdated.Load() || x.look.Load() {
			return true
		}
	}
	return false
}

// outdated are the indexes that must not be taken for right when they are found as they were left.
func (t *treeState) outdated() (paths []string) {
	for _, x := range t.indexes {
		if x.outdated.Load() {
			paths = append(paths, x.path())
		}
	}
	return paths
}

// left notes how an index was left.
func (x *indexFile) left(f commitlog.File) { x.size, x.modTime = f.Size, f.ModTime }

// lookAtIndex finds out whether an index is as it was left.
func (sp *space) lookAtIndex(x *indexFile) {
	x.look.Store(false)
	if !x.sound {
		return
	}
	info, err := sp.tree.Stat(x.path())
	if x.absent && errors.Is(err, fs.ErrNotExist) {
		return
	}
	x.sound = err == nil && !x.absent && info.Size == x.size && info.ModTime == x.modTime
}

// indexedBy gives the index of a kind of file.
func (sp *space) indexedBy(kind format.Kind) *index {
	if kind == format.Nodes {
		return sp.nodes
	}
	return sp.flows
}

// appendRows adds the rows of files that were written.
func (sp *space) appendRows(x *indexFile, files []outFile) error {
	x.distrust() // Until it is known to be whole.
	var text []byte
	if x.absent {
		text = []byte(format.IndexHeader)
	}
	for _, f := range files {
		r := sp.indexedBy(x.kind).row(f.id, holding{path: f.path, time: f.time})
		text = format.AppendRow(text, r.Row)
		x.sorted = x.sorted && (x.lines == 0 || x.last.Compare(r.name) < 0)
		x.last = r.name
		x.lines++
	}
	if err := filesys.AppendSynced(sp.tree, x.path(), text); err != nil {
		return err
	}
	x.sound, x.absent = true, false
	return nil
}

// writeIndexes makes indexes anew that are damaged or have grown, and says how many it wrote.
func (sp *space) writeIndexes() (files int, err error) {
	for _, kind := range []format.Kind{format.Nodes, format.Flows} {
		x := sp.written.indexes[kind]
		if x.look.Load() {
			sp.lookAtIndex(x)
		}
		if x.outdated.Swap(false) {
			x.distrust()
		}
		rows, needed := sp.indexRows(x)
		if !needed {
			continue
		}
		wrote, err := sp.writeIndex(x, rows)
		if err != nil {
			return files, err
		}
		if wrote {
			files++
		}
	}
	return files, nil
}

// indexRows gives the rows of an index that needs to be made anew, at the end also of one that has old rows or another
// order than the tree. Files that are not there yet have no row.
func (sp *space) indexRows(x *indexFile) (rows []row, needed bool) {
	sp.mu.RLock()
	defer sp.mu.RUnlock()
	known := sp.indexedBy(x.kind)
	entries := len(known.heads)
	for _, others := range known.others {
		entries += len(others)
	}
	untidy := sp.isClosing() && (!x.sorted || x.lines > entries+entries/16)
	if x.sound && !x.grown(entries) && !untidy {
		return nil, false
	}
	return known.rows(sp.pending.holds), true
}

// writeIndex writes an index, unless it is right as it stands, and has local.db remember it.
func (sp *space) writeIndex(x *indexFile, rows []row) (wrote bool, err error) {
	text := []byte(format.IndexHeader)
	for _, r := range rows {
		text = format.AppendRow(text, r.Row)
		x.last = r.name
	}
	wrote = x.sound || x.touched || !sp.holdsRows(x, rows)
	x.sound = false
	if wrote {
		x.touched = true
		err = sp.replaceIndex(x, text)
	} else {
		// What was read may be what a killed process wrote and did not sync.
		err = filesys.AppendSynced(sp.tree, x.path(), nil)
	}
	if err != nil {
		return false, err
	}
	line, err := sp.describe([]outFile{{path: x.path()}})
	if err != nil {
		return false, err
	}
	if err := sp.onWriter(func() error { return sp.apply(commitlog.Changes{Files: line}) }); err != nil {
		return false, err
	}
	x.left(line[0])
	x.sound, x.absent, x.sorted, x.lines = true, false, true, len(rows)
	return wrote, nil
}

// replaceIndex leaves the name to fate: where it is lost, the index is not the one that local.db remembers.
func (sp *space) replaceIndex(x *indexFile, text []byte) error {
	if err := sp.ensureFolder(string(x.kind)); err != nil {
		return err
	}
	return filesys.Replace(sp.tree, x.path(), text)
}

// holdsRows says whether the file holds each of these rows once and no others, in any order: it may have come with a
// checkout.
func (sp *space) holdsRows(x *indexFile, rows []row) bool {
	data, err := sp.tree.ReadFile(x.path(), maxIndex)
	if err != nil {
		return false
	}
	held, sound := x.kind.ReadIndex(data)
	byPath := make(map[string]format.Row, len(held))
	for _, r := range held {
		byPath[r.Path] = r
	}
	for _, r := range rows {
		if h := byPath[r.Path]; h.ID != r.ID || !h.Time.Equal(r.Time) {
			return false
		}
	}
	return sound && len(held) == len(rows)
}

// maxIndex is the largest index.tsv that is read: every slot three times.
const maxIndex = 3 * rowBytes * 1_000_000
