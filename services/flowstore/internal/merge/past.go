package merge

import (
	"cmp"
	"slices"

	"github.com/google/uuid"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/flow"
)

// past gives the nodes that a side has next behind one, where those that are gone are passed over, each with a name for an
// edge to it: that of the last edge on the way that has one, as flow.Removal gives it.
func (s side) past(from uuid.UUID, gone func(uuid.UUID) bool) map[uuid.UUID]string {
	next, passed := map[uuid.UUID]string{}, map[uuid.UUID]string{from: ""}
	for at := []uuid.UUID{from}; len(at) > 0; at = at[1:] {
		for _, l := range s.uses[at[0]] {
			to := l.to.node
			_, seen := passed[to]
			_, found := next[to]
			if l.from.node != at[0] || to == uuid.Nil || seen || found {
				continue
			}
			name := cmp.Or(s.links[l], passed[at[0]])
			if !gone(to) {
				next[to] = name
				continue
			}
			passed[to] = name
			at = append(at, to)
		}
	}
	return next
}

// rejoin gives the edges that the result needs for what leads on, on both sides, from one node to another past nodes that are
// not in it: where each side took out one of two neighbours, neither has the edge that leads past both.
func (m *merger) rejoin(held []flow.Edge) (added []flow.Edge) {
	connected := make(map[[2]int]bool, len(held))
	for _, e := range held {
		connected[[2]int{e.From, e.To}] = true
	}
	gone := func(id uuid.UUID) bool { _, in := m.indexes[id]; return !in }
	for _, member := range m.out.Members {
		theirs := m.theirs.past(member.Node, gone)
		for to, name := range m.ours.past(member.Node, gone) {
			other, both := theirs[to]
			e := flow.Edge{From: member.Index, To: m.indexes[to], Name: cmp.Or(name, other)}
			if both && !connected[[2]int{e.From, e.To}] {
				added = append(added, e)
			}
		}
	}
	slices.SortFunc(added, func(a, b flow.Edge) int { return cmp.Or(cmp.Compare(a.From, b.From), cmp.Compare(a.To, b.To)) })
	for _, e := range added {
		l := m.linkOf(e)
		m.tell("connections: %s -> %s is new: both sides lead there, past nodes that are not in the flow any more", l.from, l.to)
	}
	return added
}
