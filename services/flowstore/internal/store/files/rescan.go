package files

import (
	"cmp"
	"context"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store/files/commitlog"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store/format"
)

// A rescan finds what hands did to the tree while the store runs: it lists folders, reads what is not as it was seen last, and
// has the writer take it in. A file for which something is on its way to the tree is left to the gate, which keeps both
// versions; it is looked at again when that is done.

// sighting is a file that is not as it was seen last.
type sighting struct {
	kind format.Kind
	path string
	// row is how it was seen last; known is false for a new one.
	row   seenFile
	known bool
	// file is what it is now.
	file commitlog.File
	gone bool
	// why says why it does not count; empty where it does.
	why string
}

func (s sighting) of() store.Kind { return thingOf(s.kind) }

func (s sighting) inTrash() bool { return inTree(s.path) != s.path }

// settles says that a problem of the file that stood there has ended: it is gone, a hand changed it since it was looked at, or it was looked at again
// and counts now.
func (s sighting) settles() bool {
	changed := s.row.hash != s.file.Hash
	return s.gone || s.known && changed == (s.row.size != unsettled)
}

// maxSightings is how many files are taken in at once: the writer serves callers in between.
const maxSightings = 10_000

// rescan looks for changes in folders; nil is all of them. again are those that have to be looked at again.
func (sp *space) rescan(ctx context.Context, folders []string) (again []string, err error) {
	if err := sp.lookAtTombs(ctx); err != nil {
		return nil, err
	}
	leaves, err := sp.leaves(folders)
	if err != nil {
		return nil, err
	}
	var all []sighting
	for _, dir := range leaves {
		seen, err := sp.sight(dir)
		if err != nil {
			return nil, err
		}
		all = append(all, seen...)
	}
	members, err := sp.readSighted(all)
	if err != nil {
		return nil, err
	}
	if len(all) == 0 && sp.doubt.Load() {
		err = sp.ask(ctx, func() (err error) {
			again, err = sp.takeIn(nil, nil)
			return err
		})
	}
	inOrderToTell(all)
	for some := range slices.Chunk(all, maxSightings) {
		err := sp.ask(ctx, func() error {
			later, err := sp.takeIn(some, members)
			again = append(again, later...)
			return err
		})
		if err != nil {
			return again, err
		}
		members = nil
	}
	return again, err
}

// inOrderToTell puts what is new before what is gone, so that a file that only has another name does not seem to go away.
func inOrderToTell(all []sighting) {
	slices.SortStableFunc(all, func(a, b sighting) int {
		return cmp.Or(boolCompare(a.inTrash(), b.inTrash()), boolCompare(a.gone, b.gone))
	})
}

func boolCompare(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
}

// kindFolders are the folders whose folders hold files.
var kindFolders = []string{
	string(format.Nodes), string(format.Flows),
	path.Join(trashFolder, string(format.Nodes)), path.Join(trashFolder, string(format.Flows)),
}

// leaves gives the folders of files among folders: those in which names changed, and of others those that are new or went away.
// Each is watched before it is looked into.
func (sp *space) leaves(folders []string) ([]string, error) {
	all := folders == nil
	if all {
		folders = []string{"."}
	}
	var leaves []string
	for _, dir := range folders {
		if slices.Contains(kindFolders, path.Dir(dir)) {
			leaves = append(leaves, dir)
			continue
		}
		for _, kind := range kindFolders {
			if dir != "." && dir != kind && path.Dir(kind) != dir {
				continue
			}
			below, err := sp.below(kind, all)
			if err != nil {
				return nil, err
			}
			leaves = append(leaves, below...)
		}
	}
	slices.Sort(leaves)
	return slices.Compact(leaves), nil
}

// below gives the folders in one; without all, those that are new or went away. The index beside them may have changed.
func (sp *space) below(kind string, all bool) (dirs []string, err error) {
	for dir := range parents(kind + "/") {
		sp.watchIn(dir)
	}
	sp.watchIn(".")
	if x := sp.written.indexes[format.Kind(kind)]; x != nil {
		x.look.Store(true)
		sp.wakeGate()
	}
	entries, err := sp.listed(kind)
	if err != nil {
		return nil, err
	}
	there := map[string]bool{}
	for _, e := range entries {
		if e.Mode.IsDir() {
			dir := path.Join(kind, e.Name)
			there[dir] = true
			if isNew := sp.watchIn(dir); all || isNew {
				dirs = append(dirs, dir)
			}
		}
	}
	sp.mu.RLock()
	defer sp.mu.RUnlock()
	for dir := range sp.seen {
		if path.Dir(dir) == kind && !there[dir] {
			dirs = append(dirs, dir)
			delete(sp.watched, dir)
		}
	}
	return dirs, nil
}

// sight compares a folder with how it was seen before it is listed: what comes behind that, as from the gate, is not in the list, and
// was not taken away. The writer takes in what is still as it was compared here.
func (sp *space) sight(dir string) (list []sighting, err error) {
	kind := format.Kind(path.Base(path.Dir(dir)))
	sp.mu.RLock()
	seen := maps.Clone(sp.seen[dir])
	sp.mu.RUnlock()
	files, _, err := sp.listFolder(kind, dir)
	if err != nil {
		return nil, err
	}
	there := make(map[string]bool, len(files))
	for _, f := range inOrder(files) {
		there[path.Base(f.Path)] = true
		row, known := seen[path.Base(f.Path)]
		if known && row.size == f.Size && row.modTime == f.ModTime {
			continue
		}
		f.ID = row.id
		list = append(list, sighting{kind: kind, path: f.Path, row: row, known: known, file: f})
	}
	for name, row := range seen {
		if !there[name] {
			file := path.Join(dir, name)
			list = append(list, sighting{kind: kind, path: file, row: row, known: true, gone: true, file: commitlog.File{Path: file}})
		}
	}
	slices.SortStableFunc(list, func(a, b sighting) int {
		return cmp.Or(boolCompare(a.gone, b.gone), strings.Compare(a.path, b.path))
	})
	return list, nil
}

// readSighted reads files that changed, and says which nodes the flows among them hold.
func (sp *space) readSighted(all []sighting) (members []commitlog.Membership, err error) {
	for _, kind := range []format.Kind{format.Nodes, format.Flows} {
		var files []*commitlog.File
		for i := range all {
			if all[i].kind == kind && !all[i].gone {
				files = append(files, &all[i].file)
			}
		}
		held, err := sp.readAll(kind, files)
		if err != nil {
			return nil, err
		}
		members = append(members, held...)
	}
	for i := range all {
		all[i].gone = all[i].gone || all[i].file.Path == "" // It went away meanwhile.
	}
	return members, nil
}

// takeIn makes what was sighted known, and tells it. again are the folders of files that are on their way. On the writer.
func (sp *space) takeIn(sightings []sighting, members []commitlog.Membership) (again []string, err error) {
	if err := sp.brokenError(); err != nil && !sp.copied { // A copy takes in what it cannot keep.
		return nil, err
	}
	h := newHandling(sp)
	for _, s := range sightings {
		row, known := sp.seen.get(s.path)
		if h.behind[inTree(s.path)] || sp.moves(s) || row != s.row || known != s.known {
			again = append(again, path.Dir(s.path))
			continue
		}
		h.take(s)
	}
	if sp.doubt.Swap(false) {
		again = append(again, h.compare()...)
	}
	if h.nothing() {
		return again, nil
	}
	c := h.changes()
	c.Members = members
	if err := sp.apply(c); err != nil {
		return again, err
	}
	return append(again, h.publish(c)...), nil
}

// moves says that what a file holds, or held, is on its way to the trash or back: where it belongs is known when it is there.
func (sp *space) moves(s sighting) bool {
	return sp.pending.moves[store.Thing{Kind: s.of(), ID: s.file.ID}] != nil || sp.pending.moves[store.Thing{Kind: s.of(), ID: s.row.id}] != nil
}
