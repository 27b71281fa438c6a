package search

import (
	"encoding/binary"
	"iter"
	"math/bits"

	"github.com/RoaringBitmap/roaring/v2"
)

// posting says that the node at a place has a term: place<<1, and 1 besides where a word begins with the term.
type posting uint32

func (p posting) place() uint32 { return uint32(p >> 1) }

// list is the postings of a term in a segment, ascending, in as few bytes as are cheap to read: their number<<1, as a
// varint, and then for each the distance from the one before, as a varint. A term that a quarter of the nodes have takes
// less as two fields of bits, one for its places and one for those where a word begins with it; then the number has 1 besides.
type list []byte

// dense says that so many postings in so many nodes are fields of bits.
func dense(count, nodes int) bool { return 4*count >= nodes }

// field is the length of a field of bits, in bytes.
func field(nodes int) int { return (nodes + 7) / 8 }

// appendList writes a list. The places are those within the segment.
func appendList(b []byte, all []posting, nodes int) []byte {
	if !dense(len(all), nodes) {
		b = binary.AppendUvarint(b, uint64(len(all))<<1)
		last := posting(0)
		for _, p := range all {
			b = binary.AppendUvarint(b, uint64(p-last&^1))
			last = p
		}
		return b
	}
	b = binary.AppendUvarint(b, uint64(len(all))<<1|1)
	at, size := len(b), field(nodes)
	b = append(b, make([]byte, 2*size)...)
	for _, p := range all {
		b[at+int(p.place()/8)] |= 1 << (p.place() % 8)
		b[at+size+int(p.place()/8)] |= byte(p&1) << (p.place() % 8)
	}
	return b
}

// head takes a list apart.
func (l list) head() (count int, dense bool, rest []byte) {
	n, size := step(l)
	return int(n >> 1), n&1 != 0, l[size:]
}

// postings gives all of a list.
func (l list) postings() iter.Seq[posting] {
	return func(yield func(posting) bool) {
		count, dense, rest := l.head()
		if !dense {
			last := posting(0)
			for range count {
				step, size := step(rest)
				rest = rest[size:]
				last = last&^1 + step
				if !yield(last) {
					return
				}
			}
			return
		}
		size := len(rest) / 2
		for i, b := range rest[:size] {
			for ; b != 0; b &= b - 1 {
				bit := bits.TrailingZeros8(b)
				if !yield(posting(i*8+bit)<<1 | posting(rest[size+i]>>bit&1)) {
					return
				}
			}
		}
	}
}

// step reads a distance or a head. Most are of one byte.
func step(b []byte) (posting, int) {
	if b[0] < 1<<7 {
		return posting(b[0]), 1
	}
	n, size := binary.Uvarint(b)
	return posting(n), size
}

// set is a set of places, as a field of bits.
type set []uint64

func (c *contents) newSet() set { return make(set, len(c.nodes)/64+1) }

func (s set) add(place uint32) { s[place/64] |= 1 << (place % 64) }

func (s set) has(place uint32) bool { return s[place/64]>>(place%64)&1 != 0 }

// gather adds the places of a list, of which the first of the segment is given; starting, only those where a word begins.
func (s set) gather(l list, first uint32, starting bool) {
	count, dense, rest := l.head()
	if !dense {
		last := posting(0)
		for range count {
			step, size := step(rest)
			rest = rest[size:]
			if last = last&^1 + step; !starting || last&1 != 0 {
				s.add(first + last.place())
			}
		}
		return
	}
	size := len(rest) / 2
	bytes := rest[:size]
	if starting {
		bytes = rest[size:]
	}
	for i, b := range bytes {
		at := first + uint32(i)*8
		s[at/64] |= uint64(b) << (at % 64)
		if at%64 > 56 && at/64+1 < uint32(len(s)) {
			s[at/64+1] |= uint64(b) >> (64 - at%64)
		}
	}
}

func (s set) and(o set) {
	for i := range s {
		s[i] &= o[i]
	}
}

func (s set) or(o set) {
	for i := range s {
		s[i] |= o[i]
	}
}

func (s set) andNot(o set) {
	for i := range s {
		s[i] &^= o[i]
	}
}

func (s set) take(place uint32) { s[place/64] &^= 1 << (place % 64) }

// places gives those of the set, ascending.
func (s set) places() iter.Seq[uint32] {
	return func(yield func(uint32) bool) {
		for i, block := range s {
			for ; block != 0; block &= block - 1 {
				if !yield(uint32(i*64 + bits.TrailingZeros64(block))) {
					return
				}
			}
		}
	}
}

// setOf gives the places of a bitmap of the index.
func (c *contents) setOf(b *roaring.Bitmap) set {
	s := c.newSet()
	b.WriteDenseTo(s)
	return s
}
