package dynamic

import "math/bits"

// source is SplitMix64 (Steele, Lea, Flood 2014). It stands here, and not math/rand, since a seed that a writer has
// noted down must draw the same options with every later version of Go and on every machine.
type source uint64

const gamma = 0x9e3779b97f4a7c15

// newSource begins at the FNV-1a hash of the field's name, mixed with the seed.
func newSource(seed uint32, field string) source {
	const offset, prime = 14695981039346656037, 1099511628211
	hash := uint64(offset)
	for i := range len(field) {
		hash = (hash ^ uint64(field[i])) * prime
	}
	s := source(hash)
	return source(s.next() ^ uint64(seed))
}

func (s *source) next() uint64 {
	*s += gamma
	z := uint64(*s)
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// of gives the source of one group, which does not depend on the groups before it: the first number that it draws is the
// one that this source would draw after as many others.
func (s source) of(group int) source { return s + source(group)*gamma }

// below draws a number from 0 to n-1. Each is as likely as the others to within n in 2^64.
func (s *source) below(n uint64) uint64 {
	high, _ := bits.Mul64(s.next(), n)
	return high
}
