package flow

import (
	"fmt"
	"slices"
	"strings"
)

// TakingBack gives the change, without its time, that takes back what the change left of the flow: back is Invert's for it. What
// others wrote elsewhere in the flow since stays. Where the reader went on reading since, the place stays, too; if it goes, it
// moves as in Removal. *UndoError, and what Check refuses.
func (f Flow) TakingBack(left, back Change) (Change, error) {
	if err := Stands(f, left); err != nil {
		return Change{}, err
	}
	back.Current = f.placeAfter(left, back)
	return back, f.Check(back)
}

// placeAfter gives where the reader stands when a change was taken back; nil: where he stands now.
func (f Flow) placeAfter(left, back Change) *int {
	gone := indexesOf(back.Remove)
	stays := func(index int) bool {
		_, held := position(f.Members, index)
		return held && !gone[index] || indexesOf(back.Restore)[index] || indexesOf(back.Add)[index]
	}
	leftAt := 0 // Where a change says nothing of the place and moved it all the same, it took it away.
	if left.Current != nil {
		leftAt = *left.Current
	}
	switch before := back.Current; {
	case before != nil && (f.Current == leftAt || gone[f.Current]) && (*before == 0 || stays(*before)):
		return before
	case !gone[f.Current]:
		return nil
	}
	g := f.walkable()
	for at, _ := position(f.Members, f.Current); ; {
		parents := g.in.of(int32(at))
		if len(parents) == 0 {
			break
		}
		at = int(parents[0])
		if index := f.Members[at].Index; !gone[index] {
			return &index
		}
	}
	leaf := f.without(back).NewestLeaf()
	return &leaf
}

// Told says what a change did, in words for people, such as `2 nodes added, 1 edge made`.
func (c Change) Told() string {
	var parts []string
	tell := func(n int, one, many, did string) {
		switch {
		case n == 1:
			parts = append(parts, "1 "+one+" "+did)
		case n > 1:
			parts = append(parts, fmt.Sprintf("%d %s %s", n, many, did))
		}
	}
	for _, word := range []struct {
		changed bool
		name    string
	}{{c.Name != nil, "name"}, {c.Description != nil, "description"}, {c.Story != nil, "story"}} {
		if word.changed {
			parts = append(parts, word.name+" changed")
		}
	}
	tell(len(c.Remove), "node", "nodes", "removed")
	tell(len(c.Restore)+len(c.Add), "node", "nodes", "added")
	tell(len(c.Disconnect), "edge", "edges", "ended")
	tell(len(c.Connect), "edge", "edges", "made")
	placed := len(slices.DeleteFunc(slices.Clone(c.Heads), func(h Head) bool { return h.Index == 0 }))
	tell(placed, "head", "heads", "placed")
	tell(len(c.Heads)-placed, "head", "heads", "taken away")
	tell(len(c.Unlink), "link", "links", "removed")
	tell(len(c.Link), "link", "links", "made")
	return strings.Join(parts, ", ")
}
