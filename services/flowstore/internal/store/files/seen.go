package files

import (
	"path"
	"time"

	"github.com/google/uuid"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store/files/commitlog"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store/format"
)

// seenFiles is what the files of the tree, and of the trash, were like when they were last read or written, by folder and
// name: what local.db remembers of them, at hand while the writer is busy. A file of ours that changed since was changed by
// a hand. A file takes about 120 bytes.
type seenFiles map[string]map[string]seenFile

// seenFile is one of them.
type seenFile struct {
	// size is -1 for a file that must be looked at again whatever it looks like.
	size, modTime int64
	hash          commitlog.Hash
	// id is what it holds, or held when it could be read; zero where nobody knows.
	id uuid.UUID
}

// unsettled is the size of a file that is to be looked at again: it could not be opened, or was indexed in haste.
const unsettled = -1

func (s seenFiles) get(file string) (seenFile, bool) {
	f, ok := s[path.Dir(file)][path.Base(file)]
	return f, ok
}

func (s seenFiles) put(file string, f seenFile) {
	dir := path.Dir(file)
	if s[dir] == nil {
		s[dir] = map[string]seenFile{}
	}
	s[dir][path.Base(file)] = f
}

func (s seenFiles) drop(file string) {
	dir := path.Dir(file)
	if delete(s[dir], path.Base(file)); len(s[dir]) == 0 {
		delete(s, dir)
	}
}

// seenAs is how a file was seen.
func seenAs(f commitlog.File) seenFile {
	if f.Hash == (commitlog.Hash{}) { // It could not be opened: a permission changes without changing the file.
		return seenFile{size: unsettled, id: f.ID}
	}
	return seenFile{size: f.Size, modTime: f.ModTime, hash: f.Hash, id: f.ID}
}

// remember keeps seen as local.db has it, and what is known of broken files that were replaced. The caller holds mu, or nobody else is there yet.
func (sp *space) remember(files []commitlog.File, gone []string) {
	for _, f := range files {
		kind, ours := kindOfFile(f.Path)
		if !ours {
			continue
		}
		if before, known := sp.seen.get(f.Path); known && before.id != f.ID {
			sp.doubt.Store(true)
		}
		sp.seen.put(f.Path, seenAs(f))
		if x := sp.indexedBy(kind); f.Problem == "" {
			delete(x.broken, f.Path)
			if x.lost[f.ID] == f.Path {
				delete(x.lost, f.ID)
			}
		}
	}
	for _, file := range gone {
		sp.seen.drop(file)
		if kind, ours := kindOfFile(file); ours {
			delete(sp.indexedBy(kind).broken, file)
		}
	}
}

// unsettle has a file looked at again. The caller holds mu, or nobody else is there yet.
func (sp *space) unsettle(file string) {
	if f, ok := sp.seen.get(file); ok {
		f.size = unsettled
		sp.seen.put(file, f)
	}
}

// kindOfFile says of which kind a file of the tree or the trash is by its name; ok is false for one of no kind.
func kindOfFile(file string) (kind format.Kind, ok bool) {
	rest := inTree(file)
	for _, kind := range []format.Kind{format.Nodes, format.Flows} {
		if len(rest) > len(kind) && rest[:len(kind)] == string(kind) && rest[len(kind)] == '/' {
			_, ok := kind.ParseName(rest[len(kind)+1:])
			return kind, ok
		}
	}
	return "", false
}

// A held is where something is by its id: in the tree, in a file that can be read no longer, or in the trash.
type held struct {
	// holdings are its files, best first.
	holdings []holding
	lost     string
	dropped  trashed
}

// held gives what an index knows of id. The caller does not write to it.
func (x *index) held(id uuid.UUID) held {
	return held{holdings: x.holdings(id), lost: x.lost[id], dropped: x.trash[id]}
}

// hold puts something where it is now.
func (x *index) hold(id uuid.UUID, h held) {
	before, wasListed := x.entry(id)
	delete(x.lost, id)
	if h.lost != "" {
		x.lost[id] = h.lost
	}
	x.relist(id, before, wasListed)
	x.set(id, h.holdings)
	if old, was := x.trash[id]; was {
		delete(x.trash, id)
		x.trashed.Drop(store.Entry{Created: old.at, ID: id})
	}
	if len(h.dropped.holdings) > 0 {
		x.trash[id] = h.dropped
		x.trashed.Put(store.Entry{Created: h.dropped.at, ID: id})
	}
}

// droppedAt is when a file came into the trash that a hand put there.
func droppedAt(f commitlog.File) time.Time {
	return time.Unix(0, f.ModTime).UTC().Truncate(time.Microsecond)
}
