package command

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/adapter/git"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/flow"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/merge"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store/format"
)

// holding says what a node or flow file holds.
func holding(kind format.Kind, data []byte) (h heldFile, err error) {
	h.sum = sha256.Sum256(data)
	if kind == format.Nodes {
		n, err := format.DecodeNode(data)
		h.thing, h.time = thing{kind, n.ID}, n.Created
		return h, err
	}
	f, err := format.DecodeFlow(data)
	h.thing, h.time, h.members = thing{kind, f.ID}, f.Updated, f.Members
	return h, err
}

// decideSlot decides a conflict about a node or flow file.
func (p *plan) decideSlot(ctx context.Context, repo *git.Repo, kind format.Kind, name string, s sides) error {
	buried := p.bury(kind, name, &s)
	moved, err := p.moveBack(ctx, repo, kind, name, s)
	if moved || err != nil {
		return err
	}
	switch {
	case s.ours == nil && s.theirs == nil:
		if !p.writing(name) && p.untouched(name, s, nil) {
			p.remove(name)
			if !buried { // Else it is told what became of it.
				p.tell(name, "both sides removed or moved it; it is gone")
			}
		}
	case s.base == nil && s.ours == nil:
		p.keep(kind, name, s, "theirs", "only theirs has it, and it stays")
	case s.base == nil && s.theirs == nil:
		p.keep(kind, name, s, "ours", "only ours has it, and it stays")
	case s.ours == nil:
		p.keep(kind, name, s, "theirs", "ours is without it, and theirs changed it; it is as theirs has it")
	case s.theirs == nil:
		p.keep(kind, name, s, "ours", "theirs is without it, and ours changed it; it stays as ours has it")
	default:
		return p.decideBoth(ctx, repo, kind, name, s)
	}
	return nil
}

// keep keeps the one side that there is.
func (p *plan) keep(kind format.Kind, name string, s sides, side, why string) {
	data := s.ours
	if data == nil {
		data = s.theirs
	}
	h, err := holding(kind, data)
	if err != nil {
		p.leave(name, "%s cannot be read: %s", side, err)
		return
	}
	if p.untouched(name, s, data) {
		p.put(name, data, h)
		p.tell(name, "%s", why)
	}
}

// untouched says that a file may be replaced by data. What a person made of it since the merge is left to them.
func (p *plan) untouched(name string, s sides, data []byte) bool {
	if s.edited == nil || bytes.Equal(s.edited, data) {
		return true
	}
	p.leave(name, "was edited since the merge, and has no marks of a conflict any more")
	return false
}

// moveBack finds out whether git moved a file that one side made: where the other side deleted all files of a folder, or took
// them back, git takes it for the folder's new name, and a new file along.
func (p *plan) moveBack(ctx context.Context, repo *git.Repo, kind format.Kind, name string, s sides) (moved bool, err error) {
	if s.base != nil || (s.ours == nil) == (s.theirs == nil) {
		return false, nil
	}
	side, data, commit := "ours", s.ours, git.Ours
	if data == nil {
		side, data, commit = "theirs", s.theirs, p.change.Theirs
	}
	from := treePath(name)
	if from == name {
		from = trashPath(name)
	}
	has, err := repo.List(ctx, commit, name, from)
	if _, made := has[from]; err != nil || !made || len(has) > 1 || s.edited != nil {
		return false, err
	}
	h, err := holding(kind, data)
	if err != nil {
		p.leave(name, "%s cannot be read: %s", side, err)
		return true, nil
	}
	to, ok := p.stand(from, data, h)
	if !ok {
		p.leaveFull(name)
		return true, nil
	}
	p.remove(name)
	p.tell(name, "git took it for a part of a folder that has another name; %s/%s of %s is %s", kind, h.id, side, to)
	return true, nil
}

func (p *plan) leaveFull(name string) {
	p.leave(name, "there is no free name left: a namespace takes %d files of a kind", format.Slots)
}

func (p *plan) decideBoth(ctx context.Context, repo *git.Repo, kind format.Kind, name string, s sides) error {
	ours, oursErr := holding(kind, s.ours)
	theirs, theirsErr := holding(kind, s.theirs)
	switch {
	case oursErr != nil && theirsErr != nil:
		p.leave(name, "ours cannot be read: %s; neither can theirs: %s", oursErr, theirsErr)
	case oursErr != nil:
		p.leave(name, "ours cannot be read: %s", oursErr)
	case theirsErr != nil:
		p.leave(name, "theirs cannot be read: %s", theirsErr)
	case ours.id == theirs.id && kind == format.Flows:
		p.mergeFlows(name, s)
	default:
		merged, h, err := p.mergeNodes(ctx, repo, s, ours, theirs)
		switch {
		case err != nil:
			return err
		case merged == nil && p.untouched(name, s, s.ours):
			p.keepBoth(kind, name, s, ours, theirs)
		case merged != nil && p.untouched(name, s, merged):
			p.put(name, merged, h)
			p.merged[h.thing] = true
			p.tell(name, "both changed it, in different lines; what either changed is in it")
		}
	}
	return nil
}

// mergeNodes gives what both sides made of a node, where they changed different lines of it; nil otherwise.
func (p *plan) mergeNodes(ctx context.Context, repo *git.Repo, s sides, ours, theirs heldFile) (merged []byte, h heldFile, err error) {
	base, _ := holding(format.Nodes, s.base) // What cannot be read has no thing.
	if base.thing != ours.thing || base.thing != theirs.thing {
		return nil, heldFile{}, nil
	}
	data, clean, err := repo.MergeText(ctx, s.base, s.ours, s.theirs)
	if err != nil || !clean {
		return nil, heldFile{}, err
	}
	if h, err := holding(format.Nodes, data); err == nil && h.thing == base.thing {
		return data, h, nil
	}
	return nil, heldFile{}, nil // What cannot be read, or is another thing, is no merge.
}

// keepBoth leaves ours where it is and gives theirs a file of its own.
func (p *plan) keepBoth(kind format.Kind, name string, s sides, ours, theirs heldFile) {
	if ours.sum != theirs.sum {
		place, ok := p.place(kind, inTrash(name), s.theirs, theirs)
		if !ok {
			p.leaveFull(name)
			return
		}
		p.tellPlace(kind, name, place, ours, theirs)
	}
	p.put(name, s.ours, ours)
}

func (p *plan) tellPlace(kind format.Kind, name, place string, ours, theirs heldFile) {
	if ours.id != theirs.id {
		p.tell(name, "ours stays; %s/%s of theirs is %s now", kind, theirs.id, place)
		return
	}
	if inTrash(name) {
		p.tell(name, "both changed %s/%s before it was deleted; both are kept, ours here and theirs as %s", kind, ours.id, place)
		return
	}
	counts := "ours"
	_, here, _ := slotOf(name)
	if _, there, _ := slotOf(place); theirs.time.After(ours.time) || theirs.time.Equal(ours.time) && there.Compare(here) > 0 {
		counts = "theirs"
	}
	p.tell(name, "both changed %s/%s; both are kept, ours here and theirs as %s; %s counts; remove the one that you do not want", kind, ours.id, place, counts)
}

// place gives a file the next free slot, in the tree or in the trash, or the one that it has already: an interrupted resolve
// may have put it there, and out of the trash again. ok is false where all are taken.
func (p *plan) place(kind format.Kind, trash bool, data []byte, h heldFile) (name string, ok bool) {
	for _, in := range []bool{false, trash} {
		if name, there := p.found[sum{h.sum, in}]; there {
			return name, true
		}
	}
	return p.fresh(kind, trash, data, h)
}

// stand has a file come to stand under a name, or under the next free one where that is another's.
func (p *plan) stand(name string, data []byte, h heldFile) (to string, ok bool) {
	if !p.free(name) {
		return p.place(h.kind, inTrash(name), data, h)
	}
	p.put(name, data, h)
	return name, true
}

// fresh gives a file the next free slot.
func (p *plan) fresh(kind format.Kind, trash bool, data []byte, h heldFile) (name string, ok bool) {
	if p.slots[kind] == nil {
		names := format.NamesBehind(p.used[kind])
		p.slots[kind] = &names
	}
	slot, ok := p.slots[kind].Give()
	if !ok {
		return "", false
	}
	name = path.Join(string(kind), kind.SlotPath(slot))
	if trash {
		name = trashPath(name)
	}
	p.held[name], p.names[name] = h, true
	p.writes = append(p.writes, treeFile{name, data})
	return name, true
}

// mergeFlows writes what both sides made of a flow.
func (p *plan) mergeFlows(name string, s sides) {
	ours, err := format.DecodeFlow(s.ours)
	if err != nil {
		p.leave(name, "%s", err)
		return
	}
	if edited, err := format.DecodeFlow(s.edited); err == nil && edited.ID == ours.ID {
		s.ours, ours, s.edited = s.edited, edited, nil // Who went on with ours before theirs came in has both.
	}
	base, err := format.DecodeFlow(s.base)
	if err != nil || base.ID != ours.ID {
		base, s.base = flow.Flow{}, nil
	}
	// What theirs brings of what was purged gets no index: it would get one each time.
	had := flow.NodesOf(slices.Concat(base.Members, ours.Members))
	brought := func(id uuid.UUID) bool { return p.nodePurged(id) && !slices.Contains(had, id) }
	s.theirs, err = p.spliced(name, s.theirs, wasPurged, brought)
	if err != nil {
		p.leave(name, "%s", err)
		return
	}
	theirs, _ := format.DecodeFlow(s.theirs) // It was read before.
	merged, told, err := merge.Flows(base, ours, theirs)
	if err != nil {
		p.leave(name, "both sides together are too much: %s", err)
		return
	}
	data, lost := mergedFile(s, ours, theirs, merged)
	h, err := holding(format.Flows, data)
	if err != nil {
		p.leave(name, "the merged file could not be read back: %s", err)
		return
	}
	if !p.untouched(name, s, data) {
		return
	}
	p.put(name, data, h)
	p.merged[h.thing] = true
	p.tell(name, "both changed it; what either added is in it")
	for _, line := range told {
		p.tell(name, "%s", line)
	}
	if lost != "" {
		p.tell(name, "comments, and keys that flowstore does not know, which %s added by hand are not in it; \"git log -p\" has them", lost)
	}
}

// mergedFile writes a merged flow into the file of the side that a person wrote comments into, so that they stay. lost names
// the side whose comments cannot be kept, where both have some.
func mergedFile(s sides, ours, theirs, merged flow.Flow) (data []byte, lost string) {
	oursByHand, theirsByHand := byHand(s.base, s.ours, ours), byHand(s.base, s.theirs, theirs)
	first, second, name, other := s.ours, s.theirs, "ours", "theirs"
	if theirsByHand && !oursByHand {
		first, second, name, other = s.theirs, s.ours, "theirs", "ours"
	}
	text, kept := format.UpdateFlow(first, merged)
	switch {
	case kept && oursByHand && theirsByHand:
		return text, other
	case kept:
		return text, ""
	case !oursByHand && !theirsByHand:
		if text, kept := format.UpdateFlow(second, merged); kept {
			return text, ""
		}
		return text, "the common ancestor"
	case oursByHand && theirsByHand:
		return text, "both"
	}
	return text, name
}

// byHand says whether a file has more than the flow in it, and more of that than the file that it came from.
func byHand(base, data []byte, f flow.Flow) bool {
	if base == nil {
		return !bytes.Equal(format.EncodeFlow(f), data)
	}
	text, kept := format.UpdateFlow(base, f)
	return !kept || !bytes.Equal(text, data)
}

// indexes makes the indexes anew, where they are not right as they stand.
func (p *plan) indexes() error {
	for _, kind := range kinds {
		text := p.index(kind)
		old, err := p.tree.ReadFile(indexPath(kind), maxIndex)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("%s: %w", indexPath(kind), err)
		}
		none := err != nil && len(text) == len(format.IndexHeader) // Without files there is no index, either.
		if !bytes.Equal(old, text) && !none {
			p.tell(indexPath(kind), "is made anew")
			p.writes = append(p.writes, treeFile{indexPath(kind), text})
		}
	}
	return nil
}

// index gives the index of a kind, in the order of the tree.
func (p *plan) index(kind format.Kind) []byte {
	type line struct {
		name format.FileName
		row  format.Row
	}
	var lines []line
	for file, h := range p.held {
		if of, name, _ := slotOf(file); of == kind && !inTrash(file) {
			lines = append(lines, line{name, format.Row{Path: strings.TrimPrefix(file, string(kind)+"/"), ID: h.id, Time: h.time}})
		}
	}
	slices.SortFunc(lines, func(a, b line) int {
		if c := a.name.Compare(b.name); c != 0 {
			return c
		}
		return strings.Compare(a.row.Path, b.row.Path)
	})
	text := []byte(format.IndexHeader)
	for _, l := range lines {
		text = format.AppendRow(text, l.row)
	}
	return text
}
