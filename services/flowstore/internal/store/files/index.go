package files

import (
	"cmp"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/flow"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store/format"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store/newest"
)

// index knows which files hold what, of one kind. A UUID may stand in several files (seed 004, 4.4): the newest counts, of
// equally new ones the last in the order of the tree (field/flowstore.md row 13).
type index struct {
	kind format.Kind
	// step is how folders grow; it is set before anything is indexed.
	step  format.Step
	heads map[uuid.UUID]holding
	// others are the files behind the head, best first.
	others map[uuid.UUID][]holding
	// broken are files that cannot be read, with the reason. Their slots are taken.
	broken map[string]string
	// lost are the broken files by what they held when they could be read last: whoever asks for it is told of the file.
	lost map[uuid.UUID]string
	// trash holds what is in the trash, or on its way.
	trash map[uuid.UUID]trashed
	// tombs say what was purged.
	tombs map[uuid.UUID]tomb
	// listed holds every id of heads and lost in the order of lists, trashed those of trash; nil until sortList.
	listed, trashed *newest.List
	// changed is told of every id whose files are others now; nil for nobody.
	changed func(id uuid.UUID)
	// names are those that were never used. Only the writer asks for them.
	names format.Names
}

// holding is a file that holds something.
type holding struct {
	// path begins with the kind's folder.
	path string
	// time is when it was made (a node) or last changed (a flow): the newest counts.
	time time.Time
	// created is when it was made.
	created time.Time
}

// trashed is something in the trash: the files as they stood in the tree.
type trashed struct {
	at       time.Time
	holdings []holding
}

func holdsNode(path string, created time.Time) holding { return holding{path, created, created} }

func holdsFlow(path string, f flow.Flow) holding { return holding{path, f.Updated, f.Created} }

func newIndex(kind format.Kind) *index {
	return &index{
		kind: kind, step: format.DefaultStep, heads: map[uuid.UUID]holding{}, others: map[uuid.UUID][]holding{}, broken: map[string]string{}, lost: map[uuid.UUID]string{},
		trash: map[uuid.UUID]trashed{}, tombs: map[uuid.UUID]tomb{}, names: format.NewNames(0),
	}
}

// slotPath is where the n-th file goes.
func (x *index) slotPath(n int) string { return path.Join(string(x.kind), x.step.SlotPath(x.kind, n)) }

// name takes a path apart; ok is false where it is no name of this kind.
func (x *index) name(file string) (format.FileName, bool) {
	rest, ok := strings.CutPrefix(file, string(x.kind)+"/")
	if !ok {
		return format.FileName{}, false
	}
	return x.kind.ParseName(rest)
}

// trashPath is where a file goes from its place in the tree.
func trashPath(file string) string { return path.Join(trashFolder, file) }

const trashFolder = "trash"

// take notes that a path is in use, so that its slot is never given to something new.
func (x *index) take(file string) {
	if name, ok := x.name(file); ok {
		if slot, ok := x.step.Slot(name); ok {
			x.names.Take(slot)
		}
	}
}

// put notes that a file holds id, in place of what was noted of this file and id. What was purged does not come back.
func (x *index) put(id uuid.UUID, h holding) {
	x.take(h.path)
	if t, purged := x.tombs[id]; purged {
		x.broken[h.path] = t.cameBack()
		return
	}
	all := append(x.without(id, h.path), h)
	slices.SortStableFunc(all, x.compare)
	x.set(id, all)
}

// replace notes that another file holds id in place of one. What is in the trash stays there, and what was purged away.
func (x *index) replace(id uuid.UUID, file string, h holding) {
	if _, purged := x.tombs[id]; purged {
		x.take(h.path)
		return
	}
	t, dropped := x.trash[id]
	if !dropped {
		x.set(id, x.without(id, file))
		x.put(id, h)
		return
	}
	x.take(h.path)
	t.holdings = slices.DeleteFunc(slices.Clone(t.holdings), func(h holding) bool { return h.path == file })
	t.holdings = x.sorted(append(t.holdings, h))
	x.trash[id] = t
}

// drop notes that all files with id belong into the trash.
func (x *index) drop(id uuid.UUID, at time.Time) {
	before := x.trash[id]
	t := trashed{at, x.sorted(slices.Concat(x.holdings(id), before.holdings))}
	x.set(id, nil)
	x.trash[id] = t
	if x.trashed != nil {
		x.trashed.Drop(store.Entry{Created: before.at, ID: id})
		x.trashed.Put(store.Entry{Created: at, ID: id})
	}
}

// restore notes that all files with id belong into the tree.
func (x *index) restore(id uuid.UUID) {
	t := x.trash[id]
	delete(x.trash, id)
	x.set(id, x.sorted(slices.Concat(x.holdings(id), t.holdings)))
	if x.trashed != nil {
		x.trashed.Drop(store.Entry{Created: t.at, ID: id})
	}
}

// sorted gives holdings best first, each file once.
func (x *index) sorted(all []holding) []holding {
	slices.SortStableFunc(all, x.compare)
	return slices.CompactFunc(all, func(a, b holding) bool { return a.path == b.path })
}

// places are where the files of something stand or belong, as if they were in the tree, best first.
func (x *index) places(id uuid.UUID) (files []string) {
	for _, h := range x.sorted(slices.Concat(x.holdings(id), x.trash[id].holdings)) {
		files = append(files, h.path)
	}
	return files
}

// place is where the file of something stands or belongs, as if it were in the tree; ok is false where there is nothing.
func (x *index) place(id uuid.UUID) (file string, ok bool) {
	if t, dropped := x.trash[id]; dropped && len(t.holdings) > 0 {
		return t.holdings[0].path, true
	}
	return x.path(id)
}

func (x *index) set(id uuid.UUID, all []holding) {
	before, wasListed := x.entry(id)
	defer func() { x.relist(id, before, wasListed) }()
	if x.changed != nil {
		defer x.changed(id)
	}
	delete(x.heads, id)
	delete(x.others, id)
	if len(all) > 0 {
		x.heads[id] = all[0]
	}
	if len(all) > 1 {
		x.others[id] = all[1:]
	}
}

// entry is the place of id in lists; what cannot be read stands at the end. ok is false where there is nothing.
func (x *index) entry(id uuid.UUID) (e store.Entry, ok bool) {
	if h, ok := x.heads[id]; ok {
		return store.Entry{Created: h.created, ID: id}, true
	}
	_, ok = x.lost[id]
	return store.Entry{ID: id}, ok
}

// relist puts id where it belongs now.
func (x *index) relist(id uuid.UUID, before store.Entry, wasListed bool) {
	after, isListed := x.entry(id)
	if x.listed == nil || wasListed == isListed && before == after {
		return
	}
	if wasListed {
		x.listed.Drop(before)
	}
	if isListed {
		x.listed.Put(after)
	}
}

// sortList makes the lists of all that was found when the namespace was opened: once, since the files come in any order.
func (x *index) sortList() {
	all := make([]store.Entry, 0, len(x.heads)+len(x.lost))
	for id := range x.heads {
		e, _ := x.entry(id)
		all = append(all, e)
	}
	for id := range x.lost {
		if _, readable := x.heads[id]; !readable {
			all = append(all, store.Entry{ID: id})
		}
	}
	x.listed = newest.Of(all)
	dropped := make([]store.Entry, 0, len(x.trash))
	for id, t := range x.trash {
		dropped = append(dropped, store.Entry{Created: t.at, ID: id})
	}
	x.trashed = newest.Of(dropped)
}

// holdings are the files that hold id, best first.
func (x *index) holdings(id uuid.UUID) []holding {
	head, ok := x.heads[id]
	if !ok {
		return nil
	}
	return append([]holding{head}, x.others[id]...)
}

func (x *index) without(id uuid.UUID, file string) []holding {
	return slices.DeleteFunc(x.holdings(id), func(h holding) bool { return h.path == file })
}

// compare orders the better file first.
func (x *index) compare(a, b holding) int {
	if c := b.time.Compare(a.time); c != 0 {
		return c
	}
	nameA, _ := x.name(a.path)
	nameB, _ := x.name(b.path)
	return nameB.Compare(nameA)
}

// problems lists broken files and those that stand behind another one.
func (x *index) problems() []store.Problem {
	var list []store.Problem
	for _, file := range slices.Sorted(maps.Keys(x.broken)) {
		list = append(list, store.Problem{Path: file, Reason: x.broken[file]})
	}
	for id, others := range x.others {
		head := x.heads[id]
		for _, h := range others {
			list = append(list, h.behind(id, head))
		}
	}
	return list
}

// behind tells of a file that stands behind another one with its id.
func (h holding) behind(id uuid.UUID, head holding) store.Problem {
	better := "is newer"
	if h.time.Equal(head.time) {
		better = "has the same time, a later name"
	}
	return store.Problem{Path: h.path, Reason: fmt.Sprintf("it has the id %s, as %s has, which %s and counts", id, head.path, better)}
}

// row is a line of index.tsv with its place in the tree.
type row struct {
	format.Row
	name format.FileName
}

func (x *index) row(id uuid.UUID, h holding) row {
	name, _ := x.name(h.path)
	return row{format.Row{Path: strings.TrimPrefix(h.path, string(x.kind)+"/"), ID: id, Time: h.time}, name}
}

// rows are the lines of the kind's index.tsv, in the order of the tree, without those that skip names.
func (x *index) rows(skip func(id uuid.UUID, file string) bool) []row {
	rows := make([]row, 0, len(x.heads))
	for id := range x.heads {
		for _, h := range x.holdings(id) {
			if !skip(id, h.path) {
				rows = append(rows, x.row(id, h))
			}
		}
	}
	slices.SortFunc(rows, func(a, b row) int {
		return cmp.Or(a.name.Compare(b.name), strings.Compare(a.Path, b.Path))
	})
	return rows
}
