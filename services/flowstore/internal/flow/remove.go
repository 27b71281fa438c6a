package flow

import "cmp"

// RemoveMode says what becomes of the nodes that continue one which leaves a flow (field/flowstore.md row 22).
type RemoveMode int

const (
	// Restrict refuses to remove a node that others continue.
	Restrict RemoveMode = iota
	// Splice makes those that continued it continue what it continued.
	Splice
	// Subtree removes what continued it as well, and what continued that. A node into which another branch was merged stays,
	// behind that branch.
	Subtree
)

// Removal gives the change, without its time, by which the member with an index leaves the flow. If the reader's place goes,
// it moves to the first node that the member continued, otherwise to the newest leaf that is left; a head moves to that first
// node, otherwise it goes. *UnknownIndexError;
// *HasChildrenError.
func (f Flow) Removal(index int, mode RemoveMode) (Change, error) {
	at, ok := position(f.Members, index)
	if !ok {
		return Change{}, &UnknownIndexError{Flow: f.ID, Index: index}
	}
	g := f.walkable()
	children := g.out.of(int32(at))
	if mode == Restrict && len(children) > 0 {
		refusal := &HasChildrenError{Flow: f.ID, Node: f.Members[at].Node}
		for _, child := range children {
			refusal.Children = append(refusal.Children, f.Members[child].Node)
		}
		return Change{}, refusal
	}
	c := Change{Remove: []Member{f.Members[at]}}
	switch mode {
	case Restrict:
	case Splice:
		c.Connect = f.splice(g, int32(at))
	case Subtree:
		c.Remove = g.onlyBehind(int32(at))
	}
	back := 0
	if parents := g.in.of(int32(at)); len(parents) > 0 {
		back = f.Members[parents[0]].Index
	}
	gone := indexesOf(c.Remove)
	for _, h := range f.Heads {
		if gone[h.Index] {
			c.Heads = append(c.Heads, Head{Name: h.Name, Index: back})
		}
	}
	if gone[f.Current] {
		place := back
		if place == 0 {
			place = f.without(c).NewestLeaf()
		}
		c.Current = &place
	}
	return c, nil
}

// splice gives the edges that lead past a member. Each has the name of the edge that it stands for; one that is there already
// is left as it is.
func (f Flow) splice(g graph, at int32) (past []Edge) {
	index := f.Members[at].Index
	for _, parent := range g.in.of(at) {
		for _, child := range g.out.of(at) {
			e := Edge{From: f.Members[parent].Index, To: f.Members[child].Index}
			if containsEdge(f.Edges, e) {
				continue
			}
			before, _ := f.Edge(e.From, index)
			behind, _ := f.Edge(index, e.To)
			e.Name = cmp.Or(behind.Name, before.Name)
			past = append(past, e)
		}
	}
	return past
}

// onlyBehind gives a member and all that can be reached through it alone.
func (g graph) onlyBehind(at int32) (members []Member) {
	left := map[int32]int{}
	for queue := []int32{at}; len(queue) > 0; queue = queue[1:] {
		members = append(members, g.members[queue[0]])
		for _, child := range g.out.of(queue[0]) {
			if _, seen := left[child]; !seen {
				left[child] = len(g.in.of(child))
			}
			if left[child]--; left[child] == 0 {
				queue = append(queue, child)
			}
		}
	}
	return members
}
