package story

import (
	"strings"
	"unicode/utf8"

	"github.com/tsumugi-dev/tsumugi/services/promptbuilder/internal/fit"
	"github.com/tsumugi-dev/tsumugi/services/promptbuilder/internal/textline"
)

// line is one line of a body, without its end.
type line struct {
	text string
	// start is where it begins in the body, in bytes.
	start int
}

// content says that something stands in the line; a full-width space is nothing.
func (l line) content() bool { return strings.IndexFunc(l.text, isInk) >= 0 }

// beyond is how many bytes of a text come before its last reach bytes, or before the line that begins in them: what is
// left has at least as many content lines as the end of a prompt needs. Where that cannot be, it is 0.
func beyond(body string, reach int) int {
	at := len(body) - reach
	if at <= 0 {
		return 0
	}
	end, size := textline.End(body[at:])
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
		end, size := textline.End(body[start:])
		lines = append(lines, line{body[start : start+end], start})
		start += end + size
	}
	return lines
}

func isInk(r rune) bool { return !textline.IsBlank(r) }

// strip takes the blanks off both ends.
func strip(s string) string { return textline.Strip(s) }

// join puts lines under each other.
func join(lines []line) string {
	texts := make([]string, len(lines))
	for i, l := range lines {
		texts[i] = l.text
	}
	return strings.Join(texts, "\n")
}
