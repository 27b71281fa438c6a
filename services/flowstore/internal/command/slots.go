package command

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/flow"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/merge"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store/format"
)

// holding says what a node or flow file holds.
func holding(kind format.Kind, data []byte) (h heldFile, err error) {
	h.sum = sha256.Sum256(data)
	if kind == format.Nodes {
		n, err := format.DecodeNode(data)
		h.id, h.time = n.ID, n.Created
		return h, err
	}
	f, err := format.DecodeFlow(data)
	h.id, h.time = f.ID, f.Updated
	return h, err
}

// decideSlot decides a conflict about a node or flow file.
func (p *plan) decideSlot(kind format.Kind, name string, s sides) {
	switch {
	case s.ours == nil && s.theirs == nil:
		if p.untouched(name, s, nil) {
			p.removes = append(p.removes, name)
			p.tell(name, "both sides removed or moved it; it is gone")
		}
	case s.ours == nil:
		p.keep(kind, name, s, "theirs", "ours removed it, and theirs changed it; it stays as theirs has it")
	case s.theirs == nil:
		p.keep(kind, name, s, "ours", "theirs removed it, and ours changed it; it stays as ours has it")
	default:
		p.decideBoth(kind, name, s)
	}
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

func (p *plan) decideBoth(kind format.Kind, name string, s sides) {
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
	case p.untouched(name, s, s.ours):
		p.keepBoth(kind, name, s, ours, theirs)
	}
}

// keepBoth leaves ours where it is and gives theirs a file of its own.
func (p *plan) keepBoth(kind format.Kind, name string, s sides, ours, theirs heldFile) {
	if ours.sum != theirs.sum {
		place, ok := p.place(kind, s.theirs, theirs)
		if !ok {
			p.leave(name, "there is no free name left for theirs: a namespace takes %d files of a kind", format.Slots)
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
	counts := name
	_, here, _ := slotOf(name)
	if _, there, _ := slotOf(place); theirs.time.After(ours.time) || theirs.time.Equal(ours.time) && there.Compare(here) > 0 {
		counts = place
	}
	p.tell(name, "both changed %s/%s; ours stays, theirs is %s, and %s counts; remove the one that you do not want", kind, ours.id, place, counts)
}

// place gives a file of theirs the next free slot, or the one that it has already: an interrupted resolve may have put it
// there. ok is false where all are taken.
func (p *plan) place(kind format.Kind, data []byte, h heldFile) (name string, ok bool) {
	if name, there := p.found[h.sum]; there {
		p.decided = append(p.decided, name)
		return name, true
	}
	if p.next[kind] >= format.Slots {
		return "", false
	}
	name = path.Join(string(kind), kind.SlotPath(p.next[kind]))
	p.next[kind]++
	p.held[name] = h
	// New files first: they are what would be lost.
	p.writes = slices.Insert(p.writes, 0, treeFile{name, data})
	return name, true
}

func (p *plan) put(name string, data []byte, h heldFile) {
	p.held[name] = h
	p.writes = append(p.writes, treeFile{name, data})
}

// mergeFlows writes what both sides made of a flow.
func (p *plan) mergeFlows(name string, s sides) {
	ours, oursErr := format.DecodeFlow(s.ours)
	theirs, theirsErr := format.DecodeFlow(s.theirs)
	if err := errors.Join(oursErr, theirsErr); err != nil {
		p.leave(name, "%s", err)
		return
	}
	base, err := format.DecodeFlow(s.base)
	if err != nil || base.ID != ours.ID {
		base, s.base = flow.Flow{}, nil
	}
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
		if !bytes.Equal(old, text) {
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
		if of, name, _ := slotOf(file); of == kind {
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
