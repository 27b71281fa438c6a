package merge

import (
	"maps"
	"slices"

	"github.com/google/uuid"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/flow"
)

// pointer is a link to another flow by the end at which it begins.
type pointer struct {
	from end
	to   uuid.UUID
}

// branches merges heads and links.
func (m *merger) branches() error {
	m.heads()
	m.links()
	switch {
	case len(m.out.Heads) > flow.MaxHeads:
		return &flow.FullError{Flow: m.out.ID, What: "heads", Limit: flow.MaxHeads}
	case len(m.out.Links) > flow.MaxLinks:
		return &flow.FullError{Flow: m.out.ID, What: "links", Limit: flow.MaxLinks}
	}
	return nil
}

// heads puts each name where the side that moved it put it; where both did, ours stays.
func (m *merger) heads() {
	base, ours, theirs := m.base.heads(), m.ours.heads(), m.theirs.heads()
	names := maps.Clone(ours)
	maps.Copy(names, theirs)
	for _, name := range slices.Sorted(maps.Keys(names)) {
		b, o, t := base[name], m.unlessGone(base[name], ours[name], m.ours), m.unlessGone(base[name], theirs[name], m.theirs)
		place, other := o, t
		switch {
		case o == t || t == b:
		case o == b:
			place, other = t, o
		default:
			m.tell("heads: both moved %q; %s, of ours, stays, and %s, of theirs, does not", name, o, t)
		}
		if place == (end{}) {
			continue
		}
		index, ok := m.index(place)
		if !ok && other != (end{}) {
			index, ok = m.index(other)
		}
		if !ok {
			m.tell("heads: %q is left out: %s is not in the flow any more", name, place)
			continue
		}
		m.out.Heads = append(m.out.Heads, flow.Head{Name: name, Index: index})
	}
}

// unlessGone gives the place of a head on a side; where it went there with its node, and the node is in the result, it is
// what it was.
func (m *merger) unlessGone(base, place end, on side) end {
	if place == (end{}) && m.cameBack(base.node, on) {
		return base
	}
	return place
}

// cameBack says that a side took a node out which is in the result all the same.
func (m *merger) cameBack(id uuid.UUID, on side) bool {
	_, in := m.indexes[id]
	return in && m.tookOut(on, id)
}

func (s side) heads() map[string]end {
	heads := make(map[string]end, len(s.Heads))
	for _, h := range s.Heads {
		heads[h.Name] = s.end(h.Index)
	}
	return heads
}

// links puts the links of ours that theirs did not take away, and those that theirs added.
func (m *merger) links() {
	base, ours, theirs := m.base.pointers(), m.ours.pointers(), m.theirs.pointers()
	add := func(p pointer) {
		if index, ok := m.index(p.from); ok {
			m.out.Links = append(m.out.Links, flow.Link{From: index, Flow: p.to})
		} else if p.from.node == uuid.Nil {
			m.tell("links: %s -> %s of theirs is left out: the index is that of another node now", p.from, flow.Name(p.to))
		}
	}
	for _, p := range ours {
		if !slices.Contains(base, p) || slices.Contains(theirs, p) || m.cameBack(p.from.node, m.theirs) {
			add(p)
		}
	}
	for _, p := range theirs {
		if !slices.Contains(ours, p) && (!slices.Contains(base, p) || m.cameBack(p.from.node, m.ours)) {
			add(p)
		}
	}
}

func (s side) pointers() []pointer {
	var list []pointer
	for _, l := range s.Links {
		list = append(list, pointer{s.end(l.From), l.Flow})
	}
	return list
}
