package audit

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/flow"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store/format"
	"github.com/tsumugi-dev/tsumugi/services/internal/filesys"
)

// tree is what is known of the files of a namespace.
type tree struct {
	fsys    filesys.FS
	options Options
	// files by path, as they were when they were looked at last.
	files map[string]*file
	// nodes are the ids that files hold; trashed those that only files in the trash hold.
	nodes, trashed map[uuid.UUID]bool
	// flows are the ids that files hold outside of the trash.
	flows map[uuid.UUID]bool
	// purged says of what is gone for good when that was; tombs are the rows that say it.
	purged   map[thing]time.Time
	tombs    []format.Tombstone
	progress Progress
	// stamps are the times of files that may be on their way: if one changed, somebody works on it.
	stamps map[string]int64
	// reader reads files as config.yaml has it.
	reader format.Reader
}

// file is one with a name of ours.
type file struct {
	place
	path          string
	name          format.FileName
	size, modTime int64

	// What it was when it was read. ok: it holds something.
	read, ok bool
	id       uuid.UUID
	// sum is of the bytes of one in the trash: two versions of a node may be of one time and length.
	sum [sha256.Size]byte
	// time is when a node was made, or a flow last changed: the newest of an id counts.
	time time.Time
	// alone is what is wrong with it alone; nil where nothing is.
	alone *collector
	// missing are the members of a flow that no file held when it was read.
	missing []flow.Member
	links   []flow.Link
}

// row is the path as index.tsv has it.
func (f *file) row() string { return strings.TrimPrefix(f.path, f.folder+"/") }

// look looks at everything once. Files of the size and time that they had at the look before are not read again.
func (t *tree) look(ctx context.Context) (Report, error) {
	before := t.files
	t.files, t.nodes, t.trashed, t.progress = map[string]*file{}, map[uuid.UUID]bool{}, map[uuid.UUID]bool{}, Progress{}
	t.flows, t.stamps = map[uuid.UUID]bool{}, map[string]int64{}
	c := newCollector(t.options.Most)
	t.lookAtTombstones(c)
	t.reader = format.Reader{}
	t.lookAtTop(c)
	r := Report{tree: t}
	for _, p := range places {
		listed := t.list(c, p)
		if p.kind == format.Nodes {
			r.Nodes += len(listed)
		} else {
			r.Flows += len(listed)
		}
		if err := t.readAll(ctx, listed, before); err != nil {
			return Report{}, err
		}
		for _, f := range listed {
			t.files[f.path] = f
			t.note(f)
		}
	}
	for _, f := range t.sorted() {
		if f.alone != nil {
			c.addAll(f.alone)
		}
		if !f.trash { // What is in the trash holds nothing.
			t.lookForMembers(c, f)
			t.lookForLinks(c, f)
		}
	}
	t.lookForDuplicates(c)
	t.lookForTakenNames(c)
	t.lookForPurged(c)
	for _, p := range places {
		if !p.trash {
			t.lookAtIndex(c, p)
		}
	}
	slices.SortFunc(c.found, compare)
	r.Findings, r.More = c.found, c.more
	return r, nil
}

// note remembers which nodes and flows there are.
func (t *tree) note(f *file) {
	switch {
	case !f.ok:
	case f.kind == format.Flows:
		t.flows[f.id] = t.flows[f.id] || !f.trash
	case f.trash:
		t.trashed[f.id] = true
	default:
		t.nodes[f.id] = true
	}
}

// sorted gives the files in the order of the tree.
func (t *tree) sorted() []*file {
	return slices.SortedFunc(maps.Values(t.files), func(a, b *file) int {
		return cmp.Or(strings.Compare(a.folder, b.folder), a.name.Compare(b.name), strings.Compare(a.path, b.path))
	})
}

// list lists the files of a place and tells what else is there.
func (t *tree) list(c *collector, p place) (files []*file) {
	for _, folder := range t.entries(c, p.folder) {
		in := path.Join(p.folder, folder.Name)
		switch {
		case t.stray(c, in, folder):
		case !folder.Mode.IsDir():
			if in != p.index() || p.trash {
				c.add(wrongName(p, in))
			}
		case !p.holds(folder.Name):
			c.add(unknownFolder(in))
		default:
			files = append(files, t.listFolder(c, p, folder.Name)...)
		}
	}
	return files
}

func (t *tree) listFolder(c *collector, p place, folder string) (files []*file) {
	for _, e := range t.entries(c, path.Join(p.folder, folder)) {
		in := path.Join(p.folder, folder, e.Name)
		name, ours := p.kind.ParseName(folder + "/" + e.Name)
		switch {
		case t.stray(c, in, e):
		case e.Mode.IsDir():
			c.add(unknownFolder(in))
		case !ours:
			c.add(wrongName(p, in))
		default:
			files = append(files, &file{place: p, path: in, name: name, size: e.Size, modTime: e.ModTime})
		}
	}
	return files
}

// holds says whether a folder can hold files of ours by its name.
func (p place) holds(folder string) bool {
	_, ok := p.kind.ParseName(folder + "/" + path.Base(p.kind.SlotPath(0)))
	return ok
}

// entries lists a folder; that it cannot be is a finding, that it is not there is none.
func (t *tree) entries(c *collector, folder string) []filesys.Info {
	list, err := t.fsys.List(folder)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		c.add(cannotRead(folder, err))
	}
	return list
}

// stray deals with what is in no place of a file or folder of ours: leftovers and links are told, other names with a dot
// in front are nobody's business (field/flowstore.md row 3).
func (t *tree) stray(c *collector, in string, e filesys.Info) bool {
	hidden := strings.HasPrefix(e.Name, ".")
	switch {
	case hidden && strings.HasSuffix(e.Name, ".tmp") && e.Mode.IsRegular():
		f := finding(store.DamageTemporary, in, fmt.Sprintf("was about to take the place of %s when its process ended", strings.TrimSuffix(e.Name[1:], ".tmp")))
		c.add(f)
		t.stamps[in] = e.ModTime
	case hidden:
	case !e.Mode.IsDir() && !e.Mode.IsRegular():
		what := "neither a file nor a folder"
		if e.Mode&fs.ModeSymlink != 0 {
			what = "a symbolic link"
		}
		c.add(finding(store.DamageIrregular, in, "is "+what+", which flowstore does not follow"))
	default:
		return false
	}
	return true
}

// lookAtTop looks at what stands beside the folders of nodes and flows.
func (t *tree) lookAtTop(c *collector) {
	for _, e := range t.entries(c, ".") {
		switch {
		case strings.HasPrefix(e.Name, ".") && strings.HasSuffix(e.Name, ".tmp"):
			t.stray(c, e.Name, e)
		case e.Name == configName:
			t.lookAtConfig(c)
		}
	}
}

const configName = "config.yaml"

func (t *tree) lookAtConfig(c *collector) {
	data, err := t.fsys.ReadFile(configName, format.MaxFile)
	if err != nil {
		if !errors.Is(err, fs.ErrNotExist) {
			c.add(cannotRead(configName, err))
		}
		return
	}
	if err := format.CheckConfig(data); err != nil {
		c.add(damagedConfig(data, err))
	} else if config, err := format.DecodeConfig(data); err == nil {
		t.reader.Timezone = config.Settings.Timezone
	}
}
