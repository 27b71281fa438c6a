package flow

import (
	"fmt"
	"slices"

	"github.com/google/uuid"
)

// Examine puts a flow that was read from a file in order and finds what is wrong with it: Members, Edges, Current and Next
// are as the file has them, in any order; a Next that is too small is raised. Of members with the same index or node the first counts; edges to nothing and
// edges that close a cycle become Skipped; a current that is no member becomes the newest leaf; heads and links of nothing
// stay. Each is added to Problems, behind what the reader found (field/flowstore.md rows 20 and 21; cases/flowstore.md 4).
func Examine(f Flow) Flow {
	f.Problems = slices.Clone(f.Problems)
	f.Next = max(f.Next, NextOf(f))
	f.Members = f.examineMembers()
	f.Edges = f.examineEdges()
	f.Skipped = nil
	f.Skipped = f.findSkipped()
	f.examineCurrent()
	f.examineBranches()
	return f
}

func (f *Flow) problem(format string, args ...any) {
	f.Problems = append(f.Problems, fmt.Sprintf(format, args...))
}

func (f *Flow) examineMembers() []Member {
	kept := make([]Member, 0, len(f.Members))
	indexes := make(map[int]bool, len(f.Members))
	nodes := make(map[uuid.UUID]int, len(f.Members))
	for _, m := range f.Members {
		first, twice := nodes[m.Node]
		switch {
		case m.Index < 1 || m.Index > MaxIndex:
			f.problem("nodes: index %d of node %s is not between 1 and %d; the entry is left out", m.Index, m.Node, MaxIndex)
		case indexes[m.Index]:
			f.problem("nodes: index %d stands there twice; the entry of node %s is left out", m.Index, m.Node)
		case twice:
			f.problem("nodes: node %s stands there twice; index %d counts, index %d is left out", m.Node, first, m.Index)
		default:
			indexes[m.Index], nodes[m.Node] = true, m.Index
			kept = append(kept, m)
		}
	}
	slices.SortFunc(kept, compareMembers)
	return kept
}

func (f *Flow) examineEdges() []Edge {
	sorted := slices.Clone(f.Edges)
	slices.SortStableFunc(sorted, compareEdges)
	edges := slices.CompactFunc(slices.Clone(sorted), sameEnds)
	if n := len(sorted) - len(edges); n > 0 {
		f.problem("connections: %d stand there more than once", n)
	}
	return edges
}

// findSkipped gives the edges that lead to or from nothing or close a cycle, sorted.
func (f *Flow) findSkipped() []Edge {
	var skipped []Edge
	for _, e := range f.Edges {
		_, from := position(f.Members, e.From)
		_, to := position(f.Members, e.To)
		if !from || !to {
			f.problem("%s", leadsNowhere(e, missing(e, from)))
			skipped = append(skipped, e)
		}
	}
	for _, e := range newGraph(f.Members, f.Edges, nil).closingEdges() {
		f.problem("%s", closesCycle(e))
		skipped = append(skipped, e)
	}
	slices.SortFunc(skipped, compareEdges)
	return skipped
}

// skipAgain finds anew which edges traversals leave out, when edges went: an edge closes a cycle no more when another one
// of the cycle is gone. before is the flow that still had them.
func (f *Flow) skipAgain(before Flow) {
	before.Problems = nil
	before.findSkipped()
	f.Problems = slices.DeleteFunc(slices.Clone(f.Problems), func(p string) bool { return slices.Contains(before.Problems, p) })
	f.Skipped = f.findSkipped()
}

func missing(e Edge, fromIsThere bool) int {
	if fromIsThere {
		return e.To
	}
	return e.From
}

func (f *Flow) examineCurrent() {
	if _, ok := position(f.Members, f.Current); ok || f.Current == 0 {
		return
	}
	leaf := f.NewestLeaf()
	f.problem(currentPlace+"no node has index %d; the newest leaf, %d, is taken", f.Current, leaf)
	f.Current = leaf
}

// NextOf gives the index that the next member gets in a flow out of which nothing was taken: one more than every index of a
// member, an edge, a head or a link, so that a new member is never mistaken for one that an edge waits for. Numbers that cannot be an index
// do not count.
func NextOf(f Flow) int {
	last := 0
	use := func(index int) {
		if index <= MaxIndex {
			last = max(last, index)
		}
	}
	for _, m := range f.Members {
		use(m.Index)
	}
	for _, e := range f.Edges {
		use(e.From)
		use(e.To)
	}
	for _, h := range f.Heads {
		use(h.Index)
	}
	for _, l := range f.Links {
		use(l.From)
	}
	return last + 1
}
