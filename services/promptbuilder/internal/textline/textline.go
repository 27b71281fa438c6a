// Package textline knows where lines end and what a blank is: as for the program of seed 000, which takes both from Python
// (str.splitlines and str.isspace; field/wannabe.md 1.3). Pure.
package textline

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Ends are the characters that end a line; CR LF is one end.
const Ends = "\n\r\v\f\x1c\x1d\x1e\u0085\u2028\u2029"

// End gives where the first end of line in a text begins and its size in bytes, CR LF being one; the length of the text
// and 0 where there is none. By bytes, since this looks at every byte of a novel.
func End(text string) (at, size int) {
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c > '\r' && c < 0x1c || c > 0x1e && c < utf8.RuneSelf:
		case c == '\r' && i+1 < len(text) && text[i+1] == '\n':
			return i, 2
		case c >= '\n' && c <= '\r' || c >= 0x1c && c <= 0x1e:
			return i, 1
		case c == 0xc2 && i+1 < len(text) && text[i+1] == 0x85: // U+0085
			return i, 2
		case c == 0xe2 && i+2 < len(text) && text[i+1] == 0x80 && (text[i+2] == 0xa8 || text[i+2] == 0xa9): // U+2028, U+2029
			return i, 3
		}
	}
	return len(text), 0
}

// Break says that a line ends in the text.
func Break(text string) bool {
	_, size := End(text)
	return size > 0
}

// All gives the lines of a text with their ends, and where each begins, in bytes. A text that ends with an end of line has
// no empty line behind it.
func All(text string) func(yield func(start int, line string) bool) {
	return func(yield func(start int, line string) bool) {
		for start := 0; start < len(text); {
			at, size := End(text[start:])
			if !yield(start, text[start:start+at+size]) {
				return
			}
			start += at + size
		}
	}
}

// IsBlank says that a character is nothing to see: White_Space of Unicode, and the four separators of ASCII.
func IsBlank(r rune) bool { return unicode.IsSpace(r) || r >= 0x1c && r <= 0x1f }

// Strip takes the blanks off both ends.
func Strip(text string) string { return strings.TrimFunc(text, IsBlank) }

// Position tells lines and columns of places in a text, from 1; a column is a character (code point). Asked in the order of
// the text, it looks at each byte twice at most.
type Position struct {
	text string
	// at is the last place that was asked for; the line that it stands in ends, with its end, at next.
	at, next     int
	line, column int
}

// NewPosition begins at the beginning of a text.
func NewPosition(text string) *Position {
	p := &Position{text: text, line: 1, column: 1}
	p.next = p.lineFrom(0)
	return p
}

// Of gives the line and the column of a place, in bytes.
func (p *Position) Of(at int) (line, column int) {
	if at < p.at {
		*p = *NewPosition(p.text)
	}
	for at >= p.next && p.next < len(p.text) {
		p.line, p.column, p.at = p.line+1, 1, p.next
		p.next = p.lineFrom(p.next)
	}
	p.column += utf8.RuneCountInString(p.text[p.at:at])
	p.at = at
	return p.line, p.column
}

// lineFrom gives where the line that begins at a place ends, its end included.
func (p *Position) lineFrom(start int) int {
	at, size := End(p.text[start:])
	return start + at + size
}
