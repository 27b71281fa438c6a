package flow

// closingEdges gives edges without which the graph has no cycle; none for a graph that has none.
//
// They are found within each set of members that lead to each other, walking it from its smallest index. What an accepted
// change adds never alters such a set (Check refuses every edge inside one or that would join two), so the same edges are
// found each time the file is read; when a change takes edges away, Apply looks again.
func (g graph) closingEdges() []Edge {
	if g.acyclic() {
		return nil
	}
	inner := g.inner()
	var closing []Edge
	w := newWalk(inner, len(g.members))
	w.back = func(from, to int32) {
		closing = append(closing, Edge{From: g.members[from].Index, To: g.members[to].Index})
	}
	for at := range int32(len(g.members)) {
		w.from(at)
	}
	return closing
}

// acyclic takes away members that nothing leads to until none is left, or only cycles and what is behind them.
func (g graph) acyclic() bool {
	waiting := make([]int, len(g.members))
	var ready []int32
	for at := range int32(len(g.members)) {
		if waiting[at] = len(g.in.of(at)); waiting[at] == 0 {
			ready = append(ready, at)
		}
	}
	for i := 0; i < len(ready); i++ {
		for _, child := range g.out.of(ready[i]) {
			if waiting[child]--; waiting[child] == 0 {
				ready = append(ready, child)
			}
		}
	}
	return len(ready) == len(g.members)
}

// sets gives each member a number, the same to all that lead to each other (Kosaraju: walk forwards, then backwards in the order of
// leaving).
func (g graph) sets() []int32 {
	n := len(g.members)
	left := make([]int32, 0, n)
	forwards := newWalk(g.out, n)
	forwards.leave = func(at int32) { left = append(left, at) }
	for at := range int32(n) {
		forwards.from(at)
	}
	set := make([]int32, n)
	backwards := newWalk(g.in, n)
	for i := n - 1; i >= 0; i-- {
		backwards.leave = func(at int32) { set[at] = left[i] }
		backwards.from(left[i])
	}
	return set
}

// inner gives the edges whose ends lead to each other.
func (g graph) inner() rows {
	n, set := len(g.members), g.sets()
	var pairs [][2]int32
	for from := range int32(n) {
		for _, to := range g.out.of(from) {
			if set[from] == set[to] {
				pairs = append(pairs, [2]int32{from, to})
			}
		}
	}
	return newRows(n, pairs, 0)
}

// walk goes through rows depth first, without recursion: a flow may be a chain of any length.
type walk struct {
	rows
	state []walkState
	// leave is called when everything behind a position was visited, back for an edge to a position on the way to it.
	leave func(at int32)
	back  func(from, to int32)
}

type walkState uint8

const (
	unseen walkState = iota
	onTheWay
	done
)

func newWalk(r rows, n int) *walk {
	return &walk{rows: r, state: make([]walkState, n), leave: func(int32) {}, back: func(int32, int32) {}}
}

// from visits what can be reached from start and was not visited before.
func (w *walk) from(start int32) {
	if w.state[start] != unseen {
		return
	}
	type frame struct{ at, next int32 }
	w.state[start] = onTheWay
	for way := []frame{{at: start}}; len(way) > 0; {
		top := &way[len(way)-1]
		list := w.of(top.at)
		if int(top.next) == len(list) {
			w.state[top.at] = done
			w.leave(top.at)
			way = way[:len(way)-1]
			continue
		}
		to := list[top.next]
		top.next++
		switch w.state[to] {
		case unseen:
			w.state[to] = onTheWay
			way = append(way, frame{at: to})
		case onTheWay:
			w.back(top.at, to)
		}
	}
}
