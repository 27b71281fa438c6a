package flow

import "slices"

// Step is a member on a path, with the members that it continues, by index.
type Step struct {
	Member
	Parents []Member
}

// Path gives a member and everything before it, each once and parents before what continues them. A branch stays
// together until it merges into another; roots and branches come in the order of their indexes (field/flowstore.md row
// 29). Nil where no member has the index.
func (f Flow) Path(index int) []Step {
	end, ok := position(f.Members, index)
	if !ok {
		return nil
	}
	g := f.walkable()
	return g.order(g.ancestors(int32(end)))
}

// History gives every member, each once, in the order of Path: that of a member and all before it is the same here and
// there, but for what stands between.
func (f Flow) History() []Step {
	all := make([]bool, len(f.Members))
	for at := range all {
		all[at] = true
	}
	return f.walkable().order(all)
}

// order gives the chosen members, which are chosen with all that is before them (Kahn's order, with a stack).
func (g graph) order(chosen []bool) []Step {
	waiting := make([]int, len(g.members))
	var ready []int32
	for at := range int32(len(g.members)) {
		if waiting[at] = len(g.in.of(at)); chosen[at] && waiting[at] == 0 {
			ready = append(ready, at)
		}
	}
	slices.Reverse(ready)
	var steps []Step
	for len(ready) > 0 {
		at := ready[len(ready)-1]
		ready = ready[:len(ready)-1]
		steps = append(steps, g.step(at))
		for _, child := range slices.Backward(g.out.of(at)) {
			if waiting[child]--; chosen[child] && waiting[child] == 0 {
				ready = append(ready, child)
			}
		}
	}
	return steps
}

// ancestors marks a member and everything before it.
func (g graph) ancestors(end int32) []bool {
	marked := make([]bool, len(g.members))
	marked[end] = true
	for queue := []int32{end}; len(queue) > 0; {
		at := queue[len(queue)-1]
		queue = queue[:len(queue)-1]
		for _, parent := range g.in.of(at) {
			if !marked[parent] {
				marked[parent] = true
				queue = append(queue, parent)
			}
		}
	}
	return marked
}

func (g graph) step(at int32) Step {
	parents := make([]Member, len(g.in.of(at)))
	for i, parent := range g.in.of(at) {
		parents[i] = g.members[parent]
	}
	return Step{Member: g.members[at], Parents: parents}
}

// Parents gives the members that a member continues, by index.
func (f Flow) Parents(index int) []Member {
	var parents []Member
	for _, e := range f.Edges {
		if e.To != index || containsEdge(f.Skipped, e) {
			continue
		}
		if at, ok := position(f.Members, e.From); ok {
			parents = append(parents, f.Members[at])
		}
	}
	return parents
}

// NewestLeaf gives the member with the largest index that nothing continues; 0 for an empty flow.
func (f Flow) NewestLeaf() int {
	g := f.walkable()
	for at, m := range slices.Backward(f.Members) {
		if len(g.out.of(int32(at))) == 0 {
			return m.Index
		}
	}
	return 0
}
