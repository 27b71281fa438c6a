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
// kana are alike; in the lower case of its capitals, so that ς is σ; the wave dash as a tilde; white space of any length as one blank.
// Hiragana and katakana stay apart, the prolonged sound mark stays, and so do ß, which is its own letter in lower case, as
// `STRASSE` is not `Straße`, and ı, whose capital is that of i. A byte that is no UTF-8 becomes U+FFFD.
func Fold(text string) string {
	f := folder{text: make([]byte, 0, len(text))}
	parts(text, &f, func(int, bool) {})
	return string(f.text)
}

// parts folds a text part by part, and tells before each where it begins: runs of characters that stay as long as they are,
// characters that are folded by themselves, and the shortest pieces that NFKC changes by themselves. A character belongs to the
// piece behind it, of which something may join it.
func parts(text string, f *folder, begin func(at int, run bool)) {
	for at := 0; at < len(text); {
		last, end, capitals := run(text, at)
		r, size := utf8.DecodeRuneInString(text[end:])
		changed := simple(r)
		switch {
		case end == len(text):
			last = end
		case changed != complicated && joined(text[end+size:]):
			changed, last = complicated, end
		case changed != complicated || !joined(text[end:]):
			last = end
		}
		if last > at {
			begin(at, true)
			f.same(text[at:last], capitals)
		}
		if at = last; at == len(text) {
			return
		}
		if changed != complicated {
			begin(at, false)
			f.add(changed)
			at += size
			continue
		}
		at = f.pieces(text, at, begin)
	}
}

// run gives the end of the characters from at on that folding leaves as they are, or changes to another of ASCII, and where the
// last of them begins; capitals says that there are some of the second kind. Of two blanks only the first is such a one, and a
// blank at the beginning may be the second of two.
func run(text string, at int) (last, end int, capitals bool) {
	last, end = at, at
	for end < len(text) {
		c := text[end]
		if c < utf8.RuneSelf {
			if folded[c] == ' ' && (end == at || folded[text[end-1]] == ' ') {
				break
			}
			capitals = capitals || folded[c] != c
			last = end
			end++
			continue
		}
		size := 3
		if !staying(text[end:]) {
			var r rune
			if r, size = utf8.DecodeRuneInString(text[end:]); simple(r) != r {
				break
			}
		}
		last = end
		end += size
	}
	return last, end, capitals
}

var (
	// folded are the ASCII characters as they are compared. Bytes of others are as they are.
	folded [1 << 8]byte
	// staying3 says of the characters of three bytes that they are left as they are: by the first two of them, a bit for each of
	// the third.
	staying3 [1 << 10]uint64
)

func init() {
	for c := range folded {
		if folded[c] = byte(c); c < utf8.RuneSelf {
			folded[c] = byte(lower(rune(c)))
		}
	}
	for r := rune(0x800); r <= 0xFFFF; r++ {
		if simple(r) == r {
			staying3[r>>6] |= 1 << (r & 0x3F)
		}
	}
}

// staying says quickly that a text begins with a character of three bytes that is left as it is.
func staying(text string) bool {
	const continues, lowBits = 0x80, 0x3F
	if len(text) < 3 || text[0]>>4 != 0xE || text[1]&^lowBits != continues || text[2]&^lowBits != continues {
		return false
	}
	return staying3[int(text[0]&0xF)<<6|int(text[1]&lowBits)]>>(text[2]&lowBits)&1 != 0
}

// joined says that what follows may join the character before it.
func joined(rest string) bool {
	if rest == "" || rest[0] < utf8.RuneSelf || staying(rest) {
		return false
	}
	r, _ := utf8.DecodeRuneInString(rest)
	return simple(r) == complicated && !norm.NFKC.PropertiesString(rest).BoundaryBefore()
}

// pieces normalizes the character at a place and all complicated ones behind it, and gives the place behind them.
func (f *folder) pieces(text string, at int, begin func(at int, run bool)) int {
	_, size := utf8.DecodeRuneInString(text[at:])
	end := at + size
	for end < len(text) && joined(text[end:]) {
		_, size := utf8.DecodeRuneInString(text[end:])
		end += size
	}
	for at < end {
		begin(at, false)
		size := max(norm.NFKC.NextBoundaryInString(text[at:end], true), 1)
		for _, r := range norm.NFKC.String(text[at : at+size]) {
			f.add(lower(r))
		}
		at += size
	}
	return end
}

// complicated is what simple says of a character that cannot be folded by itself.
const complicated = -1

// simple gives the folded form of a character that joins none before it and becomes one by itself; complicated for any other. It
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
	return complicated
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
	case r == 'ı':
		return r
	}
	return unicode.ToLower(unicode.ToUpper(r))
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

// same writes a run; capitals are those of run.
func (f *folder) same(text string, capitals bool) {
	at := len(f.text)
	f.text = append(f.text, text...)
	if capitals {
		for i, c := range f.text[at:] {
			f.text[at+i] = folded[c]
		}
	}
	f.blank = folded[text[len(text)-1]] == ' '
}

// located is a folded text that knows where in the original each part of it comes from.
type located struct {
	text  string
	parts []part
}

// part is where a part begins, in bytes. The last one is the end of the text.
type part struct {
	folded, original int
	// run says that it is as long as it was, byte by byte.
	run bool
}

// locate folds a text and notes its parts.
func locate(text string) located {
	var l located
	f := folder{text: make([]byte, 0, len(text))}
	parts(text, &f, func(at int, run bool) { l.parts = append(l.parts, part{len(f.text), at, run}) })
	l.text, l.parts = string(f.text), append(l.parts, part{len(f.text), len(text), false})
	return l
}

// unfolded is a text that is looked through as it is.
func unfolded(text string) located {
	return located{text, []part{{0, 0, true}, {len(text), len(text), false}}}
}

// kept gives the kinds of which no character was changed, made or joined, but for the case of ASCII.
func (l located) kept(original string) kinds {
	kept := keptKinds
	for i, p := range l.parts[:len(l.parts)-1] {
		next := l.parts[i+1]
		if !p.run {
			kept &^= kindsOf(original[p.original:next.original]) | kindsOf(l.text[p.folded:next.folded])
		}
	}
	return kept
}

// origin gives the place in the original, in bytes, of a piece of the folded text that is not empty.
func (l located) origin(from, to int) (start, end int) {
	first := sort.Search(len(l.parts), func(i int) bool { return l.parts[i].folded > from }) - 1
	start = l.parts[first].original
	if l.parts[first].run {
		start += from - l.parts[first].folded
	}
	last := first + sort.Search(len(l.parts)-first, func(i int) bool { return l.parts[first+i].folded >= to })
	if before := l.parts[last-1]; before.run {
		return start, before.original + to - before.folded
	}
	return start, l.parts[last].original
}
