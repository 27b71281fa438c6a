// Package merge brings together two states of a flow that come from one: those of two clones of a tree that both went on.
//
// What either side added is in the result, and what one side took away is not, unless the other one built on it. Nodes
// have the same ids on both sides, indexes do not: those of ours stay, and what theirs added gets new ones
// (field/flowstore.md 3, "Git"; cases/flowstore.md 32). Pure functions: files and git are the business of the caller.
package merge

import (
	"cmp"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/flow"
)

// Flows merges what theirs did since base into ours. The zero base is for flows that both sides made. The flows are as
// flow.Examine leaves them.
//
// told says what a person should know, a sentence each: what both sides changed and stays as ours has it, what was taken
// away by one side and is used by the other, edges that neither has or that would close a cycle. The same flows give the same
// result, and merging theirs into the result changes nothing. *flow.FullError when both together are more than a flow takes.
func Flows(base, ours, theirs flow.Flow) (merged flow.Flow, told []string, err error) {
	m := &merger{base: newSide(base), ours: newSide(ours), theirs: newSide(theirs), out: ours}
	m.out.Problems = nil
	m.words()
	if err := m.members(); err != nil {
		return flow.Flow{}, nil, err
	}
	if err := m.edges(); err != nil {
		return flow.Flow{}, nil, err
	}
	if err := m.branches(); err != nil {
		return flow.Flow{}, nil, err
	}
	m.current()
	m.out.Created = firstOf(ours.Created, theirs.Created)
	m.out.Updated = laterOf(ours.Updated, theirs.Updated)
	m.out.Problems = nil
	return flow.Examine(m.out), m.told, nil
}

// end is one end of an edge, the same on every side: a node, or an index that no node has.
type end struct {
	node  uuid.UUID
	index int
}

// link is an edge by its ends.
type link struct{ from, to end }

// side is a flow, with ways to look things up.
type side struct {
	flow.Flow
	indexes map[uuid.UUID]int
	links   map[link]string
	// order are the links as Edges has them.
	order []link
	// uses are the links of each node.
	uses map[uuid.UUID][]link
}

func newSide(f flow.Flow) side {
	s := side{Flow: f, indexes: make(map[uuid.UUID]int, len(f.Members)), links: make(map[link]string, len(f.Edges)), uses: map[uuid.UUID][]link{}}
	for _, m := range f.Members {
		s.indexes[m.Node] = m.Index
	}
	for _, e := range f.Edges {
		l := link{s.end(e.From), s.end(e.To)}
		s.links[l] = e.Name
		s.order = append(s.order, l)
		for _, id := range []uuid.UUID{l.from.node, l.to.node} {
			if id != uuid.Nil {
				s.uses[id] = append(s.uses[id], l)
			}
		}
	}
	return s
}

func (s side) end(index int) end {
	if id, ok := s.NodeAt(index); ok {
		return end{node: id}
	}
	return end{index: index}
}

func (s side) has(id uuid.UUID) bool { _, ok := s.indexes[id]; return ok }

// currentNode is the node of the reader's place; uuid.Nil for none.
func (s side) currentNode() uuid.UUID { return s.end(s.Current).node }

// merger is a merge on its way.
type merger struct {
	base, ours, theirs side
	out                flow.Flow
	// back are the nodes that one side took out and that stay all the same.
	back map[uuid.UUID]bool
	// indexes are those of the result.
	indexes map[uuid.UUID]int
	told    []string
}

func firstOf(a, b time.Time) time.Time {
	if a.IsZero() {
		return b
	}
	return a
}

func laterOf(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// members gives each node of the result its index.
func (m *merger) members() error {
	m.bringBack()
	m.indexes = make(map[uuid.UUID]int, len(m.ours.Members))
	m.out.Members = nil
	for _, member := range m.ours.Members {
		if m.stays(member.Node, m.theirs) {
			m.put(member.Node, member.Index)
		}
	}
	taken := m.dangling()
	for _, member := range m.out.Members {
		taken[member.Index] = true
	}
	next := max(m.ours.Next, flow.NextOf(m.ours.Flow))
	for _, member := range m.theirs.Members {
		id, index := member.Node, member.Index
		if m.ours.has(id) || !m.stays(id, m.ours) {
			continue
		}
		if !m.base.has(id) || taken[index] {
			for index = max(next, index); taken[index]; index++ {
			}
			next = index + 1
		}
		taken[index] = true
		m.put(id, index)
	}
	m.out.Next = max(next, m.theirs.Next, m.base.Next)
	switch {
	case len(m.out.Members) > flow.MaxMembers:
		return &flow.FullError{Flow: m.out.ID, What: "nodes", Limit: flow.MaxMembers}
	case next > flow.MaxIndex+1:
		return &flow.FullError{Flow: m.out.ID, What: "indexes", Limit: flow.MaxIndex}
	}
	slices.SortFunc(m.out.Members, func(a, b flow.Member) int { return cmp.Compare(a.Index, b.Index) })
	return nil
}

// stays says whether a node that one side has is in the result: not when the other one took it out, unless it comes back.
func (m *merger) stays(id uuid.UUID, other side) bool { return !m.tookOut(other, id) || m.back[id] }

// tookOut says that a side took out a node that both had.
func (m *merger) tookOut(on side, id uuid.UUID) bool { return m.base.has(id) && !on.has(id) }

func (m *merger) put(id uuid.UUID, index int) {
	m.indexes[id] = index
	m.out.Members = append(m.out.Members, flow.Member{Index: index, Node: id})
}

// dangling are the indexes that edges, heads and links of either side wait for: a node must not come to stand there by chance.
func (m *merger) dangling() map[int]bool {
	indexes := map[int]bool{}
	for _, s := range []side{m.ours, m.theirs} {
		var ends []end
		for _, l := range s.order {
			ends = append(ends, l.from, l.to)
		}
		for _, h := range s.Heads {
			ends = append(ends, s.end(h.Index))
		}
		for _, l := range s.Links {
			ends = append(ends, s.end(l.From))
		}
		for _, e := range ends {
			if e.node == uuid.Nil {
				indexes[e.index] = true
			}
		}
	}
	return indexes
}
