package files

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"io/fs"
	"iter"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/node"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/search"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store/files/commitlog"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store/format"
	"github.com/tsumugi-dev/tsumugi/services/internal/filesys"
)

// The metadata files say of the nodes what stands in them (seed 004, 6.1 and 6.2). They are written behind the nodes, and made
// anew where they are not what we left: for people and programs that read the tree, and for nothing of ours.
const (
	metadataFolder = "metadata"
	tagsPath       = metadataFolder + "/tags.yaml"
	nodeIndexPath  = metadataFolder + "/index.yaml"
)

// metadata is what is known of the metadata files.
type metadata struct {
	// writing is held by whoever writes them, and guards of, left and wrote.
	writing sync.Mutex
	// of is the digest of the nodes that both files are of, zero where nobody knows; left is how index.yaml was left.
	of   commitlog.Hash
	left commitlog.File
	// wrote is when they were written last.
	wrote time.Time

	// mu guards the rest: which nodes were touched since then, first at one time and last at another. One that we wrote comes with
	// its entry, so that nobody has to read it back; it is nil for one that has to be read.
	mu          sync.Mutex
	touched     map[uuid.UUID]*format.NodeEntry
	first, last time.Time
}

// openMetadata finds out whether the files are as they were left. Nothing is read.
func (sp *space) openMetadata(known map[string]commitlog.File) error {
	sp.metadata.touched = map[uuid.UUID]*format.NodeEntry{}
	if !sp.settings.Metadata {
		return nil
	}
	for _, file := range []string{tagsPath, nodeIndexPath} {
		info, err := sp.tree.Stat(file)
		missing := errors.Is(err, fs.ErrNotExist)
		if err != nil && !missing {
			return err
		}
		k, ok := known[file]
		if !ok || missing || k.Size != info.Size || k.ModTime != info.ModTime || k.Hash != known[tagsPath].Hash {
			sp.metadata.touch(time.Now(), nil)
			return nil
		}
	}
	sp.metadata.left = known[nodeIndexPath]
	sp.metadata.of = sp.metadata.left.Hash
	return nil
}

// touch notes that a node changed; nil, that nobody knows which.
func (m *metadata) touch(now time.Time, id *uuid.UUID) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.last = now; m.first.IsZero() {
		m.first = now
	}
	if id != nil {
		m.touched[*id] = nil
	}
}

// know notes what stands of a node that we wrote, behind its touch.
func (m *metadata) know(n node.Node) {
	entry := entryOf(n)
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, touched := m.touched[n.ID]; touched {
		m.touched[n.ID] = &entry
	}
}

// touch notes that a node changed, for all that is derived from nodes. May be called under mu. What the index knows, the metadata
// know before.
func (sp *space) touch(id uuid.UUID) {
	if sp.settings.Metadata {
		sp.metadata.touch(time.Now(), &id)
	}
	sp.finder.Touch(id)
}

// metadataEvery is how long there is at least between two writings of the metadata files, and at most between a change and the
// next of them.
const metadataEvery = time.Minute

// dueIn is how long to wait before the files are written; a long time where there is nothing to write.
func (m *metadata) dueIn(now time.Time) time.Duration {
	m.mu.Lock()
	first, last := m.first, m.last
	m.mu.Unlock()
	m.writing.Lock()
	defer m.writing.Unlock()
	if first.IsZero() {
		return long
	}
	due := min(last.Add(quiet).Sub(now), first.Add(metadataEvery).Sub(now))
	return max(due, m.wrote.Add(metadataEvery).Sub(now))
}

// begin gives when the first of what is to be written was touched; what is touched from now on is written later.
func (m *metadata) begin() (first time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	first, m.first = m.first, time.Time{}
	return first
}

// taken gives the nodes that were touched since it was asked last.
func (m *metadata) taken() map[uuid.UUID]*format.NodeEntry {
	m.mu.Lock()
	defer m.mu.Unlock()
	touched := m.touched
	m.touched = map[uuid.UUID]*format.NodeEntry{}
	return touched
}

// onLocal runs what uses local.db.
type onLocal func(do func() error) error

// writeMetadata writes the files, unless they are what they should be. While nodes are still missing in the index, or cannot be
// read (problems), nothing is written.
func (sp *space) writeMetadata(ctx context.Context, run onLocal) error {
	m := &sp.metadata
	m.writing.Lock()
	defer m.writing.Unlock()
	if !sp.settings.Metadata || sp.readOnly() != nil {
		return nil
	}
	first := m.begin()
	err := sp.finder.Fold(ctx)
	if partial, _ := sp.finder.Partial(); err == nil && partial {
		err = errPartial
	}
	if err == nil {
		err = sp.replaceMetadata(run)
	}
	if err != nil { // all is made anew then
		m.of = commitlog.Hash{}
		m.touch(cmp.Or(first, time.Now()), nil)
	}
	if errors.Is(err, errPartial) {
		return nil
	}
	return err
}

var errPartial = errors.New("the index does not have all nodes yet")

func (sp *space) replaceMetadata(run onLocal) error {
	m := &sp.metadata
	m.wrote = time.Now()
	ids := sp.finder.Index().IDs()
	slices.SortFunc(ids, func(a, b uuid.UUID) int { return bytes.Compare(a[:], b[:]) })
	of := sp.digest(ids)
	if of == m.of {
		return nil
	}
	if _, err := sp.tree.Stat(nodeIndexPath); len(ids) == 0 && errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	old := sp.knownEntries(m.taken()) // behind the digest: what is of it was touched before
	if err := sp.writeDerived(ids, old, run); err != nil {
		return err
	}
	files, err := sp.describe([]outFile{{path: tagsPath, hash: of}, {path: nodeIndexPath, hash: of}})
	if err != nil {
		return err
	}
	if err := run(func() error { return sp.apply(commitlog.Changes{Files: files}) }); err != nil {
		return err
	}
	m.of, m.left = of, files[1]
	return nil
}

// writeDerived makes both files durable.
func (sp *space) writeDerived(ids []uuid.UUID, old map[uuid.UUID]format.NodeEntry, run onLocal) error {
	var last time.Time
	if err := run(func() error { last = sp.last.In(sp.clock().Location()); return nil }); err != nil {
		return err
	}
	if err := filesys.EnsureDir(sp.tree, metadataFolder); err != nil {
		return err
	}
	if err := sp.replaceDerived(nodeIndexPath, last, func(b *bytes.Buffer, updated time.Time) error {
		var failed error
		err := format.EncodeNodeIndex(b, updated, sp.nodeEntries(ids, old, &failed))
		return cmp.Or(failed, err)
	}); err != nil {
		return err
	}
	if err := sp.replaceDerived(tagsPath, last, func(b *bytes.Buffer, updated time.Time) error {
		return format.EncodeTags(b, updated, tagEntries(sp.finder.Index().Tagged()))
	}); err != nil {
		return err
	}
	return sp.tree.SyncDir(metadataFolder)
}

// digest is the same for the same contents of all nodes, given in order.
func (sp *space) digest(ids []uuid.UUID) (of commitlog.Hash) {
	sum := sha256.New()
	for _, id := range ids {
		stamp, _ := sp.finder.Index().Stamp(id)
		sum.Write(binary.BigEndian.AppendUint64(id[:], stamp))
	}
	sum.Sum(of[:0])
	return of
}

// replaceDerived writes a file, unless what it says of the nodes is what it said already: then it keeps the time of the
// transaction after which that was so.
func (sp *space) replaceDerived(file string, last time.Time, encode func(b *bytes.Buffer, updated time.Time) error) error {
	var b bytes.Buffer
	before, err := sp.tree.ReadFile(file, format.MaxMetadata)
	if updated, ok := format.MetadataTime(before); err == nil && ok {
		if err := encode(&b, updated); err != nil {
			return err
		}
		if bytes.Equal(b.Bytes(), before) {
			return filesys.AppendSynced(sp.tree, file, nil) // it may be of a killed process
		}
		b.Reset()
	}
	if err := encode(&b, last); err != nil {
		return err
	}
	return filesys.Replace(sp.tree, file, b.Bytes())
}

// knownEntries gives what is known without reading a node: of those that we wrote, and, where index.yaml is as it was left, what
// it says of the nodes that were not touched.
func (sp *space) knownEntries(touched map[uuid.UUID]*format.NodeEntry) map[uuid.UUID]format.NodeEntry {
	known := sp.oldEntries(touched)
	for id, entry := range touched {
		if entry != nil {
			known[id] = *entry
		}
	}
	return known
}

func (sp *space) oldEntries(touched map[uuid.UUID]*format.NodeEntry) map[uuid.UUID]format.NodeEntry {
	m := &sp.metadata
	old := map[uuid.UUID]format.NodeEntry{}
	if m.of == (commitlog.Hash{}) {
		return old
	}
	info, err := sp.tree.Stat(nodeIndexPath)
	if err != nil || info.Size != m.left.Size || info.ModTime != m.left.ModTime {
		return old
	}
	data, err := sp.tree.ReadFile(nodeIndexPath, format.MaxMetadata)
	if err != nil {
		return old
	}
	index, err := format.DecodeNodeIndex(data)
	if err != nil || len(index.Problems) > 0 {
		return old
	}
	for _, e := range index.Nodes {
		if _, changed := touched[e.ID]; !changed {
			old[e.ID] = e
		}
	}
	return old
}

// nodeEntries gives what index.yaml says, and reads the nodes of which nobody knows. One that is gone meanwhile is left out; one
// that cannot be read is for the finder to ask for again and to tell. failed is errPartial then.
func (sp *space) nodeEntries(ids []uuid.UUID, old map[uuid.UUID]format.NodeEntry, failed *error) iter.Seq[format.NodeEntry] {
	return func(yield func(format.NodeEntry) bool) {
		for _, id := range ids {
			entry, known := old[id]
			if !known {
				l, err := sp.current(id)
				if store.Gone(err) {
					continue
				}
				if err != nil {
					sp.finder.Touch(id)
					*failed = errPartial
					return
				}
				entry = entryOf(l.node)
			}
			if !yield(entry) {
				return
			}
		}
	}
}

// entryOf derives what stands of a node in index.yaml: its keywords are its tags.
func entryOf(n node.Node) format.NodeEntry {
	return format.NodeEntry{ID: n.ID, Created: n.Created, Keywords: n.Tags, Summary: n.Summary.Text}
}

func tagEntries(all []search.Tagged) iter.Seq[format.TagEntry] {
	return func(yield func(format.TagEntry) bool) {
		for _, t := range all {
			if !yield(format.TagEntry{Tag: t.Name, Nodes: t.Nodes}) {
				return
			}
		}
	}
}
