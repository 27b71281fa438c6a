package command

import (
	"bytes"
	"context"
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/adapter/git"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store/format"
)

// fetchBack has every node that a flow holds in a file. Git goes by files alone: it takes away what one side is without, where the other
// one's flow has gone on from it, and a pick brings no file that was there before. Who has it is asked in the order of git.Around, and then the branches.
// What a person took out of a conflict is out of the flows, too; of what nobody has, it is told.
func (p *plan) fetchBack(ctx context.Context, repo *git.Repo) error {
	f := fetching{plan: p, repo: repo, wanted: p.withoutFile(), broken: map[uuid.UUID]bool{}, dropped: map[uuid.UUID]bool{}}
	tips, err := repo.Tips(ctx) // A pick without conflict leaves no trace of where it came from.
	if err != nil {
		return err
	}
	for _, commit := range append(repo.Around(ctx, p.change), tips...) {
		if err := f.from(ctx, commit); err != nil {
			return err
		}
	}
	for _, name := range slices.Sorted(maps.Keys(p.held)) {
		if inTrash(name) {
			continue
		}
		if err := p.takeOut(name, "was taken away when its conflict was decided", func(id uuid.UUID) bool { return f.dropped[id] }); err != nil {
			return err
		}
	}
	for _, id := range f.ids() {
		p.holes = append(p.holes, f.wanted[id]+": holds nodes/"+id.String()+", and no file that can be read does")
	}
	return nil
}

// withoutFile are the nodes that flows in the tree hold and that are in no file, by one of these flows.
func (p *plan) withoutFile() map[uuid.UUID]string {
	filed, without := map[uuid.UUID]bool{}, map[uuid.UUID]string{}
	for name, h := range p.held {
		if h.kind == format.Nodes && !inTrash(name) {
			filed[h.id] = true
		}
	}
	for _, name := range slices.Backward(slices.Sorted(maps.Keys(p.held))) {
		for _, m := range p.held[name].members {
			if !inTrash(name) && !filed[m.Node] {
				without[m.Node] = name
			}
		}
	}
	return without
}

// fetching is what fetchBack goes by.
type fetching struct {
	*plan
	repo *git.Repo
	// wanted are the nodes to fetch, by a flow that holds each.
	wanted map[uuid.UUID]string
	// broken are those in a file of the tree that cannot be read: a person mends it.
	broken map[uuid.UUID]bool
	// dropped are those that a person decided against.
	dropped map[uuid.UUID]bool
}

func (f *fetching) ids() []uuid.UUID {
	return slices.SortedFunc(maps.Keys(f.wanted), func(a, b uuid.UUID) int { return bytes.Compare(a[:], b[:]) })
}

// version is a file of a commit.
type version struct {
	name, hash string
	data       []byte
	heldFile
}

// from fetches what a commit has.
func (f *fetching) from(ctx context.Context, commit string) error {
	versions, err := f.versions(ctx, commit)
	if err != nil {
		return err
	}
	for _, id := range f.ids() {
		if len(versions[id]) > 0 && !f.broken[id] {
			f.fetch(commit, id, versions[id])
		}
	}
	return nil
}

// versions reads the files of a commit that hold what is wanted, by path, so that those of the trash come last.
func (f *fetching) versions(ctx context.Context, commit string) (map[uuid.UUID][]version, error) {
	var words []string
	for _, id := range f.ids() {
		if !f.erased(thing{format.Nodes, id}) {
			words = append(words, id.String())
		}
	}
	if len(words) == 0 {
		return nil, nil
	}
	files, err := f.repo.Mention(ctx, commit, words, "nodes", trashPath("nodes"))
	if err != nil {
		return nil, err
	}
	versions := map[uuid.UUID][]version{}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if _, _, slot := slotOf(name); !slot || !files[name].Regular() {
			continue
		}
		data, err := f.repo.Read(ctx, files[name], format.MaxFile)
		if err != nil && !errors.Is(err, git.ErrTooLarge) {
			return nil, err
		}
		h, err := holding(format.Nodes, data)
		if _, held := f.held[name]; f.left[name] || f.names[name] && !held {
			f.setAside(name, data)
		} else if err == nil {
			versions[h.id] = append(versions[h.id], version{name, files[name].Hash, data, h})
		}
	}
	return versions, nil
}

// setAside has the nodes not fetched that may be in a file which is left to a person.
func (f *fetching) setAside(name string, data []byte) {
	for id := range maps.Clone(f.wanted) {
		switch {
		case !bytes.Contains(bytes.ToLower(data), []byte(id.String())):
		case f.left[name]:
			delete(f.wanted, id) // The file is told.
		default:
			f.broken[id] = true
		}
	}
}

// fetch has a node in the tree as a commit has it, every version of it; what its trash has counts where its tree has none.
func (f *fetching) fetch(commit string, id uuid.UUID, versions []version) {
	holder := f.wanted[id]
	delete(f.wanted, id)
	versions = slices.DeleteFunc(versions, func(v version) bool {
		return f.taken.Against(v.hash) || inTrash(v.name) && !inTrash(versions[0].name)
	})
	f.dropped[id] = len(versions) == 0
	for _, v := range versions {
		to, ok := f.stand(treePath(v.name), v.data, v.heldFile)
		if !ok {
			f.leaveFull(holder)
			return
		}
		f.tell(holder, "holds nodes/%s, and no file was left of it; it is %s, as %s has it", id, to, shortName(commit))
	}
}

// shortName gives a commit as git takes it, a hash without its end.
func shortName(commit string) string {
	const short = 12
	if len(commit) >= 40 && !strings.Contains(commit, "_") {
		return commit[:short]
	}
	return commit
}
