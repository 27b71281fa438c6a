package flow

import (
	"slices"

	"github.com/google/uuid"
)

// checkCycle refuses new edges that close a cycle, and tells all of them. However many are new, the flow is walked a few times: an
// import connects all of a long conversation at once.
func (f Flow) checkCycle(c Change) error {
	suspects := f.suspects(c.Connect)
	if len(suspects) == 0 || f.closesNone(suspects, c) {
		return nil
	}
	members := withMembers(f.Members, c.Add)
	g := newGraph(members, withEdges(f.Edges, c.Connect), nil)
	if g.acyclic() {
		return nil
	}
	set := g.sets()
	var found *CycleError
	for _, e := range suspects {
		start, _ := position(members, e.To)
		target, _ := position(members, e.From)
		if set[start] != set[target] {
			continue
		}
		if found == nil {
			way := g.way(int32(start), int32(target))
			found = &CycleError{Flow: f.ID, Path: append(way, way[0])}
		}
		found.Closing = append(found.Closing, [2]uuid.UUID{members[target].Node, members[start].Node})
	}
	if found == nil {
		return nil
	}
	return found
}

// suspects are the new edges that may close a cycle. Nearly always there are none: an edge to a member that nothing
// continues closes nothing. By From, then To.
func (f Flow) suspects(connect []Edge) []Edge {
	left := make(map[int]bool, len(connect))
	for _, e := range connect {
		left[e.From] = true
	}
	var suspects []Edge
	for _, e := range connect {
		if (left[e.To] || hasChildren(f.Edges, e.To)) && !containsEdge(f.Edges, e) {
			suspects = append(suspects, e)
		}
	}
	slices.SortFunc(suspects, compareEdges)
	return suspects
}

// closesNone says that no suspect closes a cycle; false where that is not certain. A person connects a few nodes at a time, and of
// those it is found without building the graph, in about 10 us for 10,000 edges (field/perf.md row 28).
func (f Flow) closesNone(suspects []Edge, c Change) bool {
	const few, sparse = 4, 8
	indexes := f.next() + len(c.Add)
	if len(suspects) > few || indexes > sparse*(len(f.Members)+few) || len(f.Skipped) > 0 {
		return false // edges that lead to nothing, or round, are among those skipped
	}
	return !slices.ContainsFunc(suspects, func(e Edge) bool { return f.mayLead(e.To, e.From, c.Connect, indexes) })
}

// mayLead says whether the edges, together with new ones, lead from one member to another; true, too, where that would take longer
// to find. Edges are sorted and nearly all of them lead to a larger index: then one look through them is enough. Indexes of
// members are below indexes.
func (f Flow) mayLead(start, target int, connect []Edge, indexes int) bool {
	const looks = 8
	reached := make([]bool, indexes)
	reached[start] = true
	reaches := func(e Edge) bool {
		return uint(e.From) < uint(indexes) && uint(e.To) < uint(indexes) && reached[e.From] && !reached[e.To]
	}
	at, _ := slices.BinarySearchFunc(f.Edges, Edge{From: start}, compareEdges)
	for range looks {
		again := false
		for _, e := range f.Edges[at:] {
			if reaches(e) {
				reached[e.To] = true
				again = again || e.To < e.From
			}
		}
		for _, e := range connect {
			if reaches(e) {
				reached[e.To], again = true, true
			}
		}
		if reached[target] || !again {
			return reached[target]
		}
		at = 0
	}
	return true
}

// hasChildren says whether an edge leaves the member with this index.
func hasChildren(edges []Edge, index int) bool {
	at, _ := slices.BinarySearchFunc(edges, Edge{From: index}, compareEdges)
	return at < len(edges) && edges[at].From == index
}

// way gives the nodes of a shortest way from start to target, both included; nil if there is none.
func (g graph) way(start, target int32) (nodes []uuid.UUID) {
	// cameFrom is the position before each seen member, the member itself for the start, -1 for unseen.
	cameFrom := slices.Repeat([]int32{-1}, len(g.members))
	cameFrom[start] = start
	queue := []int32{start}
	for i := 0; i < len(queue) && cameFrom[target] < 0; i++ {
		for _, next := range g.out.of(queue[i]) {
			if cameFrom[next] < 0 {
				cameFrom[next] = queue[i]
				queue = append(queue, next)
			}
		}
	}
	if cameFrom[target] < 0 {
		return nil
	}
	for at := target; ; at = cameFrom[at] {
		nodes = append(nodes, g.members[at].Node)
		if at == start {
			slices.Reverse(nodes)
			return nodes
		}
	}
}
