package flow

import (
	"cmp"
	"slices"
	"strings"

	"github.com/google/uuid"
)

// What begins the Problems that speak of a part of the file. Giving the part another value settles them.
const (
	namePlace        = "name: "
	descriptionPlace = "description: "
	storyPlace       = "story"
	currentPlace     = "current: "
)

// Check says whether a change may be applied. Errors: *MemberError, *NotMemberError, *NextIndexError, *UnknownIndexError,
// *NotConnectedError, *CycleError, *FullError. Edges that Skipped holds count as well when it looks for cycles, so that an accepted edge is never taken
// for part of a hand-made cycle later.
func (f Flow) Check(c Change) error {
	if err := f.checkGone(c); err != nil {
		return err
	}
	f = f.without(c)
	if err := f.checkSize(c); err != nil {
		return err
	}
	if err := f.checkMembers(c.Add); err != nil {
		return err
	}
	for _, e := range c.Connect {
		if err := f.checkIndexes(c, e.From, e.To); err != nil {
			return err
		}
	}
	if c.Current != nil && *c.Current != 0 {
		if err := f.checkIndexes(c, *c.Current); err != nil {
			return err
		}
	}
	return f.checkCycle(c)
}

// checkGone refuses to take away what is not there.
func (f Flow) checkGone(c Change) error {
	for _, m := range c.Remove {
		held, ok := f.NodeAt(m.Index)
		switch {
		case !ok:
			return &UnknownIndexError{Flow: f.ID, Index: m.Index}
		case held != m.Node:
			return &NotMemberError{Flow: f.ID, Nodes: []uuid.UUID{m.Node}}
		}
	}
	for _, e := range c.Disconnect {
		if containsEdge(f.Edges, e) {
			continue
		}
		if err := f.checkIndexes(Change{}, e.From, e.To); err != nil {
			return err
		}
		from, _ := f.NodeAt(e.From)
		to, _ := f.NodeAt(e.To)
		return &NotConnectedError{Flow: f.ID, From: from, To: to}
	}
	return nil
}

// checkIndexes refuses indexes that are neither of a member nor of one that the change adds.
func (f Flow) checkIndexes(c Change, indexes ...int) error {
	for _, index := range indexes {
		_, held := position(f.Members, index)
		if added := index >= f.next() && index < f.next()+len(c.Add); !held && !added {
			return &UnknownIndexError{Flow: f.ID, Index: index}
		}
	}
	return nil
}

func (f Flow) checkSize(c Change) error {
	switch {
	case len(f.Members)+len(c.Add) > MaxMembers && len(c.Add) > 0:
		return &FullError{Flow: f.ID, What: "nodes", Limit: MaxMembers}
	case len(f.Edges)+len(c.Connect) > MaxEdges && len(c.Connect) > 0:
		return &FullError{Flow: f.ID, What: "edges", Limit: MaxEdges}
	case f.next()+len(c.Add)-1 > MaxIndex:
		return &FullError{Flow: f.ID, What: "indexes", Limit: MaxIndex}
	case nameBytes(c.Connect) > 0 && nameBytes(withEdges(f.Edges, c.Connect)) > MaxEdgeNames:
		return &FullError{Flow: f.ID, What: "bytes of names of edges", Limit: MaxEdgeNames}
	}
	return nil
}

func nameBytes(edges []Edge) (bytes int) {
	for _, e := range edges {
		bytes += len(e.Name)
	}
	return bytes
}

func (f Flow) checkMembers(add []Member) error {
	added := make(map[uuid.UUID]bool, len(add))
	for i, m := range add {
		if want := f.next() + i; m.Index != want {
			return &NextIndexError{Flow: f.ID, Index: m.Index, Next: want}
		}
		if _, held := f.IndexOf(m.Node); held || added[m.Node] {
			return &MemberError{Flow: f.ID, Node: m.Node}
		}
		added[m.Node] = true
	}
	return nil
}

// next is Next, which a flow made by hand may have left at zero.
func (f Flow) next() int {
	if f.Next > 0 {
		return f.Next
	}
	return NextOf(f)
}

// Apply gives the flow after a change that Check accepted. The old value stays as it is; slices that the change does not
// concern are shared, the others copied (about 80 us for 10,000 nodes). Applying the same change twice is applying it
// once, and applying several again in their order comes to what they came to, so that a log can be replayed onto a file that
// holds some of it already.
func (f Flow) Apply(c Change) Flow {
	before := f
	f = f.without(c)
	f.Updated = c.At
	f.rewrite(c)
	f.Members = withMembers(f.Members, c.Add)
	f.Edges = withEdges(f.Edges, c.Connect)
	f.Next = max(f.next(), NextOf(Flow{Members: c.Add, Edges: c.Connect}))
	if takes := len(c.Remove)+len(c.Disconnect) > 0; takes && len(before.Skipped) > 0 {
		f.skipAgain(before)
	}
	if c.Current != nil {
		f.place(*c.Current)
	} else if isOf(c.Remove, f.Current) {
		f.place(0)
	}
	return f
}

// place moves the reader's place.
func (f *Flow) place(index int) {
	f.Current = index
	f.settle(currentPlace)
}

// rewrite gives the flow its new words.
func (f *Flow) rewrite(c Change) {
	if c.Name != nil {
		f.Name = *c.Name
		f.settle(namePlace)
	}
	if c.Description != nil {
		f.Description = *c.Description
		f.settle(descriptionPlace)
	}
	if c.Story != nil {
		f.Story = *c.Story
		f.settle(storyPlace)
	}
}

// settle forgets the problems of a part.
func (f *Flow) settle(place string) {
	f.Problems = slices.DeleteFunc(slices.Clone(f.Problems), func(p string) bool { return strings.HasPrefix(p, place) })
}

// without gives the flow without what a change takes away; Next stays, so that no index is given twice.
func (f Flow) without(c Change) Flow {
	if len(c.Remove) == 0 && len(c.Disconnect) == 0 {
		return f
	}
	f.Next = f.next()
	cut := slices.Clone(c.Disconnect)
	slices.SortFunc(cut, compareEdges)
	gone := make(map[int]bool, len(c.Remove))
	for _, m := range c.Remove {
		gone[m.Index] = true
	}
	f.Members = slices.DeleteFunc(slices.Clone(f.Members), func(m Member) bool { return gone[m.Index] })
	f.Edges = slices.DeleteFunc(slices.Clone(f.Edges), func(e Edge) bool {
		return gone[e.From] || gone[e.To] || containsEdge(cut, e)
	})
	return f
}

// isOf says whether an index is one of the members'.
func isOf(members []Member, index int) bool {
	return slices.ContainsFunc(members, func(m Member) bool { return m.Index == index })
}

// withMembers gives members and those of add whose index is new, sorted.
func withMembers(members, add []Member) []Member {
	if len(add) == 0 {
		return members
	}
	all := append(make([]Member, 0, len(members)+len(add)), members...)
	for _, m := range add {
		if at, held := position(all, m.Index); !held {
			all = slices.Insert(all, at, m)
		}
	}
	return all
}

// withEdges gives edges and those of add, sorted. One that is there keeps its name where add gives none.
func withEdges(edges, add []Edge) []Edge {
	if len(add) == 0 {
		return edges
	}
	sorted := slices.Clone(add)
	slices.SortStableFunc(sorted, compareEdges)
	all := make([]Edge, 0, len(edges)+len(add))
	for _, e := range slices.CompactFunc(sorted, sameEnds) {
		at, held := slices.BinarySearchFunc(edges, e, compareEdges)
		all = append(all, edges[:at]...)
		if held {
			e.Name = cmp.Or(e.Name, edges[at].Name)
			at++
		}
		all = append(all, e)
		edges = edges[at:]
	}
	return append(all, edges...)
}
