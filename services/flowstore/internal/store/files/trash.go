package files

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store/files/commitlog"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store/format"
	"github.com/tsumugi-dev/tsumugi/services/internal/filesys"
)

// A file goes to the trash in two durable steps, since a name that moves from one folder to another may be lost from both
// when the power goes: it is written there, then taken away here. So it may stand in both places, and whoever reads it
// while it moves looks in both. Doing it again is doing it once.

// pickMoves gives things whose files are to move, into the trash or out of it, as they are now. What came back and was dropped again
// goes to the trash no earlier than all that it became meanwhile is written: it would come into the tree behind it.
func (sp *space) pickMoves(last int64, drop bool) []pendingMove {
	sp.mu.RLock()
	defer sp.mu.RUnlock()
	all := slices.SortedFunc(maps.Values(sp.pending.moves), func(a, b *pendingMove) int {
		return cmp.Compare(a.seqs[0], b.seqs[0])
	})
	var picked []pendingMove
	for _, m := range all {
		since := m.seqs[0]
		if drop {
			since = m.seqs[len(m.seqs)-1]
		}
		if m.drop == drop && since <= last && sp.pending.purges[m.of] == nil && len(picked) < chunkFiles {
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
	var lost []pendingMove
	for _, m := range moves {
		found, err := sp.moveThing(m, &c)
		if err != nil {
			return len(c.Files), err
		}
		if !found {
			lost = append(lost, m)
		}
	}
	return len(c.Files), sp.onWriter(func() error { return sp.finishMoves(moves, lost, c) })
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

// standing finds where a thing is: the files that hold it at places of the tree, or where side puts these. What else stands there is
// passed over. The files are by their places.
func (sp *space) standing(of store.Thing, places []string, side func(string) string) (map[string]foreignFile, error) {
	files := map[string]foreignFile{}
	for _, place := range places {
		there, err := sp.look(side(place))
		if err != nil {
			return nil, err
		}
		if there.hash == (commitlog.Hash{}) {
			continue
		}
		if id, _, _, err := sp.identify(kindOf(of.Kind), place, there.data); err != nil || id != of.ID {
			sp.doubt.Store(true)
			continue
		}
		files[place] = there
	}
	return files, nil
}

// moveThing puts the files of a thing where they belong, and adds what local.db is to remember of them. found is false where no file
// has it. Some may be in their places already, or in a slot instead, since an earlier attempt was interrupted.
func (sp *space) moveThing(m pendingMove, c *commitlog.Changes) (found bool, err error) {
	away, err := sp.standing(m.of, m.paths, m.from)
	if err != nil {
		return false, err
	}
	there, err := sp.standing(m.of, sp.placesOf(m), m.to)
	if err != nil {
		return false, err
	}
	places := m.paths
	for _, file := range slices.Sorted(maps.Keys(away)) {
		place, err := sp.moveFile(m, file, away, there)
		if err != nil {
			return false, err
		}
		there[place] = away[file]
		places = union(places, []string{place})
	}
	for _, place := range places {
		if _, stands := there[place]; !stands {
			sp.doubt.Store(true) // A hand took it away before it could move.
			continue
		}
		f, err := sp.movedFile(m, m.to(place))
		if err != nil {
			return false, err
		}
		if f.Path != "" {
			c.Files = append(c.Files, f)
		}
	}
	for _, file := range m.paths {
		if _, err := sp.tree.Stat(m.from(file)); errors.Is(err, fs.ErrNotExist) {
			c.Gone = append(c.Gone, m.from(file))
		}
	}
	return len(there) > 0, nil
}

// placesOf are the places at which files of what moves may stand, as if they were in the tree.
func (sp *space) placesOf(m pendingMove) []string {
	sp.mu.RLock()
	defer sp.mu.RUnlock()
	return union(m.paths, sp.indexOf(m.of.Kind).places(m.of.ID))
}

// moveFile moves one of the files that are away, and gives its place.
func (sp *space) moveFile(m pendingMove, file string, away, there map[string]foreignFile) (place string, err error) {
	ours := away[file]
	if sp.isNewer(m, there[file], ours) {
		return file, sp.takeAway(ours.path)
	}
	if place, err = sp.freePlace(m, file, away, there); err != nil {
		return "", err
	}
	to := m.to(place)
	for dir := range parents(to) {
		if err := sp.ensureFolder(dir); err != nil {
			return "", err
		}
	}
	if err := filesys.Replace(sp.tree, to, ours.data); err != nil {
		return "", err
	}
	if err := sp.tree.SyncDir(path.Dir(to)); err != nil {
		return "", err
	}
	if place != file {
		if err := sp.giveWay(m, file, place, ours); err != nil {
			return "", err
		}
	}
	return place, sp.takeAway(ours.path)
}

// takeAway removes a file of which another place has all.
func (sp *space) takeAway(file string) error {
	if err := sp.tree.Remove(file); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return sp.tree.SyncDir(path.Dir(file))
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
// which stays as it is. The move remembers the slot, since it may be interrupted behind the file's first write.
func (sp *space) freePlace(m pendingMove, file string, away, there map[string]foreignFile) (place string, err error) {
	ours, own := away[file], there[file]
	if own.hash == ours.hash || m.drop && own.data != nil {
		// With another hash, it came out of the trash and changed, and goes back before its copy there was taken away: the tree has
		// what counts.
		return file, nil
	}
	for _, other := range slices.Sorted(maps.Keys(there)) {
		if _, moves := away[other]; !moves && there[other].hash == ours.hash {
			return other, nil // An interrupted move wrote it there already.
		}
	}
	if stands, err := sp.look(m.to(file)); err != nil || stands.hash == (commitlog.Hash{}) {
		return file, err
	}
	sp.doubt.Store(true)
	err = sp.onWriter(func() error {
		x := sp.indexOf(m.of.Kind)
		sp.mu.Lock()
		defer sp.mu.Unlock()
		slot, ok := x.names.Give()
		if !ok {
			return errNoSlot
		}
		place = x.slotPath(slot)
		sp.pending.spread(m.of, place)
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
		if _, dropped := x.trash[m.of.ID]; !sp.pending.moves[m.of].drop || dropped { // Otherwise a hand brought a copy into the tree meanwhile, which counts.
			x.replace(m.of.ID, file, h)
		}
		sp.pending.retarget(m.of, file, place)
		sp.noteFile(m.to(file), fmt.Sprintf("another file came to stand here; %s, which belongs here, is in %s", m.of.Kind.Name(m.of.ID), m.to(place)))
		return nil
	})
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

// finishMoves takes moves out of the log; of those that are lost, no file was found. On the writer.
func (sp *space) finishMoves(moves, lost []pendingMove, c commitlog.Changes) error {
	for _, m := range moves {
		c.Done = append(c.Done, m.seqs...)
	}
	if err := sp.apply(c); err != nil {
		return err
	}
	sp.mu.Lock()
	defer sp.mu.Unlock()
	for _, m := range moves {
		sp.pending.doneMove(m.of, len(m.seqs))
	}
	for _, m := range lost {
		if sp.pending.waits(m.of) {
			continue // It came back before its file was first written, and is written into the tree.
		}
		sp.doubt.Store(true)
		if len(m.paths) > 0 {
			sp.note(m.paths[0], fmt.Sprintf("%s was to move to the trash or back; no file has it any more", m.of.Kind.Name(m.of.ID)))
		}
	}
	sp.goOn()
	return nil
}
