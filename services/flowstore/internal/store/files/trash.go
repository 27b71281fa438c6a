package files

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"

	"github.com/google/uuid"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store/files/commitlog"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store/format"
	"github.com/tsumugi-dev/tsumugi/services/internal/filesys"
)

// A file goes to the trash in two durable steps, since a name that moves from one folder to another may be lost from both
// when the power goes: it is written there, then taken away here. So it may stand in both places, and whoever reads it
// while it moves looks in both. Doing it again is doing it once.

// pickMoves gives things whose files are to move, into the trash or out of it, as they are now.
func (sp *space) pickMoves(last int64, drop bool) []pendingMove {
	sp.mu.RLock()
	defer sp.mu.RUnlock()
	all := slices.SortedFunc(maps.Values(sp.pending.moves), func(a, b *pendingMove) int {
		return cmp.Compare(a.seqs[0], b.seqs[0])
	})
	var picked []pendingMove
	for _, m := range all {
		if m.drop == drop && m.seqs[0] <= last && sp.pending.purges[m.of] == nil && len(picked) < chunkFiles {
			picked = append(picked, *m)
		}
	}
	return picked
}

// moveFiles puts files where they belong, and says how many moved.
func (sp *space) moveFiles(moves []pendingMove) (int, error) {
	if err := sp.prepare(); err != nil {
		return 0, err
	}
	var c commitlog.Changes
	for _, kind := range []format.Kind{format.Nodes, format.Flows} {
		x := sp.written.indexes[kind]
		if slices.ContainsFunc(moves, func(m pendingMove) bool { return m.of.Kind == thingOf(kind) }) {
			// It has rows of what goes, and none of what comes, and must not be taken for right when it is found as it was.
			x.distrust()
			c.Gone = append(c.Gone, x.path())
		}
	}
	moved := 0
	for _, m := range moves {
		for _, file := range m.paths {
			f, err := sp.moveFile(m, file)
			if err != nil {
				return moved, err
			}
			if f.Path != "" {
				moved++
				c.Files = append(c.Files, f)
				c.Gone = append(c.Gone, m.from(file))
			}
		}
	}
	return moved, sp.onWriter(func() error { return sp.finishMoves(moves, c) })
}

// from is where a file comes from, to where it goes.
func (m pendingMove) from(file string) string {
	if m.drop {
		return file
	}
	return trashPath(file)
}

func (m pendingMove) to(file string) string {
	if m.drop {
		return trashPath(file)
	}
	return file
}

// moveFile gives what local.db is to remember of a file in its new place. Nothing where it is gone from both, or is no
// longer what was to be moved: then it stays.
func (sp *space) moveFile(m pendingMove, file string) (commitlog.File, error) {
	from, to := m.from(file), m.to(file)
	there, err := sp.look(from)
	if err != nil {
		return commitlog.File{}, err
	}
	if there.hash == (commitlog.Hash{}) {
		return sp.movedBefore(m, file)
	}
	if id, _, _, err := sp.identify(kindOf(m.of.Kind), file, there.data); err != nil || id != m.of.ID {
		sp.doubt.Store(true)
		return sp.movedFile(m, to)
	}
	stands, err := sp.look(to)
	if err != nil {
		return commitlog.File{}, err
	}
	if sp.isNewer(m, stands, there) {
		return sp.leaveCopy(m, from, to, nil)
	}
	place, err := sp.freePlace(m, file, stands, there)
	if err != nil {
		return commitlog.File{}, err
	}
	to = m.to(place)
	for dir := range parents(to) {
		if err := sp.ensureFolder(dir); err != nil {
			return commitlog.File{}, err
		}
	}
	if err := filesys.Replace(sp.tree, to, there.data); err != nil {
		return commitlog.File{}, err
	}
	err = sp.tree.SyncDir(path.Dir(to))
	if err == nil && place != file {
		err = sp.giveWay(m, file, place, there)
	}
	return sp.leaveCopy(m, from, to, err)
}

// leaveCopy takes away a file of which another place has all, unless that failed, and describes the other place.
func (sp *space) leaveCopy(m pendingMove, from, to string, err error) (commitlog.File, error) {
	if err != nil {
		return commitlog.File{}, err
	}
	if err := sp.tree.Remove(from); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return commitlog.File{}, err
	}
	if err := sp.tree.SyncDir(path.Dir(from)); err != nil {
		return commitlog.File{}, err
	}
	return sp.movedFile(m, to)
}

// isNewer says whether something that is to come out of the trash stands in the tree already as we wrote it later: it had come
// out before and changed, and its old copy in the trash was not taken away yet.
func (sp *space) isNewer(m pendingMove, stands, old foreignFile) bool {
	if m.drop || stands.hash == (commitlog.Hash{}) || stands.hash == old.hash {
		return false
	}
	sp.mu.RLock()
	defer sp.mu.RUnlock()
	seen, known := sp.seen.get(stands.path)
	return known && seen.id == m.of.ID && seen.hash == stands.hash
}

// freePlace is where a file goes, as if it were in the tree: to the next free slot where something else came to stand in its place,
// which stays as it is.
func (sp *space) freePlace(m pendingMove, file string, there, ours foreignFile) (place string, err error) {
	if there.hash == (commitlog.Hash{}) || there.hash == ours.hash {
		return file, nil
	}
	if id, _, _, err := sp.identify(kindOf(m.of.Kind), file, there.data); m.drop && err == nil && id == m.of.ID {
		// It came out of the trash and changed, and goes back before its copy there was taken away: the tree has what counts.
		return file, nil
	}
	sp.doubt.Store(true)
	for _, other := range sp.otherPlaces(m, file) {
		// An interrupted move wrote it there already.
		if copied, err := sp.look(m.to(other)); err != nil || copied.hash == ours.hash {
			return other, err
		}
	}
	err = sp.onWriter(func() error {
		x := sp.indexOf(m.of.Kind)
		if x.next >= format.Slots {
			return errNoSlot
		}
		place = x.slotPath(x.next)
		sp.mu.Lock()
		defer sp.mu.Unlock()
		x.take(place)
		return nil
	})
	return place, err
}

// giveWay notes that a file has another place, since its own one was taken. Not before it stands there: until then it is read where
// it comes from.
func (sp *space) giveWay(m pendingMove, file, place string, ours foreignFile) error {
	return sp.onWriter(func() error {
		_, h, _, err := sp.identify(kindOf(m.of.Kind), place, ours.data)
		if err != nil {
			return err
		}
		x := sp.indexOf(m.of.Kind)
		sp.mu.Lock()
		defer sp.mu.Unlock()
		if _, dropped := x.trash[m.of.ID]; !m.drop || dropped { // Otherwise a hand brought a copy into the tree meanwhile, which counts.
			x.replace(m.of.ID, file, h)
		}
		sp.pending.relocate(m.of, file, place)
		sp.noteFile(m.to(file), fmt.Sprintf("another file came to stand here; %s, which belongs here, is in %s", m.of.Kind.Name(m.of.ID), m.to(place)))
		return nil
	})
}

// otherPlaces are further files that what moves has, or had, as if they were in the tree.
func (sp *space) otherPlaces(m pendingMove, file string) (places []string) {
	sp.mu.RLock()
	defer sp.mu.RUnlock()
	x := sp.indexOf(m.of.Kind)
	for _, h := range x.sorted(slices.Concat(x.holdings(m.of.ID), x.trash[m.of.ID].holdings)) {
		if h.path != file {
			places = append(places, h.path)
		}
	}
	return places
}

// parents gives the folders above a file, the outermost first.
func parents(file string) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		for i, c := range file {
			if c == '/' && !yield(file[:i]) {
				return
			}
		}
	}
}

// movedBefore describes a file that is no longer where it came from: an interrupted move took it to its place, or to another slot.
func (sp *space) movedBefore(m pendingMove, file string) (commitlog.File, error) {
	for _, place := range append([]string{file}, sp.otherPlaces(m, file)...) {
		if f, err := sp.movedFile(m, m.to(place)); err != nil || f.Path != "" {
			return f, err
		}
	}
	return commitlog.File{}, nil
}

// movedFile describes a file that has moved.
func (sp *space) movedFile(m pendingMove, file string) (commitlog.File, error) {
	f, err := sp.describeNow(kindOf(m.of.Kind), file)
	if errors.Is(err, fs.ErrNotExist) {
		sp.doubt.Store(true)
		return commitlog.File{}, nil
	}
	if err != nil {
		return commitlog.File{}, err
	}
	if f.Problem != "" || f.ID != m.of.ID {
		sp.doubt.Store(true)
		return commitlog.File{}, nil // A hand put it there: it is taken in when the folder is looked through.
	}
	return f, nil
}

// finishMoves takes moves out of the log. On the writer.
func (sp *space) finishMoves(moves []pendingMove, c commitlog.Changes) error {
	for _, m := range moves {
		c.Done = append(c.Done, m.seqs...)
	}
	if err := sp.apply(c); err != nil {
		return err
	}
	sp.mu.Lock()
	defer sp.mu.Unlock()
	there := map[uuid.UUID]bool{}
	for _, f := range c.Files {
		there[f.ID] = true
	}
	for _, m := range moves {
		sp.pending.doneMove(m.of, len(m.seqs))
		if len(m.paths) > 0 && !there[m.of.ID] {
			sp.note(m.paths[0], fmt.Sprintf("%s was to move to the trash or back; no file has it any more", m.of.Kind.Name(m.of.ID)))
		}
	}
	sp.goOn()
	return nil
}
