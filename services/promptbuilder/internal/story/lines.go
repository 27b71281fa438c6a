package story

import (
	"strings"
	"unicode"
	"unicode/utf8"
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

// splitLines cuts a body into lines. An end of line at the end of the body opens no further line.
func splitLines(body string) []line {
	var lines []line
	for start := 0; start < len(body); {
		end := strings.IndexAny(body[start:], lineEnds)
		if end < 0 {
			return append(lines, line{body[start:], start})
		}
		end += start
		lines = append(lines, line{body[start:end], start})
		if strings.HasPrefix(body[end:], "\r\n") {
			start = end + 2
			continue
		}
		_, size := utf8.DecodeRuneInString(body[end:])
		start = end + size
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
