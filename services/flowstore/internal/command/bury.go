package command

import (
	"context"
	"errors"
	"maps"
	"slices"

	"github.com/google/uuid"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/adapter/git"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/flow"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store/format"
)

// addition is a node that a side put into a flow which does not come back.
type addition struct {
	file, side string
	node       uuid.UUID
}

const tombstonesName = "tombstones.tsv"

// lifted is a thing that was purged, and the commit whose row says so.
type lifted struct {
	thing
	commit string
}

// surveyLifted finds what is not purged any more: a revert takes the row away as any other line.
func (p *plan) surveyLifted(ctx context.Context, repo *git.Repo) error {
	for _, commit := range repo.Around(ctx, p.change) {
		files, err := repo.List(ctx, commit, tombstonesName)
		if err != nil {
			return err
		}
		data, err := repo.Read(ctx, files[tombstonesName], format.MaxMetadata)
		if err != nil && !errors.Is(err, git.ErrTooLarge) {
			return err
		}
		rows, _ := format.ReadTombstones(data)
		for _, r := range rows {
			if t := (thing{r.Kind, r.ID}); !p.erased(t) {
				p.lifted = append(p.lifted, lifted{t, commit})
			}
		}
	}
	return nil
}

// erased says that a thing was purged, also where the row that says so is gone: git is not asked for it.
func (p *plan) erased(t thing) bool {
	return p.purged[t] || slices.ContainsFunc(p.lifted, func(l lifted) bool { return l.thing == t })
}

// tellLifted tells what is not purged any more, and where it is.
func (p *plan) tellLifted() {
	for _, l := range p.lifted {
		where := "no file has it"
		for _, name := range slices.Backward(slices.Sorted(maps.Keys(p.held))) {
			if p.held[name].thing == l.thing {
				where = "it is " + name
			}
		}
		p.tell(tombstonesName, "%s/%s was purged, and the row that says so is not here any more, only in %s; %s; if it is to stay purged, put the row back and take the file away", l.kind, l.id, shortName(l.commit), where)
	}
}

// bury takes out of a conflict what was purged on either side: it does not come back. buried says whether there was any.
func (p *plan) bury(kind format.Kind, name string, s *sides) (buried bool) {
	for _, side := range []struct {
		name string
		data *[]byte
	}{{"ours", &s.ours}, {"theirs", &s.theirs}} {
		if *side.data == nil {
			continue
		}
		h, err := holding(kind, *side.data)
		if err != nil || !p.purged[h.thing] {
			continue
		}
		*side.data, buried = nil, true
		p.tell(name, "%s has %s/%s, which was purged; it does not come back", side.name, kind, h.id)
		base, _ := format.DecodeFlow(s.base) // What cannot be read has no nodes.
		for _, m := range h.members {
			if _, old := base.IndexOf(m.Node); !old {
				p.added = append(p.added, addition{name, side.name, m.Node})
			}
		}
	}
	if buried {
		s.base = nil // What is left is no change of it.
	}
	return buried
}

// buryBrought takes away what was purged and what git has brought all the same, as a pick of a commit does that took it back. What git
// does not know, a person put there.
func (p *plan) buryBrought() {
	for _, name := range slices.Sorted(maps.Keys(p.held)) {
		h := p.held[name]
		if _, staged := p.taken.Staged[name]; !staged || !p.purged[h.thing] {
			continue
		}
		p.remove(name)
		p.tell(name, "git has brought %s/%s, which was purged; it does not come back", h.kind, h.id)
		for _, m := range h.members {
			p.added = append(p.added, addition{name, "git", m.Node})
		}
	}
}

// decideTombstones keeps the rows of both sides: what was purged on either is purged.
func (p *plan) decideTombstones(name string, s sides) {
	rows, problems := format.ReadTombstones(slices.Concat([]byte(format.TombstonesHeader), s.ours, s.theirs))
	if len(problems) > 0 {
		p.leave(name, "%s", problems[0])
		return
	}
	data := []byte(format.TombstonesHeader)
	for _, r := range rows {
		data = format.AppendTombstone(data, r)
	}
	if p.untouched(name, s, data) {
		p.writes = append(p.writes, treeFile{name, data})
		p.tell(name, "what either side purged is in it")
	}
}

// tellLeftOver tells which nodes are in no flow because the one that a side put them into was purged on the other.
func (p *plan) tellLeftOver() {
	if len(p.added) == 0 {
		return
	}
	inTree, inFlow := map[uuid.UUID]bool{}, map[uuid.UUID]bool{}
	for name, h := range p.held {
		switch {
		case inTrash(name):
		case h.kind == format.Nodes:
			inTree[h.id] = true
		default:
			for _, id := range flow.NodesOf(h.members) {
				inFlow[id] = true
			}
		}
	}
	for _, a := range p.added {
		if inTree[a.node] && !inFlow[a.node] {
			p.tell(a.file, "nodes/%s, which %s put into it, stays, and is in no flow any more", a.node, a.side)
		}
	}
}
