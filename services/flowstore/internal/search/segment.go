package search

import (
	"cmp"
	"maps"
	"slices"
)

const (
	// tailNodes is how many nodes are kept as they were put before they become a segment.
	tailNodes = 128
	// fanIn is how many segments of one size become one: a node is copied a few times, and few segments are to be asked.
	fanIn = 4
)

// segment is what nodes with places one behind the other are found by. It does not change.
type segment struct {
	// first is the place of the first of them, nodes how many they are, removed ones included.
	first uint32
	nodes int
	// grams are sorted.
	grams []gram
	words words
	// lists are those of the grams, of the words, and of the nodes with words that are too long, one behind the other; at is
	// where each begins, and the end of the last.
	lists []byte
	at    []uint32
}

func (s *segment) list(n int) list     { return s.lists[s.at[n]:s.at[n+1]] }
func (s *segment) ofWord(n int) list   { return s.list(len(s.grams) + n) }
func (s *segment) long() list          { return s.list(len(s.at) - 2) }
func (s *segment) terms() int          { return len(s.grams) + len(s.words.starts) }
func (s *segment) gram(n int) gram     { return s.grams[n] }
func (s *segment) end() (place uint32) { return s.first + uint32(s.nodes) }

// among says that any of the places of a set is one of the segment.
func (s *segment) among(places set) bool {
	if s.nodes == 0 {
		return false
	}
	from, to := s.first/64, (s.end()-1)/64
	for i := from; i <= to; i++ {
		block := places[i]
		if i == from {
			block &= ^uint64(0) << (s.first % 64)
		}
		if i == to {
			block &= ^uint64(0) >> (63 - (s.end()-1)%64)
		}
		if block != 0 {
			return true
		}
	}
	return false
}

// ofGram gives the list of a gram; nil where no node has it.
func (s *segment) ofGram(g gram) list {
	if n, known := slices.BinarySearch(s.grams, g); known {
		return s.list(n)
	}
	return nil
}

// enter writes the list of the next term.
func (s *segment) enter(all []posting) {
	s.at = append(s.at, uint32(len(s.lists)))
	s.lists = appendList(s.lists, all, s.nodes)
}

// finish writes the list of the nodes with long words, and gives back what memory was got too much.
func (s *segment) finish(long []posting) *segment {
	s.enter(long)
	s.at = append(s.at, uint32(len(s.lists)))
	s.grams, s.at, s.lists = slices.Clone(s.grams), slices.Clone(s.at), slices.Clone(s.lists)
	s.words = words{slices.Clone(s.words.text), slices.Clone(s.words.starts)}
	return s
}

// settle makes a segment of nodes that were put, the first of them at a place.
func settle(tail []terms, first uint32) *segment {
	s := &segment{first: first, nodes: len(tail)}
	var all, long []posting
	for i, t := range tail {
		if t.long {
			long = append(long, posting(i)<<1)
		}
	}
	grams := gramsOf(tail)
	for i, u := range grams {
		all = append(all, posting(u&(1<<tailBits-1)))
		if g := gram(u >> tailBits); i+1 == len(grams) || gram(grams[i+1]>>tailBits) != g {
			s.grams = append(s.grams, g)
			s.enter(all)
			all = all[:0]
		}
	}
	uses := wordsOf(tail)
	for _, w := range slices.Sorted(maps.Keys(uses)) {
		s.words.add(w)
		s.enter(uses[w])
	}
	return s.finish(long)
}

// tailBits are enough for a posting of the tail, and leave enough for a gram.
const tailBits = 8

// gramsOf gives the grams of nodes with their postings behind them, sorted.
func gramsOf(tail []terms) []uint64 {
	count := 0
	for _, t := range tail {
		count += len(t.grams)
	}
	all := make([]uint64, 0, count)
	for i, t := range tail {
		for _, u := range t.grams {
			all = append(all, uint64(u.gram())<<tailBits|uint64(i)<<1|uint64(u&1))
		}
	}
	slices.Sort(all)
	return all
}

// wordsOf gives the words of nodes with their postings.
func wordsOf(tail []terms) map[string][]posting {
	uses := map[string][]posting{}
	for i, t := range tail {
		for _, w := range t.list() {
			uses[w] = append(uses[w], posting(i)<<1)
		}
	}
	return uses
}

// gone is where a removed node goes.
const gone = 1<<32 - 1

// merger makes one segment of several.
type merger struct {
	from []*segment
	// moved is the new place of each node, and gone for one that is left out; nil where all stay.
	moved []uint32
	to    *segment
	all   []posting
}

// merge makes one segment of several, which follow each other. With moved it begins at place 0, and has so many nodes.
func merge(from []*segment, moved []uint32, nodes int) *segment {
	m := merger{from: from, moved: moved, to: &segment{nodes: nodes}}
	if moved == nil {
		m.to.first = from[0].first
		m.to.nodes = int(from[len(from)-1].end() - m.to.first)
	}
	walk(m.from, func(s *segment) int { return len(s.grams) }, (*segment).gram, func(s *segment, n int) { m.take(s, s.list(n)) }, func(g gram) {
		if len(m.all) > 0 {
			m.to.grams = append(m.to.grams, g)
			m.enter()
		}
	})
	word := func(s *segment, n int) string { return s.words.word(n) }
	walk(m.from, func(s *segment) int { return len(s.words.starts) }, word, func(s *segment, n int) { m.take(s, s.ofWord(n)) }, func(w string) {
		if len(m.all) > 0 {
			m.to.words.add(w)
			m.enter()
		}
	})
	for _, s := range from {
		m.take(s, s.long())
	}
	return m.to.finish(m.all)
}

func (m *merger) enter() {
	m.to.enter(m.all)
	m.all = m.all[:0]
}

// take adds a list of a segment to what is gathered of its term.
func (m *merger) take(s *segment, l list) {
	for p := range l.postings() {
		place := s.first + p.place() - m.to.first
		if m.moved != nil {
			place = m.moved[place]
		}
		if place != gone {
			m.all = append(m.all, posting(place)<<1|p&1)
		}
	}
}

// walk goes through the sorted terms of several segments: it visits each of a term's segments, and then ends the term.
func walk[T cmp.Ordered](from []*segment, count func(*segment) int, term func(s *segment, n int) T, visit func(s *segment, n int), end func(T)) {
	next, heads := make([]int, len(from)), make([]T, len(from))
	for i, s := range from {
		if count(s) > 0 {
			heads[i] = term(s, 0)
		}
	}
	for {
		least := -1
		for i, s := range from {
			if next[i] < count(s) && (least < 0 || heads[i] < heads[least]) {
				least = i
			}
		}
		if least < 0 {
			return
		}
		t := heads[least]
		for i := least; i < len(from); i++ {
			s := from[i]
			if next[i] == count(s) || heads[i] != t {
				continue
			}
			visit(s, next[i])
			if next[i]++; next[i] < count(s) {
				heads[i] = term(s, next[i])
			}
		}
		end(t)
	}
}

// tidied merges the last segments for as long as there are fanIn of them of one size.
func tidied(all []*segment) []*segment {
	for {
		same := 0
		for same < len(all) && all[len(all)-1-same].level() <= all[len(all)-1].level() {
			same++
		}
		if same < fanIn {
			return all
		}
		kept := len(all) - same
		all = append(slices.Clip(all[:kept]), merge(all[kept:], nil, 0))
	}
}

// level tells sizes apart.
func (s *segment) level() int {
	level := 0
	for n := s.nodes; n >= tailNodes*fanIn; n /= fanIn {
		level++
	}
	return level
}
