package search

import (
	"sort"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// waveDash is what Japanese keyboards type for U+FF5E, which NFKC makes a tilde.
const waveDash = '〜'

// Fold gives a text as it is compared (field/flowstore.md 4): in the form NFKC, so that width, circled digits and composed
// kana are alike; in lower case; the wave dash as a tilde; white space of any length as one blank. Hiragana and katakana
// stay apart, the prolonged sound mark stays, and so does ß, which is its own letter in lower case: `STRASSE` is not `Straße`.
// A byte that is no UTF-8 becomes U+FFFD.
func Fold(text string) string {
	var b folder
	b.Grow(len(text))
	for _, r := range norm.NFKC.String(text) {
		b.add(r)
	}
	return b.String()
}

// folder writes a folded text, one character of the form NFKC after the other.
type folder struct {
	strings.Builder
	blank bool
}

func (f *folder) add(r rune) {
	blank := unicode.IsSpace(r)
	switch {
	case blank && f.blank:
	case blank:
		f.WriteByte(' ')
	case r == waveDash:
		f.WriteByte('~')
	default:
		f.WriteRune(unicode.ToLower(r))
	}
	f.blank = blank
}

// located is a folded text that knows where in the original each part of it comes from.
type located struct {
	text string
	// folded and original are where each part begins, in bytes; the last of each is the end of the text.
	folded, original []int
}

// locate folds a text part by part: each part is the shortest piece that NFKC changes by itself.
func locate(text string) located {
	var (
		b folder
		l located
	)
	part := func(at int, normal string) {
		l.folded, l.original = append(l.folded, b.Len()), append(l.original, at)
		for _, r := range normal {
			b.add(r)
		}
	}
	for at := 0; at < len(text); {
		for normal := at + max(norm.NFKC.QuickSpanString(text[at:]), 0); at < normal; {
			_, size := utf8.DecodeRuneInString(text[at:])
			part(at, text[at:at+size])
			at += size
		}
		if at < len(text) {
			size := max(norm.NFKC.NextBoundaryInString(text[at:], true), 1)
			part(at, norm.NFKC.String(text[at:at+size]))
			at += size
		}
	}
	l.text, l.folded, l.original = b.String(), append(l.folded, b.Len()), append(l.original, len(text))
	return l
}

// origin gives the place in the original, in bytes, of a piece of the folded text that is not empty.
func (l located) origin(from, to int) (start, end int) {
	last := sort.SearchInts(l.folded, from+1) - 1
	return l.original[last], l.original[last+sort.SearchInts(l.folded[last:], to)]
}
