package flow

import "slices"

// ForkWay is how much of a flow a fork takes along (field/flowstore.md 2).
type ForkWay int

// The ways.
const (
	// ForkWhole takes all members.
	ForkWhole ForkWay = iota
	// ForkPath takes a member and everything before it.
	ForkPath
	// ForkSiblings takes the path to a member and the siblings on it: what else continues a member before the end, and the
	// other roots, without what continues those.
	ForkSiblings
	// ForkSubtree takes a member and everything that continues it.
	ForkSubtree
)

// Fork gives a new flow, without id and times, out of members of this one: their nodes with indexes from 1 on in the order that they
// had, the edges between them but for those that traversals leave out, their heads and links, the words, and a link back
// to this flow, from the member that the way speaks of. ForkWhole speaks of none: index is not looked at, and the link begins at the
// flow. The reader stands at the member for ForkPath and ForkSiblings, otherwise where he stood, or at the newest leaf.
// *UnknownIndexError; *FullError for links.
func (f Flow) Fork(way ForkWay, index int) (Flow, error) {
	at, held := position(f.Members, index)
	if !held && way != ForkWhole {
		return Flow{}, &UnknownIndexError{Flow: f.ID, Index: index}
	}
	fork := Flow{Name: f.Name, Description: f.Description, Story: f.Story}
	now := map[int]int{}
	for i, chosen := range f.forked(way, int32(at)) {
		if chosen {
			now[f.Members[i].Index] = len(fork.Members) + 1
			fork.Members = append(fork.Members, Member{Index: len(fork.Members) + 1, Node: f.Members[i].Node})
		}
	}
	if way == ForkWhole {
		index = 0
	}
	fork.bring(f, now)
	fork.Links = withLinks(fork.Links, []Link{{From: now[index], Flow: f.ID}})
	fork.Next = len(fork.Members) + 1
	switch fork.Current = now[f.Current]; {
	case way == ForkPath || way == ForkSiblings:
		fork.Current = now[index]
	case fork.Current == 0 && f.Current != 0:
		fork.Current = fork.NewestLeaf()
	}
	if len(fork.Links) > MaxLinks {
		return Flow{}, &FullError{Flow: f.ID, What: "links", Limit: MaxLinks}
	}
	return fork, nil
}

// bring takes along edges, heads and links of members; now gives their new indexes.
func (f *Flow) bring(from Flow, now map[int]int) {
	for _, e := range from.Edges {
		if a, b := now[e.From], now[e.To]; a != 0 && b != 0 && !containsEdge(from.Skipped, e) {
			f.Edges = append(f.Edges, Edge{From: a, To: b, Name: e.Name})
		}
	}
	for _, h := range from.Heads {
		if at := now[h.Index]; at != 0 {
			f.Heads = append(f.Heads, Head{Name: h.Name, Index: at})
		}
	}
	for _, l := range from.Links {
		if at := now[l.From]; at != 0 || l.From == 0 {
			f.Links = append(f.Links, Link{From: at, Flow: l.Flow})
		}
	}
}

// forked marks the members that a fork takes along.
func (f Flow) forked(way ForkWay, at int32) []bool {
	g := f.walkable()
	switch way {
	case ForkWhole:
		return slices.Repeat([]bool{true}, len(f.Members))
	case ForkPath:
		return g.ancestors(at)
	case ForkSiblings:
		return g.withSiblings(g.ancestors(at), at)
	case ForkSubtree:
	}
	return graph{members: g.members, out: g.in, in: g.out}.ancestors(at)
}

// withSiblings marks, beside a path, what else continues its members but for the end, and the roots.
func (g graph) withSiblings(path []bool, end int32) []bool {
	marked := slices.Clone(path)
	for at := range int32(len(g.members)) {
		if len(g.in.of(at)) == 0 {
			marked[at] = true
		}
		if path[at] && at != end {
			for _, child := range g.out.of(at) {
				marked[child] = true
			}
		}
	}
	return marked
}
