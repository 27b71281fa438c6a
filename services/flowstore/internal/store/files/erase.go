package files

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store/audit"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store/files/commitlog"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store/format"
	"github.com/tsumugi-dev/tsumugi/services/internal/filesys"
)

// tombstonesName is the file that says what was purged. Nothing else knows it, so it is never made anew.
const tombstonesName = "tombstones.tsv"

// pickPurges gives things of which nothing shall be left.
func (sp *space) pickPurges(last int64) (picked []pendingPurge) {
	sp.mu.RLock()
	defer sp.mu.RUnlock()
	for _, p := range sp.pending.purges {
		if p.seqs[0] > last {
			continue
		}
		one := *p
		// A file of it may have got another place while it was purged.
		one.paths = union(one.paths, sp.pending.placesOf(p.tomb.Thing))
		picked = append(picked, one)
	}
	slices.SortFunc(picked, func(a, b pendingPurge) int { return int(a.seqs[0] - b.seqs[0]) })
	return picked
}

// eraseThings takes everything away that is left of things, and says how many files that were. The tombstones are durable first:
// whoever finds a file of a thing afterwards, brought back by a power cut or by git, knows that it was purged.
func (sp *space) eraseThings(purges []pendingPurge) (files int, err error) {
	if err := sp.prepare(); err != nil {
		return 0, err
	}
	found, err := sp.findStrays(purges)
	if err != nil {
		return 0, err
	}
	for i, p := range purges {
		for _, file := range found.files[p.tomb.Thing] {
			purges[i].paths = union(purges[i].paths, []string{inTree(file)})
		}
	}
	if err := sp.bury(purges); err != nil {
		return 0, err
	}
	sp.leftOver(purges, found)
	var c commitlog.Changes
	for _, p := range purges {
		x := sp.written.indexes[kindOf(p.tomb.Kind)]
		x.distrust()
		c.Gone = append(c.Gone, x.path())
		c.Purged = append(c.Purged, p.tomb.Thing)
		erased, err := sp.eraseThing(p, found.halves[p.tomb.Thing], &c)
		if files += erased; err != nil {
			return files, err
		}
	}
	copies, err := sp.eraseCopies(audit.RepairFolder, purges)
	if err != nil {
		return files, err
	}
	if err := sp.eraseDerived(purges); err != nil {
		return files, err
	}
	return files + copies, sp.onWriter(func() error { return sp.finishPurges(purges, c) })
}

// leftOver notes the files that stay and may hold what is erased, in place of those of an earlier attempt.
func (sp *space) leftOver(purges []pendingPurge, found *strays) {
	sp.mu.Lock()
	defer sp.mu.Unlock()
	for _, p := range purges {
		delete(sp.left, p.tomb.Thing)
		if left := found.remains[p.tomb.Thing]; left != nil {
			sp.left[p.tomb.Thing] = left
		}
	}
}

// eraseThing takes the files of a thing away, halves being those that were never whole.
func (sp *space) eraseThing(p pendingPurge, halves []string, c *commitlog.Changes) (files int, err error) {
	for _, place := range p.places() {
		c.Gone = append(c.Gone, place)
		erased, err := sp.eraseFile(p.tomb.Thing, place)
		if err != nil {
			return files, err
		}
		files += erased
	}
	for _, half := range halves {
		if err := ignoreMissing(sp.tree.Remove(half)); err != nil {
			return files, err
		}
		if err := sp.tree.SyncDir(path.Dir(half)); err != nil {
			return files, err
		}
	}
	return files, nil
}

// bury writes the tombstones that are not there yet.
func (sp *space) bury(purges []pendingPurge) error {
	before := sp.knowsTombs()
	if err := sp.addTombs(purges); err != nil || !before {
		return err // Rows of others are taken in later (lookAtTombs).
	}
	info, err := sp.tree.Stat(tombstonesName)
	if err != nil {
		return ignoreMissing(err) // All was purged elsewhere, and a hand took it away.
	}
	sp.mu.Lock()
	defer sp.mu.Unlock()
	sp.tombsSeen = commitlog.File{Path: tombstonesName, Size: info.Size, ModTime: info.ModTime}
	return nil
}

func (sp *space) addTombs(purges []pendingPurge) error {
	data, err := sp.tree.ReadFile(tombstonesName, format.MaxMetadata)
	if errors.Is(err, fs.ErrNotExist) {
		data, err = []byte(format.TombstonesHeader), nil
	}
	if err != nil {
		return err
	}
	rows, _ := format.ReadTombstones(data)
	added := false
	if !bytes.HasSuffix(data, []byte("\n")) {
		data = append(data, '\n')
	}
	for _, p := range purges {
		if p.elsewhere { // Its row came with it.
			continue
		}
		kind := kindOf(p.tomb.Kind)
		for _, file := range p.paths {
			t := format.Tombstone{
				ID: p.tomb.ID, Kind: kind, Path: strings.TrimPrefix(file, string(kind)+"/"), Time: p.tomb.At, Reason: p.tomb.Reason,
			}
			written := func(r format.Tombstone) bool { return r.ID == t.ID && r.Kind == t.Kind && r.Path == t.Path }
			if !slices.ContainsFunc(rows, written) {
				data, added = format.AppendTombstone(data, t), true
			}
		}
	}
	if added {
		if err := filesys.Replace(sp.tree, tombstonesName, data); err != nil {
			return err
		}
	}
	return sp.tree.SyncDir(".")
}

// eraseFile takes a file away, if it holds the thing, and what a crash left of an attempt to write it; it says how many
// files it took. What cannot be read may be a person's: it stays, and is told.
func (sp *space) eraseFile(of store.Thing, place string) (erased int, err error) {
	there, err := sp.look(place)
	if errors.Is(err, fs.ErrPermission) {
		return 0, nil // It was told (findStrays).
	}
	if err != nil {
		return 0, err
	}
	if there.hash != (commitlog.Hash{}) {
		id, _, _, broken := sp.identify(kindOf(of.Kind), inTree(place), there.data)
		switch {
		case broken != nil:
			sp.leave(of, place, fmt.Sprintf("%s was purged; it stood in this file, which cannot be read now (%v): look into it, and "+
				"take it away", of.Kind.Name(of.ID), broken))
		case id == of.ID:
			if err := sp.tree.Remove(place); err != nil {
				return 0, err
			}
			erased++
		}
	}
	if err := sp.tree.Remove(filesys.Temporary(place)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return erased, err
	}
	// Also where nothing was there: who took it away may have been killed before the folder was synced.
	if err := sp.tree.SyncDir(path.Dir(place)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return erased, err
	}
	return erased, nil
}

// eraseCopies takes away what is below a folder and holds one of the things.
func (sp *space) eraseCopies(folder string, purges []pendingPurge) (erased int, err error) {
	entries, err := sp.tree.List(folder)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	for _, e := range entries {
		if err != nil {
			return erased, err
		}
		var n int
		file := path.Join(folder, e.Name)
		if e.Mode.IsDir() {
			n, err = sp.eraseCopies(file, purges)
		} else {
			n, err = sp.eraseCopy(file, purges)
		}
		erased += n
	}
	return erased, err
}

func (sp *space) eraseCopy(file string, purges []pendingPurge) (int, error) {
	there, err := sp.look(file)
	if err != nil {
		return 0, err
	}
	for _, kind := range []format.Kind{format.Nodes, format.Flows} {
		// Whatever it was a copy of, and however it is named. One that cannot be read was damaged when it was copied.
		id, _, _, broken := sp.identify(kind, file, there.data)
		held := map[uuid.UUID]bool{id: broken == nil}
		if broken != nil && copyOf(file, kind) {
			held = namesIn(there.data)
		}
		if slices.ContainsFunc(purges, func(p pendingPurge) bool { return p.tomb.Kind == thingOf(kind) && held[p.tomb.ID] }) {
			return 1, errors.Join(sp.tree.Remove(file), sp.tree.SyncDir(path.Dir(file)))
		}
	}
	return 0, nil
}

// copyOf says whether a copy is of a file of a kind.
func copyOf(file string, kind format.Kind) bool {
	return strings.Contains(file, "/"+string(kind)+"/") && path.Base(file) != "index.tsv"
}

// leave tells of a file that may hold what was purged.
func (sp *space) leave(of store.Thing, file, why string) {
	sp.mu.Lock()
	defer sp.mu.Unlock()
	sp.note(file, why)
	if sp.left[of] == nil {
		sp.left[of] = map[string]string{}
	}
	sp.left[of][file] = why
}

// finishPurges takes what is left out of local.db, and then the purges themselves. On the writer.
func (sp *space) finishPurges(purges []pendingPurge, c commitlog.Changes) error {
	if err := sp.apply(c); err != nil {
		return err
	}
	if err := sp.local.Rewrite(); err != nil {
		return fmt.Errorf("local.db may hold what was purged, since it cannot be rewritten: %w", err)
	}
	var done commitlog.Changes
	if sp.tombsSeen.Path != "" {
		done.Files = append(done.Files, sp.tombsSeen)
	}
	for _, p := range purges {
		done.Done = append(done.Done, sp.pending.ofPurged(p)...)
	}
	if err := sp.apply(done); err != nil {
		return err
	}
	sp.mu.Lock()
	defer sp.mu.Unlock()
	for _, p := range purges {
		sp.pending.donePurge(p)
		sp.indexOf(p.tomb.Kind).forgetBroken(p.places())
		sp.cache.drop(p.tomb.ID)
	}
	sp.goOn()
	return nil
}

// ofPurged gives all records of something that was purged, but for those of being erased once more that came meanwhile.
func (p *pending) ofPurged(picked pendingPurge) (seqs []int64) {
	of := picked.tomb.Thing
	seqs = slices.Clone(picked.seqs)
	if n := p.nodes[of.ID]; n != nil && of.Kind == store.KindNode {
		seqs = append(seqs, n.seqs...)
	}
	if f := p.flows[of.ID]; f != nil && of.Kind == store.KindFlow {
		seqs = append(seqs, f.seqs...)
	}
	if m := p.moves[of]; m != nil {
		seqs = append(seqs, m.seqs...)
	}
	return seqs
}

// donePurge notes that nothing is left of a thing.
func (p *pending) donePurge(picked pendingPurge) {
	of := picked.tomb.Thing
	p.records -= len(p.ofPurged(picked))
	if n := p.nodes[of.ID]; n != nil && of.Kind == store.KindNode {
		p.bytes -= int64(len(n.body))
		delete(p.nodes, of.ID)
		p.queue = slices.DeleteFunc(p.queue, func(id uuid.UUID) bool { return id == of.ID })
	}
	if f := p.flows[of.ID]; f != nil && of.Kind == store.KindFlow {
		p.bytes -= f.bytes
		delete(p.flows, of.ID)
	}
	delete(p.moves, of)
	if now := p.purges[of]; len(now.seqs) > len(picked.seqs) {
		later := *now
		later.seqs = now.seqs[len(picked.seqs):]
		p.purges[of] = &later
		return
	}
	delete(p.purges, of)
}
