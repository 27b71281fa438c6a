package story

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/tsumugi-dev/tsumugi/services/promptbuilder/internal/fit"
)

// line is one line of a body, without its end.
type line struct {
	text string
	// start is where it begins in the body, in bytes.
	start int
}

// content says that something stands in the line; a full-width space is nothing.
func (l line) content() bool { return strings.IndexFunc(l.text, isInk) >= 0 }

// lineEnds are what Python's splitlines splits at, beside the pair CR LF (field/wannabe.md 1.3).
const lineEnds = "\n\r\v\f\x1c\x1d\x1e\u0085\u2028\u2029"

// lineEnd gives where the first end of line in a text begins and its size, CR LF being one; the length of the text and 0
// where there is none. By bytes, since this looks at every byte of a novel.
func lineEnd(text string) (at, size int) {
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

// beyond is how many bytes of a text come before its last reach bytes, or before the line that begins in them: what is
// left has at least as many content lines as the end of a prompt needs. Where that cannot be, it is 0.
func beyond(body string, reach int) int {
	at := len(body) - reach
	if at <= 0 {
		return 0
	}
	end, size := lineEnd(body[at:])
	// Behind CR a LF would belong to it, and so would the second half of a longer line end.
	if at += end + size; size == 0 || !hasContentLines(body[at:], continueFrom) {
		return 0
	}
	return at
}

// beforeLast is how many bytes of a text come before its last characters (code points), moved on to where a reader sees
// a character begin.
func beforeLast(body string, last int) int {
	at := len(body)
	for ; last > 0 && at > 0; last-- {
		_, size := utf8.DecodeLastRuneInString(body[:at])
		at -= size
	}
	return fit.ClusterStart(body, at)
}

// splitLines cuts a body into lines. An end of line at the end of the body opens no further line.
func splitLines(body string) []line {
	var lines []line
	for start := 0; start < len(body); {
		end, size := lineEnd(body[start:])
		lines = append(lines, line{body[start : start+end], start})
		start += end + size
	}
	return lines
}

// isSpace is Python's str.isspace, which takes the four separators of ASCII for spaces too.
func isSpace(r rune) bool { return unicode.IsSpace(r) || r >= 0x1c && r <= 0x1f }

func isInk(r rune) bool { return !isSpace(r) }

// strip takes the spaces off both ends.
func strip(s string) string { return strings.TrimFunc(s, isSpace) }

// join puts lines under each other.
func join(lines []line) string {
	texts := make([]string, len(lines))
	for i, l := range lines {
		texts[i] = l.text
	}
	return strings.Join(texts, "\n")
}
