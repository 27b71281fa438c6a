package command

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/adapter/git"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/flow"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store/format"
	"github.com/tsumugi-dev/tsumugi/services/internal/filesys"
)

var kinds = []format.Kind{format.Nodes, format.Flows}

// plan is what resolve is about to do.
type plan struct {
	tree filesys.FS
	// change is what git has stopped in, and taken what it has of it so far.
	change git.Change
	taken  git.Index
	// held are the node and flow files as they will be, by path, those in the trash too. Of those in conflict nothing is known
	// before they are decided.
	held map[string]heldFile
	// names are the paths that files have, also those that hold nothing.
	names map[string]bool
	// found are the files that were there, by their bytes, those in the trash apart.
	found map[sum]string
	// purged are the things that are gone for good.
	purged map[thing]bool
	// lifted are the things that are so no more: commits around have the row that says it, and the tree has not.
	lifted []lifted
	// added are the nodes that a side put into flows which were purged.
	added []addition
	// merged are the things of which both sides are in one file.
	merged map[thing]bool
	// used are the slots that are taken; what is in the trash has slots of the tree. slots are those that are left, made when the first is needed.
	used  map[format.Kind][]int
	slots map[format.Kind]*format.Names
	// writes come in this order; removes go behind them.
	writes  []treeFile
	removes []string
	// conflicts are the paths that git has in conflict.
	conflicts map[string]bool
	// changed are other paths for git to take as they are.
	changed []string
	// told and undecided are lines for the person, each beginning with a path.
	told, undecided []string
	// holes are such lines about nodes that flows hold and that are in no file.
	holes []string
	// left are the paths of what is undecided.
	left map[string]bool
}

type treeFile struct {
	path string
	data []byte
}

// heldFile is what a file holds, and a sum of its bytes.
type heldFile struct {
	thing
	time time.Time
	sum  [32]byte
	// members are the nodes of a flow.
	members []flow.Member
}

// thing is a node or flow: both may have the same id.
type thing struct {
	kind format.Kind
	id   uuid.UUID
}

// sum is of the bytes of a file, in the tree or in the trash.
type sum struct {
	bytes [32]byte
	trash bool
}

// newPlan looks at the tree: what its files hold, and which slots are free.
func newPlan(tree filesys.FS, change git.Change, conflicts []git.Conflict) (*plan, error) {
	p := &plan{
		tree: tree, change: change, held: map[string]heldFile{}, names: map[string]bool{}, found: map[sum]string{}, used: map[format.Kind][]int{}, slots: map[format.Kind]*format.Names{},
		purged: map[thing]bool{}, merged: map[thing]bool{}, left: map[string]bool{}, conflicts: map[string]bool{},
	}
	if err := p.surveyPurged(); err != nil {
		return nil, err
	}
	for _, kind := range kinds {
		if err := p.survey(kind); err != nil {
			return nil, err
		}
	}
	for _, c := range conflicts {
		delete(p.held, c.Path)
		p.conflicts[c.Path] = true
		if kind, name, ok := slotOf(c.Path); ok {
			p.take(kind, name)
		}
	}
	for _, name := range slices.Backward(slices.Sorted(maps.Keys(p.held))) {
		p.found[sum{p.held[name].sum, inTrash(name)}] = name
	}
	return p, nil
}

// survey reads the files of a kind. Names in the trash and in the index are taken, too: a file that was removed does not make
// its slot free.
func (p *plan) survey(kind format.Kind) error {
	for _, folder := range []string{string(kind), trashPath(string(kind))} {
		if err := p.each(kind, folder); err != nil {
			return err
		}
	}
	index, err := p.tree.ReadFile(indexPath(kind), maxIndex)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s: %w", indexPath(kind), err)
	}
	rows, _ := kind.ReadIndex(index)
	for _, r := range rows {
		if name, ok := kind.ParseName(r.Path); ok {
			p.take(kind, name)
		}
	}
	return nil
}

// surveyPurged reads the tombstones: what was purged takes its slot along, and does not come back.
func (p *plan) surveyPurged() error {
	data, err := p.tree.ReadFile(tombstonesName, format.MaxMetadata)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s: %w", tombstonesName, err)
	}
	rows, _ := format.ReadTombstones(data)
	for _, r := range rows {
		p.purged[thing{r.Kind, r.ID}] = true
		if name, ok := r.Kind.ParseName(r.Path); ok {
			p.take(r.Kind, name)
		}
	}
	return nil
}

// each looks at the files of a kind below a folder, and takes their slots.
func (p *plan) each(kind format.Kind, dir string) error {
	folders, err := p.tree.List(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for _, folder := range folders {
		if !folder.Mode.IsDir() {
			continue
		}
		entries, err := p.tree.List(path.Join(dir, folder.Name))
		if err != nil {
			return err
		}
		for _, e := range entries {
			name, ours := kind.ParseName(folder.Name + "/" + e.Name)
			if !ours || !e.Mode.IsRegular() {
				continue
			}
			p.take(kind, name)
			file := path.Join(dir, folder.Name, e.Name)
			p.names[file] = true
			if err := p.look(kind, file); err != nil {
				return err
			}
		}
	}
	return nil
}

// maxIndex is the largest index.tsv that is read, in bytes: every slot three times.
const maxIndex = 256 << 20

func indexPath(kind format.Kind) string { return path.Join(string(kind), "index.tsv") }

func (p *plan) take(kind format.Kind, name format.FileName) {
	if n, ok := name.Slot(); ok {
		p.used[kind] = append(p.used[kind], n)
	}
}

// look notes what a file holds. One that cannot be read holds nothing.
func (p *plan) look(kind format.Kind, name string) error {
	data, err := p.tree.ReadFile(name, format.MaxFile)
	switch {
	case errors.Is(err, filesys.ErrTooLarge), errors.Is(err, fs.ErrPermission), errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return fmt.Errorf("%s: %w", name, err)
	}
	if h, err := holding(kind, data); err == nil {
		p.held[name] = h
	}
	return nil
}

// decide decides one conflict, or tells why it cannot.
func (p *plan) decide(ctx context.Context, repo *git.Repo, c git.Conflict) error {
	kind, _, slot := slotOf(c.Path)
	switch {
	case slot || c.Path == tombstonesName:
		sides, err := p.sides(ctx, repo, c)
		if reason := (*undecidable)(nil); errors.As(err, &reason) {
			p.leave(c.Path, "%s", reason)
			return nil
		} else if err != nil {
			return err
		}
		if !slot {
			p.decideTombstones(c.Path, sides)
			return nil
		}
		return p.decideSlot(ctx, repo, kind, c.Path, sides)
	case c.Path == indexPath(format.Nodes) || c.Path == indexPath(format.Flows):
		return nil // It is made anew.
	case path.Dir(c.Path) == "metadata" && path.Ext(c.Path) == ".yaml":
		p.removes = append(p.removes, c.Path)
		p.tell(c.Path, "is made from nodes and flows: it is left out, and flowstore makes it anew; metadata/ belongs in .gitignore")
	default:
		p.leave(c.Path, "is no node, no flow and nothing that is made from them")
	}
	return nil
}

// trashPath is where a file goes from its place in the tree.
func trashPath(name string) string { return "trash/" + name }

// treePath is where a file of the trash came from, or the path itself.
func treePath(name string) string { return strings.TrimPrefix(name, "trash/") }

func inTrash(name string) bool { return treePath(name) != name }

// slotOf says of which kind a path is, in the tree or in the trash, and which of its slots.
func slotOf(name string) (kind format.Kind, slot format.FileName, ok bool) {
	folder, rest, _ := strings.Cut(treePath(name), "/")
	kind = format.Kind(folder)
	if !slices.Contains(kinds, kind) {
		return "", format.FileName{}, false
	}
	slot, ok = kind.ParseName(rest)
	return kind, slot, ok
}

// sides are the contents of a conflict; nil for none. edited is what stands in the tree where a person, or an interrupted
// resolve, has worked on it since.
type sides struct{ base, ours, theirs, edited []byte }

type undecidable struct{ reason string }

func (e *undecidable) Error() string { return e.reason }

// sides reads what both sides have. *undecidable for what is no file.
func (p *plan) sides(ctx context.Context, repo *git.Repo, c git.Conflict) (s sides, err error) {
	for _, v := range []struct {
		name    string
		version git.Version
		to      *[]byte
	}{{"the common ancestor", c.Base, &s.base}, {"ours", c.Ours, &s.ours}, {"theirs", c.Theirs, &s.theirs}} {
		if v.version.Hash != "" && !v.version.Regular() {
			return s, &undecidable{fmt.Sprintf("is no regular file in %s (mode %s)", v.name, v.version.Mode)}
		}
		*v.to, err = repo.Read(ctx, v.version, format.MaxFile)
		if errors.Is(err, git.ErrTooLarge) {
			return s, &undecidable{fmt.Sprintf("%s: %s", v.name, err)}
		}
		if err != nil {
			return s, err
		}
	}
	there, err := p.tree.ReadFile(c.Path, 3*format.MaxFile)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return s, nil
	case err != nil:
		return s, fmt.Errorf("%s: %w", c.Path, err)
	}
	if !marked(there) && !bytes.Equal(there, s.ours) && !bytes.Equal(there, s.theirs) && !bytes.Equal(there, s.base) {
		s.edited = there
	}
	return s, nil
}

// marked says whether a file has the marks that git leaves around both versions of a part.
func marked(data []byte) bool {
	return bytes.Contains(append([]byte("\n"), data...), []byte("\n<<<<<<< ")) && bytes.Contains(data, []byte("\n>>>>>>> "))
}

// staged are the paths that git is to take as they are.
func (p *plan) staged() []string {
	paths := slices.Concat(slices.Collect(maps.Keys(p.conflicts)), p.removes, p.changed)
	for _, w := range p.writes {
		paths = append(paths, w.path)
	}
	slices.Sort(paths)
	return slices.DeleteFunc(slices.Compact(paths), func(name string) bool { return p.left[name] })
}

// catchUp has git take the nodes and flows, and the indexes of them, that it does not have as they are in the tree: an interrupted
// resolve wrote them, or a person, and the indexes that git gets tell of them.
func (p *plan) catchUp(ctx context.Context, repo *git.Repo) error {
	changed, err := repo.Changed(ctx, "nodes", "flows", "trash")
	if err != nil {
		return err
	}
	staged := p.staged()
	for _, name := range changed {
		if _, there := slices.BinarySearch(staged, name); there || p.left[name] {
			continue
		}
		kind, _, slot := slotOf(name)
		_, held := p.held[name]
		_, err := p.tree.Stat(name)
		switch {
		case slot && held:
			p.tell(name, "git does not have it as it is here; it is added")
		case slot && errors.Is(err, fs.ErrNotExist):
			p.tell(name, "is gone, and git has it; it is taken out")
		case name != indexPath(kind):
			continue
		default:
			p.tell(name, "git does not have it as it is here; it is added")
		}
		p.changed = append(p.changed, name)
	}
	return nil
}

// free says that a file may come to stand somewhere: a path in conflict is for what is in conflict there.
func (p *plan) free(name string) bool { return !p.names[name] && !p.conflicts[name] }

// put has a file written.
func (p *plan) put(name string, data []byte, h heldFile) {
	p.held[name], p.names[name] = h, true
	p.removes = slices.DeleteFunc(p.removes, func(other string) bool { return other == name })
	p.writes = append(p.writes, treeFile{name, data})
}

// remove has a file taken away.
func (p *plan) remove(name string) {
	p.writes = slices.DeleteFunc(p.writes, func(w treeFile) bool { return w.path == name })
	delete(p.held, name)
	delete(p.names, name)
	p.removes = append(p.removes, name)
}

// writing says whether a file comes to stand somewhere.
func (p *plan) writing(name string) bool {
	return slices.ContainsFunc(p.writes, func(w treeFile) bool { return w.path == name })
}

func (p *plan) tell(name, format string, args ...any) {
	p.told = append(p.told, name+": "+fmt.Sprintf(format, args...))
}

func (p *plan) leave(name, format string, args ...any) {
	p.left[name] = true
	p.undecided = append(p.undecided, name+": "+fmt.Sprintf(format, args...))
}
