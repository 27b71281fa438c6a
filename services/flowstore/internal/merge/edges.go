package merge

import (
	"errors"
	"fmt"
	"slices"

	"github.com/google/uuid"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/flow"
)

// maxTried is how many edges that may close a cycle are looked at one by one; more are left out, and told, at once.
const maxTried = 1000

// edges puts the edges of ours that stay, and then those that theirs added and those that lead past what is gone, unless they would
// close a cycle.
func (m *merger) edges() error {
	m.out.Edges = nil
	for _, l := range m.ours.order {
		if m.connected(l, m.theirs) {
			if e, ok := m.edge(l); ok {
				m.out.Edges = append(m.out.Edges, e)
			}
		}
	}
	var added []flow.Edge
	for _, l := range m.theirs.order {
		if _, held := m.ours.links[l]; held || !m.connected(l, m.ours) {
			continue
		}
		e, ok := m.edge(l)
		switch {
		case !ok:
			m.tellLost(l)
		case l.from.node == uuid.Nil || l.to.node == uuid.Nil:
			m.out.Edges = append(m.out.Edges, e)
		default:
			added = append(added, e)
		}
	}
	added = append(added, m.rejoin(slices.Concat(m.out.Edges, added))...)
	if n := len(m.out.Edges) + len(added); n > flow.MaxEdges {
		return &flow.FullError{Flow: m.out.ID, What: "edges", Limit: flow.MaxEdges}
	}
	m.out.Current, m.out.Heads, m.out.Links = 0, nil, nil
	m.out = flow.Examine(m.out)
	return m.connect(added)
}

// connected says whether an edge that one side has is in the result: not when the other side took it away. An edge that went
// with its node is not taken away where the node stays.
func (m *merger) connected(l link, other side) bool {
	_, old := m.base.links[l]
	_, held := other.links[l]
	if !old || held {
		return true
	}
	for _, id := range []uuid.UUID{l.from.node, l.to.node} {
		if m.cameBack(id, other) {
			return true
		}
	}
	return false
}

// edge gives a link as an edge of the result; ok is false where an end of it is not there, or is another one now.
func (m *merger) edge(l link) (e flow.Edge, ok bool) {
	from, fromOK := m.index(l.from)
	to, toOK := m.index(l.to)
	return flow.Edge{From: from, To: to, Name: m.edgeName(l)}, fromOK && toOK
}

func (m *merger) index(e end) (index int, ok bool) {
	if e.node != uuid.Nil {
		index, ok = m.indexes[e.node]
		return index, ok
	}
	_, taken := m.out.NodeAt(e.index)
	return e.index, !taken
}

func (m *merger) edgeName(l link) string {
	ours, held := m.ours.links[l]
	theirs, alsoHeld := m.theirs.links[l]
	switch {
	case !held:
		return theirs
	case !alsoHeld:
		return ours
	}
	return m.text(fmt.Sprintf("connections: the name of %s -> %s", l.from, l.to), m.base.links[l], ours, theirs)
}

func (e end) String() string {
	if e.node != uuid.Nil {
		return e.node.String()
	}
	return fmt.Sprintf("index %d, where no node was,", e.index)
}

// tellLost tells of an edge of theirs, one to nothing, whose index ours has given to a node meanwhile.
func (m *merger) tellLost(l link) {
	if l.from.node == uuid.Nil || l.to.node == uuid.Nil {
		m.tell("connections: %s -> %s of theirs is left out: the index is that of another node now", l.from, l.to)
	}
}

// connect adds edges of theirs. Those that would close a cycle are tried one by one: without some of them, others may stay.
func (m *merger) connect(added []flow.Edge) error {
	suspects := map[link]bool{}
	err := m.out.Check(flow.Change{Connect: added})
	if cycle := (*flow.CycleError)(nil); errors.As(err, &cycle) {
		for _, c := range cycle.Closing {
			suspects[link{end{node: c[0]}, end{node: c[1]}}] = true
		}
	} else if err != nil {
		return err
	}
	var sound, rest []flow.Edge
	for _, e := range added {
		if suspects[m.linkOf(e)] {
			rest = append(rest, e)
		} else {
			sound = append(sound, e)
		}
	}
	m.out = m.out.Apply(flow.Change{Connect: sound})
	for i, e := range rest {
		if i >= maxTried || m.out.Check(flow.Change{Connect: rest[i : i+1]}) != nil {
			l := m.linkOf(e)
			m.tell("connections: %s -> %s of theirs is left out: it would close a cycle with what ours has", l.from, l.to)
			continue
		}
		m.out = m.out.Apply(flow.Change{Connect: rest[i : i+1]})
	}
	return nil
}

func (m *merger) linkOf(e flow.Edge) link {
	s := side{Flow: m.out}
	return link{s.end(e.From), s.end(e.To)}
}
