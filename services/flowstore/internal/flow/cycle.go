package flow

import (
	"slices"

	"github.com/google/uuid"
)

// checkCycle refuses new edges that close a cycle, and tells all of them.
func (f Flow) checkCycle(c Change) error {
	suspects := f.suspects(c.Connect)
	if len(suspects) == 0 {
		return nil
	}
	members := withMembers(f.Members, c.Add)
	s := search{graph: newGraph(members, withEdges(f.Edges, c.Connect), nil), target: -1}
	var found *CycleError
	for _, e := range suspects {
		start, _ := position(members, e.To)
		target, _ := position(members, e.From)
		way := s.way(int32(start), int32(target))
		if way == nil {
			continue
		}
		if found == nil {
			found = &CycleError{Flow: f.ID, Path: append(way, way[0])}
		}
		found.Closing = append(found.Closing, [2]uuid.UUID{members[target].Node, members[start].Node})
		s.forget()
	}
	if found == nil {
		return nil
	}
	return found
}

// suspects are the new edges that may close a cycle. Nearly always there are none: an edge to a member that nothing
// continues closes nothing. By From, so that searches for the same member follow each other and share what they saw.
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

// search looks for ways along the edges. What it has seen without finding its target it does not visit again.
type search struct {
	graph
	target int32
	// cameFrom is the position before each seen member, the member itself for a start, -1 for unseen.
	cameFrom []int32
}

// forget has the next search begin anew: what this one saw does lead to its target.
func (s *search) forget() { s.target = -1 }

// way gives the nodes of a shortest way from start to target, both included; nil if there is none.
func (s *search) way(start, target int32) []uuid.UUID {
	if s.target != target {
		s.target = target
		s.cameFrom = slices.Repeat([]int32{-1}, len(s.members))
	}
	if s.cameFrom[start] >= 0 {
		return nil
	}
	s.cameFrom[start] = start
	for queue := []int32{start}; len(queue) > 0; queue = queue[1:] {
		if queue[0] == target {
			return s.back(target)
		}
		for _, next := range s.out.of(queue[0]) {
			if s.cameFrom[next] < 0 {
				s.cameFrom[next] = queue[0]
				queue = append(queue, next)
			}
		}
	}
	return nil
}

// back gives the way that was found to a position, from its start on.
func (s *search) back(at int32) []uuid.UUID {
	way := []uuid.UUID{s.members[at].Node}
	for s.cameFrom[at] != at {
		at = s.cameFrom[at]
		way = append(way, s.members[at].Node)
	}
	slices.Reverse(way)
	return way
}
