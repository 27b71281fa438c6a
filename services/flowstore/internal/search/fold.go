package search

import (
	"sort"
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
	b := folder{text: make([]byte, 0, len(text))}
	parts(text, func(_ int, folded rune) { b.add(folded) }, func(from, to int) {
		for _, r := range norm.NFKC.String(text[from:to]) {
			b.add(lower(r))
		}
	})
	return string(b.text)
}

// parts goes through a text: character by character where each is folded by itself, and by pieces, to be normalized, where not.
// A character belongs to the piece behind it, of which something may join it.
func parts(text string, alone func(at int, folded rune), piece func(from, to int)) {
	const none = -1
	last, lastFolded := none, rune(0)
	for at := 0; at < len(text); {
		r, size := utf8.DecodeRuneInString(text[at:])
		folded := simple(r)
		if folded != none {
			if last != none {
				alone(last, lastFolded)
			}
			last, lastFolded = at, folded
			at += size
			continue
		}
		from := at
		if last != none {
			from, last = last, none
		}
		for at < len(text) {
			if r, size = utf8.DecodeRuneInString(text[at:]); simple(r) != none {
				break
			}
			at += size
		}
		piece(from, at)
	}
	if last != none {
		alone(last, lastFolded)
	}
}

// simple gives the folded form of a character that joins none before it and becomes one by itself; -1 for any other. It
// knows those that texts are made of, for which asking the tables of Unicode takes ten times as long.
func simple(r rune) rune {
	const fullWidth = 0xFF01 - '!'
	switch {
	case r < utf8.RuneSelf:
		return lower(r)
	case '\uFF01' <= r && r <= '\uFF5E':
		return lower(r - fullWidth)
	case '\u4E00' <= r && r <= '\u9FFF', '\u3400' <= r && r <= '\u4DBF', // Han
		'\u3041' <= r && r <= '\u3096', '\u30A1' <= r && r <= '\u30FE', // kana
		'\uAC00' <= r && r <= '\uD7A3', // Hangul
		'\u3001' <= r && r <= '\u3003', '\u3005' <= r && r <= '\u3011':
		return r
	case r == '\u3000':
		return ' '
	case r == waveDash:
		return '~'
	}
	return -1
}

// lower folds a character of the form NFKC. White space is a blank.
func lower(r rune) rune {
	switch {
	case 'A' <= r && r <= 'Z':
		return r + 'a' - 'A'
	case r == '\t', r == '\n', r == '\v', r == '\f', r == '\r':
		return ' '
	case r < utf8.RuneSelf:
		return r
	case r == waveDash:
		return '~'
	case unicode.IsSpace(r):
		return ' '
	}
	return unicode.ToLower(r)
}

// folder writes a folded text, one character after the other, and of several blanks the first.
type folder struct {
	text  []byte
	blank bool
}

func (f *folder) add(folded rune) {
	blank := folded == ' '
	if !blank || !f.blank {
		f.text = utf8.AppendRune(f.text, folded)
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
	begin := func(at int) { l.folded, l.original = append(l.folded, len(b.text)), append(l.original, at) }
	parts(text, func(at int, folded rune) {
		begin(at)
		b.add(folded)
	}, func(at, to int) {
		for at < to {
			begin(at)
			size := max(norm.NFKC.NextBoundaryInString(text[at:to], true), 1)
			for _, r := range norm.NFKC.String(text[at : at+size]) {
				b.add(lower(r))
			}
			at += size
		}
	})
	l.text, l.folded, l.original = string(b.text), append(l.folded, len(b.text)), append(l.original, len(text))
	return l
}

// origin gives the place in the original, in bytes, of a piece of the folded text that is not empty.
func (l located) origin(from, to int) (start, end int) {
	last := sort.SearchInts(l.folded, from+1) - 1
	return l.original[last], l.original[last+sort.SearchInts(l.folded[last:], to)]
}
