package tokenizer

// candidate is a pair that may be joined: the place of its left symbol, and what both were when it was noted. A place is
// the index of the symbol in the first cut; it never changes while symbols to its right are taken in.
type candidate struct {
	rank uint32
	at   int32
	end  int32 // where the right symbol ended: another end means that the pair is no longer what it was
}

func (c candidate) before(d candidate) bool {
	return c.rank < d.rank || c.rank == d.rank && c.at < d.at
}

// joinMany is join for a long piece: the best pair comes from a heap, so that a piece of n symbols takes a time of
// n log n.
func (v *vocabulary) joinMany(s *scratch, symbols []symbol) []symbol {
	l := newLinks(s, len(symbols))
	heap := s.heap[:0]
	for i := range symbols {
		if symbols[i].rank != none {
			heap = append(heap, candidate{symbols[i].rank, int32(i), symbols[i+1].end})
		}
	}
	for i := len(heap)/2 - 1; i >= 0; i-- {
		sink(heap, i)
	}
	for len(heap) > 0 {
		c := heap[0]
		right := l.next[c.at]
		if symbols[c.at].rank != c.rank || right < 0 || symbols[right].end != c.end {
			heap = pop(heap)
			continue
		}
		heap = pop(heap)
		symbols[c.at].id, symbols[c.at].end = symbols[c.at].next, symbols[right].end
		symbols[right].rank = none
		l.take(c.at, right)
		heap = v.relink(heap, symbols, l, c.at)
		if left := l.prev[c.at]; left >= 0 {
			heap = v.relink(heap, symbols, l, left)
		}
	}
	s.heap = heap
	return l.compact(symbols)
}

// relink notes what the symbol at i and the one that follows it now become.
func (v *vocabulary) relink(heap []candidate, symbols []symbol, l links, i int32) []candidate {
	right := l.next[i]
	if right < 0 || symbols[i].id < 0 || symbols[right].id < 0 {
		symbols[i].rank = none
		return heap
	}
	symbols[i].rank, symbols[i].next = v.pairs.find(symbols[i].id, symbols[right].id)
	if symbols[i].rank == none {
		return heap
	}
	heap = append(heap, candidate{symbols[i].rank, i, symbols[right].end})
	rise(heap, len(heap)-1)
	return heap
}

// links say which symbols are left, in their order.
type links struct{ prev, next []int32 }

func newLinks(s *scratch, n int) links {
	if cap(s.links) < 2*n {
		s.links = make([]int32, 2*n)
	}
	l := links{s.links[:n], s.links[n : 2*n]}
	for i := range n {
		l.prev[i], l.next[i] = int32(i-1), int32(i+1)
	}
	l.next[n-1] = -1
	return l
}

// take removes the symbol right, which follows at.
func (l links) take(at, right int32) {
	l.next[at] = l.next[right]
	if l.next[at] >= 0 {
		l.prev[l.next[at]] = at
	}
}

func (l links) compact(symbols []symbol) []symbol {
	n := 0
	for i := int32(0); i >= 0; i = l.next[i] {
		symbols[n] = symbols[i]
		n++
	}
	return symbols[:n]
}

func pop(heap []candidate) []candidate {
	last := len(heap) - 1
	heap[0] = heap[last]
	sink(heap[:last], 0)
	return heap[:last]
}

func sink(heap []candidate, i int) {
	for {
		child := 2*i + 1
		if child >= len(heap) {
			return
		}
		if child+1 < len(heap) && heap[child+1].before(heap[child]) {
			child++
		}
		if !heap[child].before(heap[i]) {
			return
		}
		heap[i], heap[child] = heap[child], heap[i]
		i = child
	}
}

func rise(heap []candidate, i int) {
	for i > 0 {
		parent := (i - 1) / 2
		if !heap[i].before(heap[parent]) {
			return
		}
		heap[i], heap[parent] = heap[parent], heap[i]
		i = parent
	}
}
