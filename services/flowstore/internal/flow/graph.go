package flow

import (
	"cmp"
	"slices"
)

// graph is a flow as positions in its members, so that walking it needs no map. Edges to members that are not there
// are not in it.
type graph struct {
	members []Member
	// out and in are the neighbours of each member, by ascending index.
	out, in rows
}

// newGraph builds the graph of edges, which are sorted, without those in skip.
func newGraph(members []Member, edges, skip []Edge) graph {
	pairs := make([][2]int32, 0, len(edges))
	for _, e := range edges {
		from, known := position(members, e.From)
		to, alsoKnown := position(members, e.To)
		if known && alsoKnown && !containsEdge(skip, e) {
			pairs = append(pairs, [2]int32{int32(from), int32(to)})
		}
	}
	return graph{members: members, out: newRows(len(members), pairs, 0), in: newRows(len(members), pairs, 1)}
}

// walkable is the graph that traversals follow.
func (f Flow) walkable() graph { return newGraph(f.Members, f.Edges, f.Skipped) }

// rows are lists of positions, one list per position, in one piece of memory.
type rows struct{ start, list []int32 }

// newRows lists, for each of n positions, the other ends of the pairs whose end number key it is, in the order of pairs.
func newRows(n int, pairs [][2]int32, key int) rows {
	r := rows{start: make([]int32, n+1), list: make([]int32, len(pairs))}
	for _, p := range pairs {
		r.start[p[key]+1]++
	}
	for i := range n {
		r.start[i+1] += r.start[i]
	}
	next := slices.Clone(r.start)
	for _, p := range pairs {
		r.list[next[p[key]]] = p[1-key]
		next[p[key]]++
	}
	return r
}

// of gives the list of one position.
func (r rows) of(at int32) []int32 { return r.list[r.start[at]:r.start[at+1]] }

// position finds the member with an index. Members are sorted, and in nearly every flow index i stands at i-1.
func position(members []Member, index int) (at int, ok bool) {
	if i := index - 1; i >= 0 && i < len(members) && members[i].Index == index {
		return i, true
	}
	return slices.BinarySearchFunc(members, index, func(m Member, index int) int { return cmp.Compare(m.Index, index) })
}

func compareMembers(a, b Member) int { return cmp.Compare(a.Index, b.Index) }

// compareEdges orders edges by From, then To: names do not count.
func compareEdges(a, b Edge) int {
	return cmp.Or(cmp.Compare(a.From, b.From), cmp.Compare(a.To, b.To))
}

// sameEnds says whether two edges lead from and to the same.
func sameEnds(a, b Edge) bool { return compareEdges(a, b) == 0 }

// containsEdge says whether the sorted edges hold e.
func containsEdge(edges []Edge, e Edge) bool {
	_, found := slices.BinarySearchFunc(edges, e, compareEdges)
	return found
}
