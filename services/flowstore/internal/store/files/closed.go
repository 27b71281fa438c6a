package files

import (
	"maps"
	"slices"

	"github.com/google/uuid"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store/files/commitlog"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store/format"
)

// What hands did while the namespace was closed is told when it is opened, as a rescan tells what they do while it is open: in
// the transaction in which local.db learns of the files, so once, whatever ends the process. What is on its way to the tree
// was told when it was acknowledged.

// takeInClosed has local.db remember what the scan found otherwise than it knew, and tells what that means. Where no event is kept
// nothing is told: nobody can name one that it goes on from, and who tries is told to read everything (loadEvents).
func (sp *space) takeInClosed(known map[string]commitlog.File, found commitlog.Changes) error {
	if len(found.Files)+len(found.Gone) == 0 {
		return nil
	}
	if len(sp.recent) == 0 {
		return sp.local.Apply(found)
	}
	all := closedSightings(known, found)
	was := indexKnown(known, all)
	told := map[store.Thing]bool{}
	for some := range slices.Chunk(all, maxSightings) {
		h := newHandling(sp)
		h.was, h.changed.Members = was, found.Members
		for _, s := range some {
			h.takeClosed(s, known, told)
		}
		h.last = store.Later(h.last, h.clock())
		h.events()
		h.changed.State = h.state()
		if err := sp.local.Apply(h.changed); err != nil {
			return err
		}
		sp.happen(h.changed.Events)
		found.Members = nil
	}
	return nil
}

// closedSightings are the files that are not as local.db knew them, in the order of a rescan: what is new comes before what is
// gone.
func closedSightings(known map[string]commitlog.File, found commitlog.Changes) []sighting {
	var all []sighting
	add := func(f commitlog.File, gone bool) {
		kind, _ := kindOfFile(f.Path)
		s := sighting{kind: kind, path: f.Path, file: f, gone: gone}
		if before, ok := known[f.Path]; ok {
			s.row, s.known = seenAs(before), true
		}
		all = append(all, s)
	}
	for _, f := range found.Files {
		add(f, false)
	}
	for _, file := range found.Gone {
		add(commitlog.File{Path: file}, true)
	}
	inOrderToTell(all)
	return all
}

// indexKnown indexes what local.db knew of the things that the sightings are of.
func indexKnown(known map[string]commitlog.File, all []sighting) map[store.Kind]*index {
	of := map[uuid.UUID]bool{}
	for _, s := range all {
		of[s.row.id], of[s.file.ID] = true, true
	}
	was := map[store.Kind]*index{store.KindNode: newIndex(format.Nodes), store.KindFlow: newIndex(format.Flows)}
	for _, file := range slices.Sorted(maps.Keys(known)) {
		f := known[file]
		kind, ours := kindOfFile(file)
		if !ours || !of[f.ID] {
			continue
		}
		x := was[thingOf(kind)]
		if inTree(file) == file {
			x.enroll(f)
		} else if f.Problem == "" {
			x.enrollTrash(f)
		}
	}
	return was
}

// takeClosed notes a file that changed, and the things that it held and holds, each the first time that it comes.
func (h *handling) takeClosed(s sighting, known map[string]commitlog.File, told map[store.Thing]bool) {
	if s.gone {
		h.changed.Gone = append(h.changed.Gone, s.path)
	} else {
		h.changed.Files = append(h.changed.Files, s.file)
	}
	now, _ := h.seen.get(s.path)
	adopted := !s.gone && now.hash == commitlog.Hash{} // The next rescan tells of it, as of every conflict.
	if adopted || h.behind[inTree(s.path)] || h.moves(s) {
		return
	}
	h.sightings = append(h.sightings, s)
	for _, id := range []uuid.UUID{s.row.id, s.file.ID} {
		of := store.Thing{Kind: s.of(), ID: id}
		if _, purged := h.indexOf(of.Kind).tombs[id]; purged || id == uuid.Nil || told[of] || h.pending.waits(of) {
			continue
		}
		told[of] = true
		before := h.was[of.Kind].held(id).standing()
		before.hash = known[before.path].Hash
		now := h.indexOf(of.Kind).held(id)
		h.order, h.before[of], h.things[of] = append(h.order, of), before, &now
	}
}
