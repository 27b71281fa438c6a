package files

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"go.uber.org/zap"
	"golang.org/x/sync/errgroup"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/flow"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store/files/commitlog"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store/format"
	"github.com/tsumugi-dev/tsumugi/services/internal/filesys"
)

// scan finds out what the tree holds. A file of the size and time that local.db remembers is not opened; others are read.
// It gives the files by path, and what local.db is to remember of them, and changes nothing. dropped says since when things are
// in the trash, listed what the folders hold.
func (sp *space) scan(
	listed listing, known map[string]commitlog.File, dropped map[store.Thing]time.Time,
) (found map[string]commitlog.File, c commitlog.Changes, err error) {
	found = make(map[string]commitlog.File, len(known))
	for _, kind := range []format.Kind{format.Nodes, format.Flows} {
		files, read, err := sp.scanKind(kind, listed, known, &c)
		if err != nil {
			return nil, c, err
		}
		trash, readTrash, err := sp.scanTrash(kind, listed, known, dropped, &c)
		if err != nil {
			return nil, c, err
		}
		for _, f := range slices.Concat(files, trash) {
			found[f.Path] = f
			sp.seen.put(f.Path, seenAs(f))
		}
		gone := 0
		for file := range known {
			if _, ours := sp.indexedBy(kind).name(inTree(file)); ours && found[file].Path == "" {
				c.Gone = append(c.Gone, file)
				gone++
			}
		}
		if read+readTrash+gone > 0 {
			sp.log.Info("files changed while the store was closed",
				zap.String("kind", string(kind)), zap.Int("new_or_changed", read+readTrash), zap.Int("gone", gone))
		}
		if err := sp.findIndex(kind, known, read+gone == 0); err != nil {
			return nil, c, err
		}
	}
	slices.Sort(c.Gone)
	return found, c, nil
}

// inTree is where a file of the trash came from, or the path itself.
func inTree(file string) string { return strings.TrimPrefix(file, trashFolder+"/") }

// scanKind indexes the files of one kind, and says how many of them had to be read.
func (sp *space) scanKind(
	kind format.Kind, listed listing, known map[string]commitlog.File, c *commitlog.Changes,
) (files []commitlog.File, read int, err error) {
	files, read, err = sp.describeAll(kind, listed[string(kind)], known, c)
	for _, f := range files {
		sp.indexedBy(kind).enroll(f)
	}
	return files, read, err
}

// scanTrash indexes what of one kind is in the trash. What nobody remembers was dropped when its file was written.
func (sp *space) scanTrash(
	kind format.Kind, listed listing, known map[string]commitlog.File, dropped map[store.Thing]time.Time, c *commitlog.Changes,
) (files []commitlog.File, read int, err error) {
	files, read, err = sp.describeAll(kind, listed[trashPath(string(kind))], known, c)
	x := sp.indexedBy(kind)
	for _, f := range files {
		x.take(inTree(f.Path))
		if f.Problem != "" {
			x.broken[f.Path] = f.Problem
			continue
		}
		if t, purged := x.tombs[f.ID]; purged {
			x.broken[f.Path] = t.cameBack()
			continue
		}
		t := x.enrollTrash(f)
		if t.at = dropped[store.Thing{Kind: thingOf(kind), ID: f.ID}]; t.at.IsZero() {
			t.at = droppedAt(f)
		}
		x.trash[f.ID] = t
	}
	return files, read, err
}

// thingOf says what a file of a kind holds.
func thingOf(kind format.Kind) store.Kind {
	if kind == format.Nodes {
		return store.KindNode
	}
	return store.KindFlow
}

// kindOf says which files hold a kind of thing.
func kindOf(kind store.Kind) format.Kind {
	if kind == store.KindNode {
		return format.Nodes
	}
	return format.Flows
}

// stayOut leaves out of the trash what is in the tree, too, as after a checkout: it is not deleted.
func (sp *space) stayOut(x *index) {
	for id, t := range x.trash {
		if head, there := x.heads[id]; there {
			delete(x.trash, id)
			for _, one := range t.holdings {
				sp.unsettle(trashPath(one.path))
			}
			sp.keep(note{store.Problem{
				Path: trashPath(t.holdings[0].path), Reason: fmt.Sprintf("it has the id %s, as %s has, which is in the tree and counts", id, head.path),
			}, true})
		}
	}
}

// enroll indexes a file.
func (x *index) enroll(f commitlog.File) {
	if f.Problem != "" {
		x.take(f.Path)
		x.broken[f.Path] = f.Problem
		if f.ID != uuid.Nil {
			x.lost[f.ID] = f.Path
		}
		return
	}
	x.put(f.ID, holding{f.Path, f.Time, f.Created})
}

// enrollTrash indexes a file of the trash.
func (x *index) enrollTrash(f commitlog.File) trashed {
	t := x.trash[f.ID]
	t.holdings = x.sorted(append(t.holdings, holding{inTree(f.Path), f.Time, f.Created}))
	x.trash[f.ID] = t
	return t
}

// findIndex decides whether index.tsv is as it was left, and right.
func (sp *space) findIndex(kind format.Kind, known map[string]commitlog.File, unchanged bool) error {
	x := sp.written.indexes[kind]
	info, err := sp.tree.Stat(x.path())
	if errors.Is(err, fs.ErrNotExist) {
		indexed := sp.indexedBy(kind)
		x.absent = len(indexed.heads)+len(indexed.broken) == 0
		x.found(x.absent, 0)
		return nil
	}
	if err != nil {
		return err
	}
	x.left(commitlog.File{Size: info.Size, ModTime: info.ModTime})
	k, ok := known[x.path()]
	x.found(ok && unchanged && k.Size == info.Size && k.ModTime == info.ModTime, info.Size)
	return nil
}

// describeAll describes the files of one kind that were listed. Those that had to be read are added to the changes of local.db
// and counted.
func (sp *space) describeAll(
	kind format.Kind, all []commitlog.File, known map[string]commitlog.File, c *commitlog.Changes,
) (files []commitlog.File, read int, err error) {
	var unknown []*commitlog.File
	for i := range all {
		if k, ok := known[all[i].Path]; ok && k.Size == all[i].Size && k.ModTime == all[i].ModTime {
			all[i] = k
			continue
		}
		all[i].ID = known[all[i].Path].ID
		unknown = append(unknown, &all[i])
	}
	members, err := sp.readAll(kind, unknown)
	if err != nil {
		return nil, 0, err
	}
	c.Members = append(c.Members, members...)
	for _, f := range unknown {
		if f.Hash != (commitlog.Hash{}) {
			c.Files = append(c.Files, *f)
			read++
		}
	}
	return slices.DeleteFunc(all, func(f commitlog.File) bool { return f.Path == "" }), read, nil
}

// listing is what the folders of kindFolders hold, each in the order of the tree.
type listing map[string][]commitlog.File

// listAll lists all of them.
func (sp *space) listAll() (listing, error) {
	all := listing{}
	for _, dir := range kindFolders {
		files, err := sp.listKind(dir)
		if err != nil {
			return nil, err
		}
		all[dir] = files
	}
	return all, nil
}

// listKind lists the files in the folders of one, with size and time: several folders at once, since a cold disk answers
// slowly, but many at a time. What has another name than ours is left alone, and counted.
func (sp *space) listKind(dir string) ([]commitlog.File, error) {
	folders, err := sp.listed(dir)
	if err != nil {
		return nil, err
	}
	kind := format.Kind(path.Base(dir))
	lists, ignored := make([][]named, len(folders)), atomic.Int64{}
	var group errgroup.Group
	group.SetLimit(readers)
	for i, folder := range folders {
		if !folder.Mode.IsDir() {
			continue
		}
		group.Go(func() error {
			ours, others, err := sp.listFolder(kind, path.Join(dir, folder.Name))
			lists[i] = ours
			ignored.Add(int64(others))
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	if n := ignored.Load(); n > 0 {
		sp.log.Info("files with other names than ours are left alone", zap.String("kind", string(kind)), zap.Int64("files", n))
	}
	return inOrder(slices.Concat(lists...)), nil
}

// listed lists a folder; one that is not there is empty.
func (sp *space) listed(dir string) ([]filesys.Info, error) {
	entries, err := sp.tree.List(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return entries, err
}

// listFolder lists the files of one kind in a folder, and counts what else is there.
func (sp *space) listFolder(kind format.Kind, dir string) (list []named, others int, err error) {
	entries, err := sp.listed(dir)
	for _, e := range entries {
		name, ours := kind.ParseName(path.Base(dir) + "/" + e.Name)
		if !ours || !e.Mode.IsRegular() {
			others++
			continue
		}
		list = append(list, named{name, commitlog.File{Path: path.Join(dir, e.Name), Size: e.Size, ModTime: e.ModTime}})
	}
	return list, others, err
}

type named struct {
	name format.FileName
	file commitlog.File
}

func inOrder(list []named) []commitlog.File {
	slices.SortFunc(list, func(a, b named) int {
		return cmp.Or(a.name.Compare(b.name), cmp.Compare(a.file.Path, b.file.Path))
	})
	files := make([]commitlog.File, len(list))
	for i, n := range list {
		files[i] = n.file
	}
	return files
}

// readers is how many files are read at once: a cold disk answers slowly, but many at a time.
const readers = 16

// readAll reads files and notes what they hold, or why they cannot be read. It says which nodes the flows hold.
func (sp *space) readAll(kind format.Kind, files []*commitlog.File) ([]commitlog.Membership, error) {
	var next atomic.Int64
	var group errgroup.Group
	members := make([][]commitlog.Membership, min(readers, len(files)))
	for reader := range members {
		group.Go(func() error {
			for i := int(next.Add(1)) - 1; i < len(files); i = int(next.Add(1)) - 1 {
				held, err := sp.examine(kind, files[i])
				if err != nil {
					return err
				}
				members[reader] = append(members[reader], held...)
			}
			return nil
		})
	}
	err := group.Wait()
	return slices.Concat(members...), err
}

// examine reads one file. A disk error is an error; whatever is wrong with the file itself is its Problem, and its ID stays
// what it held before. A file that may not be read has no Hash, and is not remembered: a permission changes without
// changing the file. One that went away meanwhile has no Path.
func (sp *space) examine(kind format.Kind, f *commitlog.File) ([]commitlog.Membership, error) {
	data, err := sp.tree.ReadFile(f.Path, format.MaxFile)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		f.Path = ""
		return nil, nil
	case errors.Is(err, filesys.ErrTooLarge), errors.Is(err, fs.ErrPermission):
		f.Problem = err.Error()
		return nil, nil
	case err != nil:
		return nil, err
	}
	f.Hash = commitlog.HashOf(data)
	id, h, members, err := sp.identify(kind, f.Path, data)
	if err == nil {
		f.ID, f.Time, f.Created = id, h.time, h.created
	} else {
		f.Problem = err.Error()
	}
	return members, nil
}

// describeNow describes a file of a kind as it is, and what it holds.
func (sp *space) describeNow(kind format.Kind, file string) (commitlog.File, error) {
	info, err := sp.tree.Stat(file)
	if err != nil {
		return commitlog.File{}, err
	}
	f := commitlog.File{Path: file, Size: info.Size, ModTime: info.ModTime}
	_, err = sp.examine(kind, &f)
	return f, err
}

// identify says what a file holds, since when, and which nodes are in it, if it is a flow.
func (sp *space) identify(kind format.Kind, file string, data []byte) (uuid.UUID, holding, []commitlog.Membership, error) {
	if kind == format.Nodes {
		id, created, err := sp.reader.NodeHead(data)
		return id, holdsNode(file, created), nil, err
	}
	f, err := sp.reader.DecodeFlow(data)
	return f.ID, holdsFlow(file, f), membersOf(f.ID, f.Members), err
}

// membersOf says which nodes a flow holds.
func membersOf(id uuid.UUID, members []flow.Member) []commitlog.Membership {
	list := make([]commitlog.Membership, len(members))
	for i, m := range members {
		list[i] = commitlog.Membership{Node: m.Node, Flow: id}
	}
	return list
}
