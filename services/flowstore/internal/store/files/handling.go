package files

import (
	"fmt"
	"path"
	"slices"

	"github.com/google/uuid"
	"go.uber.org/zap"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store/files/commitlog"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store/format"
)

// handling is what hands did, about to be taken in: a transaction, and what the index will say. Nothing changes before publish.
type handling struct {
	*space
	sightings []sighting
	changed   commitlog.Changes
	// things are those that the files held or hold, as they will be; before is how they stood, order that of the first sighting.
	things map[store.Thing]*held
	before map[store.Thing]standing
	order  []store.Thing
	// files are how the files are now.
	files map[string]seenFile
	// was are the indexes that know how the files stood.
	was map[store.Kind]*index
	// names are those that are free behind the files, rows the kinds of which an index needs other rows.
	names map[format.Kind]*format.Names
	// behind are the files for which something is on its way.
	behind map[string]bool
	// compared says that all that is known was compared.
	compared bool
	rows     map[format.Kind]bool
	// doubled are things of the trash that are in the tree, too.
	doubled map[string]string
}

// where says where a thing is.
type where int

const (
	nowhere where = iota
	inFile
	unreadable
	inTheTrash
)

// standing is where a thing is, in which file.
type standing struct {
	where where
	path  string
	hash  commitlog.Hash
}

func newHandling(sp *space) *handling {
	nodes, flows := sp.nodes.names, sp.flows.names
	return &handling{
		space: sp, behind: sp.pending.behind(), things: map[store.Thing]*held{}, before: map[store.Thing]standing{}, files: map[string]seenFile{},
		rows: map[format.Kind]bool{}, doubled: map[string]string{}, was: map[store.Kind]*index{store.KindNode: sp.nodes, store.KindFlow: sp.flows},
		names: map[format.Kind]*format.Names{format.Nodes: &nodes, format.Flows: &flows},
	}
}

// take takes in one file.
func (h *handling) take(s sighting) {
	f := s.file
	if h.stillUnsettled(s) {
		return
	}
	s.why = f.Problem
	if tomb, purged := h.indexedBy(s.kind).tombs[f.ID]; purged && s.why == "" && !s.gone {
		s.why = tomb.cameBack()
	}
	h.sightings = append(h.sightings, s)
	h.files[s.path] = seenAs(f)
	var before *holding
	if s.row.id != uuid.Nil {
		before = h.leave(s)
	}
	switch {
	case s.gone:
		h.changed.Gone = append(h.changed.Gone, s.path)
	case f.Hash != (commitlog.Hash{}):
		h.changed.Files = append(h.changed.Files, f)
	}
	if !s.gone {
		h.takeSlot(s)
		h.enter(s, before)
		return
	}
	h.rows[s.kind] = h.rows[s.kind] || before != nil
}

// stillUnsettled says that a file still cannot be opened, or still has a double in the tree.
func (h *handling) stillUnsettled(s sighting) bool {
	if s.gone || s.row.size != unsettled || s.file.Hash != s.row.hash || s.file.ID != s.row.id {
		return false
	}
	if s.file.Hash == (commitlog.Hash{}) {
		return s.file.Problem == h.indexedBy(s.kind).broken[s.path]
	}
	return s.inTrash() && len(h.thing(store.Thing{Kind: s.of(), ID: s.row.id}).holdings) > 0
}

func (h *handling) takeSlot(s sighting) {
	x := h.indexedBy(s.kind)
	if name, ok := x.name(inTree(s.path)); ok {
		if slot, ok := x.step.Slot(name); ok {
			h.names[s.kind].Take(slot)
		}
	}
}

// leave takes a file from what it held, and gives what the index of the tree had of it.
func (h *handling) leave(s sighting) (was *holding) {
	t := h.thing(store.Thing{Kind: s.of(), ID: s.row.id})
	file := inTree(s.path)
	if s.inTrash() {
		t.dropped.holdings = slices.DeleteFunc(slices.Clone(t.dropped.holdings), func(one holding) bool { return one.path == file })
		return nil
	}
	if i := slices.IndexFunc(t.holdings, func(one holding) bool { return one.path == file }); i >= 0 {
		was = &t.holdings[i]
		t.holdings = slices.Delete(slices.Clone(t.holdings), i, i+1)
	}
	if t.lost == file {
		t.lost = ""
	}
	return was
}

// enter gives a file to what it holds, or held as long as it could be read.
func (h *handling) enter(s sighting, before *holding) {
	f, x := s.file, h.indexedBy(s.kind)
	now := holding{inTree(s.path), f.Time, f.Created}
	switch {
	case s.inTrash() && s.why == "":
		t := h.thing(store.Thing{Kind: s.of(), ID: f.ID})
		if len(t.dropped.holdings) == 0 && t.dropped.at.IsZero() {
			t.dropped.at = droppedAt(f)
		}
		t.dropped.holdings = x.sorted(append(slices.Clone(t.dropped.holdings), now))
	case s.inTrash():
	case s.why == "":
		t := h.thing(store.Thing{Kind: s.of(), ID: f.ID})
		t.holdings = x.sorted(append(slices.Clone(t.holdings), now))
		if before == nil || s.row.id != f.ID || !before.time.Equal(now.time) {
			h.rows[s.kind] = true
		}
	default:
		h.rows[s.kind] = h.rows[s.kind] || before != nil
		if f.ID != uuid.Nil && f.Problem != "" {
			h.thing(store.Thing{Kind: s.of(), ID: f.ID}).lost = s.path
		}
	}
}

// thing gives a thing as it will be.
func (h *handling) thing(of store.Thing) *held {
	if t := h.things[of]; t != nil {
		return t
	}
	t := h.indexOf(of.Kind).held(of.ID)
	h.things[of] = &t
	h.before[of] = h.stands(t, true)
	h.order = append(h.order, of)
	return &t
}

// stands says where a thing is; before says that the file is meant as it was.
func (h *handling) stands(t held, before bool) standing {
	s := t.standing()
	row, ok := h.seen.get(s.path)
	if now, changed := h.files[s.path]; changed && !before {
		row = now
	}
	if before && ok && row == (seenFile{size: unsettled, id: row.id}) && s.where == inFile {
		return standing{} // It was indexed in haste, and nobody was told.
	}
	s.hash = row.hash
	return s
}

// standing says where a thing is, without the hash of the file.
func (t held) standing() standing {
	switch {
	case len(t.holdings) > 0:
		return standing{where: inFile, path: t.holdings[0].path}
	case t.lost != "":
		return standing{where: unreadable, path: t.lost}
	case len(t.dropped.holdings) > 0:
		return standing{where: inTheTrash, path: trashPath(t.dropped.holdings[0].path)}
	}
	return standing{}
}

func (h *handling) nothing() bool { return len(h.sightings) == 0 && !h.compared }

// compare finds what the index has and no file holds, and gives the folders of files that it does not have.
func (h *handling) compare() (again []string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.compared = true
	indexed := map[string]uuid.UUID{}
	for _, kind := range []store.Kind{store.KindNode, store.KindFlow} {
		x := h.indexOf(kind)
		for id := range x.heads {
			for _, one := range x.holdings(id) {
				h.check(store.Thing{Kind: kind, ID: id}, one.path, one.path, indexed)
			}
		}
		for id, t := range x.trash {
			for _, one := range t.holdings {
				h.check(store.Thing{Kind: kind, ID: id}, one.path, trashPath(one.path), indexed)
			}
		}
	}
	for dir, files := range h.seen {
		for name, row := range files {
			file := path.Join(dir, name)
			kind, _ := kindOfFile(file)
			_, taken := h.files[file]
			if _, broken := h.indexedBy(kind).broken[file]; !taken && !broken && row.id != indexed[file] && !h.behind[inTree(file)] {
				h.unsettle(file)
				again = append(again, dir)
			}
		}
	}
	return again
}

// check has a thing looked at if no file holds it where it should be.
func (h *handling) check(of store.Thing, place, file string, indexed map[string]uuid.UUID) {
	if row, _ := h.seen.get(file); row.id != of.ID && !h.behind[place] {
		h.thing(of)
		return
	}
	indexed[file] = of.ID
}

// changes is the transaction.
func (h *handling) changes() commitlog.Changes {
	h.last = store.Later(h.last, h.clock())
	for _, of := range h.order {
		t := h.things[of]
		t.holdings = h.standing(of.ID, t.holdings, func(file string) string { return file })
		t.dropped.holdings = h.standing(of.ID, t.dropped.holdings, trashPath)
		if len(t.holdings) > 0 && len(t.dropped.holdings) > 0 {
			for _, one := range t.dropped.holdings {
				h.doubled[trashPath(one.path)] = fmt.Sprintf("it has the id %s, as %s has, which is in the tree and counts", of.ID, t.holdings[0].path)
			}
			t.dropped = trashed{}
		}
	}
	h.events()
	for kind := range h.rows {
		if h.rows[kind] {
			h.changed.Gone = append(h.changed.Gone, h.written.indexes[kind].path())
		}
	}
	h.changed.State = h.state()
	return h.changed
}

func (h *handling) state() *commitlog.State {
	return &commitlog.State{Last: h.last, NextNode: h.names[format.Nodes].Next(), NextFlow: h.names[format.Flows].Next()}
}

// standing leaves out what is in no file any more: hands may have come before a file of ours could move. place says where each
// should be.
func (h *handling) standing(id uuid.UUID, holdings []holding, place func(string) string) []holding {
	return slices.DeleteFunc(slices.Clone(holdings), func(one holding) bool {
		file := place(one.path)
		row, _ := h.seen.get(file)
		if now, changed := h.files[file]; changed {
			row = now
		}
		return row.id != id && !h.behind[one.path]
	})
}

// leftInTrash has the files in the trash looked at again whose doubles in the tree went away, and gives their folders. The caller
// holds mu.
func (h *handling) leftInTrash() (folders []string) {
	left := map[store.Thing]bool{}
	for _, of := range h.order {
		if t := h.things[of]; len(t.holdings)+len(t.dropped.holdings) == 0 {
			left[of] = true
		}
	}
	if len(left) == 0 {
		return nil
	}
	for dir, files := range h.seen {
		for name, row := range files {
			file := path.Join(dir, name)
			kind, _ := kindOfFile(file)
			if inTree(file) != file && left[store.Thing{Kind: thingOf(kind), ID: row.id}] {
				h.unsettle(file)
				folders = append(folders, dir)
			}
		}
	}
	return folders
}

// publish makes a durable transaction visible. again are folders that have to be looked into again.
func (h *handling) publish(c commitlog.Changes) (again []string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.nodes.names, h.flows.names = *h.names[format.Nodes], *h.names[format.Flows]
	h.warn(h.overtaken())
	for _, of := range h.order {
		h.indexOf(of.Kind).hold(of.ID, *h.things[of])
	}
	for _, s := range h.sightings {
		x := h.indexedBy(s.kind)
		if delete(x.broken, s.path); s.why != "" {
			x.broken[s.path] = s.why
			h.warn([]store.Problem{{Path: s.path, Reason: s.why}})
		}
		if s.settles() {
			h.notes = slices.DeleteFunc(h.notes, func(n note) bool { return n.standing && n.Path == s.path })
		}
		if !s.gone {
			h.seen.put(s.path, h.files[s.path])
		}
	}
	again = h.leftInTrash()
	for file, reason := range h.doubled {
		h.unsettle(file)
		h.noteFile(file, reason)
	}
	for kind, needed := range h.rows {
		if needed {
			h.written.indexes[kind].outdated.Store(true)
		}
	}
	h.happen(c.Events)
	h.wakeGate()
	gone := 0
	for _, s := range h.sightings {
		if s.gone {
			gone++
		}
	}
	if len(h.sightings) > 0 { // There are none where what is known was compared with itself.
		h.log.Info("hands changed files", zap.Int("new_or_changed", len(h.sightings)-gone), zap.Int("gone", gone))
	}
	return again
}
