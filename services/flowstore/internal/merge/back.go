package merge

import "github.com/google/uuid"

// bringBack finds the nodes that one side took out and that stay all the same: what the other one has built on since, and what
// that continues there, up to a node that is in the result anyway. A branch without what came before it would be another story.
func (m *merger) bringBack() {
	m.back = map[uuid.UUID]bool{}
	m.bringBackTo(m.ours, m.theirs, "ours", "theirs", func(id uuid.UUID) bool { return !m.ours.has(id) && m.theirs.has(id) })
	m.bringBackTo(m.theirs, m.ours, "theirs", "ours", func(id uuid.UUID) bool { return !m.theirs.has(id) })
}

// bringBackTo has stay what one side has and the other one took out. left are the nodes that the one side took out itself. Of
// ours, what neither side has is not among them: it may be that theirs took it out, and the flows were merged before.
func (m *merger) bringBackTo(on, other side, name, otherName string, left func(uuid.UUID) bool) {
	built := m.built(on, left)
	var found []uuid.UUID
	for _, member := range on.Members {
		if id := member.Node; m.tookOut(other, id) && built[id] {
			m.back[id] = true
			m.tell("nodes: %s is without node %s, and %s has new connections with it; it is in the flow", otherName, id, name)
			found = append(found, id)
		}
	}
	for len(found) > 0 {
		id := found[0]
		found = found[1:]
		for _, l := range on.uses[id] {
			before := l.from.node
			if l.to.node != id || before == uuid.Nil || m.back[before] || !m.tookOut(other, before) {
				continue
			}
			m.back[before] = true
			m.tell("nodes: %s is without node %s, and node %s of %s continues it; it is in the flow, too", otherName, before, id, name)
			found = append(found, before)
		}
	}
}

// built are the nodes at which a side has an edge that base has not, unless it is one that a removal makes: it leads past nodes
// that the side took out.
func (m *merger) built(on side, left func(uuid.UUID) bool) map[uuid.UUID]bool {
	built, past := map[uuid.UUID]bool{}, map[uuid.UUID]map[uuid.UUID]string{}
	for _, l := range on.order {
		if _, old := m.base.links[l]; old {
			continue
		}
		from, to := l.from.node, l.to.node
		if past[from] == nil {
			past[from] = m.base.past(from, left)
		}
		if _, removal := past[from][to]; !removal {
			built[from], built[to] = true, true
		}
	}
	return built
}
