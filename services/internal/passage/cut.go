package passage

import (
	"unicode/utf8"

	"github.com/rivo/uniseg"
)

// Unit is what sizes are counted in.
type Unit int

// The units.
const (
	Characters Unit = iota // code points
	Bytes                  // of UTF-8
)

// Size is how large a text is.
func (u Unit) Size(s string) int {
	if u == Bytes {
		return len(s)
	}
	return utf8.RuneCountInString(s)
}

// Head gives the longest beginning of a text of at most n that ends between two characters as a reader sees them (UAX #29).
func (u Unit) Head(s string, n int) string {
	if u.Size(s) <= n {
		return s
	}
	rest, state, size, at := s, -1, 0, 0
	for rest != "" {
		var cluster string
		cluster, rest, _, state = uniseg.FirstGraphemeClusterInString(rest, state)
		if size += u.Size(cluster); size > n {
			break
		}
		at += len(cluster)
	}
	return s[:at]
}

// Tail gives the longest end of a text of at most n that begins between two such characters.
func (u Unit) Tail(s string, n int) string {
	over := u.Size(s) - n
	if over <= 0 {
		return s
	}
	rest, state, size, at := s, -1, 0, 0
	for rest != "" && size < over {
		var cluster string
		cluster, rest, _, state = uniseg.FirstGraphemeClusterInString(rest, state)
		size += u.Size(cluster)
		at += len(cluster)
	}
	return s[at:]
}

// Ellipsis ends a text that was capped.
const Ellipsis = "…"

// Cap gives a text of at most n code points, which ends with Ellipsis where it was longer.
func Cap(s string, n int) string {
	if utf8.RuneCountInString(s) <= n {
		return s
	}
	return Characters.Head(s, n-1) + Ellipsis
}
