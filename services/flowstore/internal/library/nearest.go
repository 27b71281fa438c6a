package library

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/flow"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store"
)

// spared gives a new flow without the nodes that were taken away here. errWoven; *flow.FullError.
func spared(tx store.Tx, f flow.Flow) (flow.Flow, error) {
	var gone []flow.Member
	for _, m := range f.Members {
		there, err := tx.HasNode(m.Node)
		if err != nil {
			return f, err
		}
		if !there && isAway(tx, m.Node) {
			gone = append(gone, m)
		}
	}
	if len(gone) == 0 {
		return f, nil
	}
	return without(f, gone)
}

// without takes members out of a flow, as a flow.Splice of one after the other does: what follows them goes on from those before,
// heads and the reader's place move there, and a place with nothing before it moves to the newest leaf that is left. It takes time
// for the flow and for the edges that it makes, however many go. errWoven; *flow.FullError.
func without(f flow.Flow, members []flow.Member) (flow.Flow, error) {
	c, gone := flow.Change{At: f.Updated, Remove: members}, make(map[int]bool, len(members))
	for _, m := range members {
		gone[m.Index] = true
	}
	above, err := nearest(f, func(index int) (int, bool) { return index, !gone[index] })
	if err != nil {
		return f, err
	}
	back := func(index int) int {
		if len(above[index]) == 0 {
			return 0
		}
		return above[index][0].from
	}
	for _, m := range f.Members {
		if gone[m.Index] {
			continue
		}
		for _, w := range above[m.Index] {
			if _, held := f.Edge(w.from, m.Index); !held {
				c.Connect = append(c.Connect, flow.Edge{From: w.from, To: m.Index, Name: w.name})
			}
		}
	}
	for _, h := range f.Heads {
		if gone[h.Index] {
			c.Heads = append(c.Heads, flow.Head{Name: h.Name, Index: back(h.Index)})
		}
	}
	var full *flow.FullError
	if errors.As(f.Check(c), &full) { // what else is wrong, such as a cycle, is a problem of its file and stays one
		return f, full
	}
	place := f.Current
	f = f.Apply(c)
	if gone[place] {
		place = cmp.Or(back(place), f.NewestLeaf())
		f = f.Apply(flow.Change{At: f.Updated, Current: &place})
	}
	return f, nil
}

// maxMet is how many parents nearest gathers where nodes were taken out.
const maxMet = 10 * flow.MaxEdges

// errWoven ends the import of a flow of which too much was taken out.
var errWoven = fmt.Errorf("so many of its nodes were taken out where branches meet that it would take more than %d edges to lead past them; "+
	"import it into another namespace", maxMet)

// way leads from a node that is there, past what was taken out.
type way struct {
	from int
	// name is that of the last edge on it which has one.
	name string
}

// nearest gives, for each node of from by its index, the ways from those that stand nearest above it and are there, each once and by
// their index there: what is between was taken out. here says where a node of from is there; it is asked once for each, however much
// was taken out. errWoven.
func nearest(from flow.Flow, here func(index int) (there int, ok bool)) (above map[int][]way, err error) {
	above = make(map[int][]way, len(from.Members))
	past := make(map[int][]way, len(from.Members)) // what those that continue a node find
	met := 0
	for _, step := range from.History() {
		var found []way
		for _, p := range step.Parents {
			e, _ := from.Edge(p.Index, step.Index)
			if len(step.Parents) == 1 && e.Name == "" {
				found = past[p.Index] // the same, not a copy: a long row costs no more than its length
				break
			}
			if met += len(past[p.Index]); met > maxMet {
				return nil, errWoven
			}
			for _, w := range past[p.Index] {
				found = append(found, way{w.from, cmp.Or(e.Name, w.name)})
			}
		}
		if len(step.Parents) > 1 {
			slices.SortStableFunc(found, func(a, b way) int { return cmp.Compare(a.from, b.from) })
			found = slices.CompactFunc(found, func(a, b way) bool { return a.from == b.from })
		}
		above[step.Index], past[step.Index] = found, found
		if there, ok := here(step.Index); ok {
			if met += len(found); met > maxMet { // each becomes an edge
				return nil, errWoven
			}
			past[step.Index] = []way{{from: there}}
		}
	}
	return above, nil
}
