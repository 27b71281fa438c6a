package flow

import (
	"slices"

	"github.com/google/uuid"
)

// checkCycle refuses new edges that close a cycle, and tells all of them. However many are new, the flow is walked a few times: an
// import connects all of a long conversation at once.
func (f Flow) checkCycle(c Change) error {
	suspects := f.suspects(c.Connect)
	if len(suspects) == 0 {
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
