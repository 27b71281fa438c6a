package dynamic

import (
	"strings"
	"unicode/utf8"
)

// stripped is a text without its comments; lines gives the number of each line in what the writer wrote.
type stripped struct {
	text  string
	lines []int
}

// whole is a text with all of its lines.
func whole(text string) (kept stripped) {
	kept.text = text
	for i := range strings.Count(text, "\n") + 1 {
		kept.lines = append(kept.lines, i+1)
	}
	return kept
}

// strip takes comments and what stands outside of the markers off; left is how many characters that are. All of them
// stand on lines of their own, so that an address with an @ in it, or the word @breakfast, is text:
//
//	@// a comment
//	@/* a comment of
//	several lines @*/
//	@startpoint (or @break) what stands before the last of these lines is left out
//	@endpoint  what stands behind the first of these lines is left out
func strip(text string) (kept stripped, left int, err error) {
	if strings.IndexByte(text, '@') < 0 {
		return whole(text), 0, nil
	}
	var lines []string
	number, opened := 0, 0
	ended := false
	for line := range strings.SplitAfterSeq(text, "\n") {
		number++
		words := strings.TrimSpace(line)
		switch {
		case opened > 0:
			if strings.HasSuffix(words, "@*/") {
				opened = 0
			}
		case ended, strings.HasPrefix(words, "@//"):
		case strings.HasPrefix(words, "@/*"):
			if len(words) < 6 || !strings.HasSuffix(words, "@*/") {
				opened = number
			}
		case words == "@startpoint", words == "@break":
			lines, kept.lines = nil, nil
		case words == "@endpoint":
			ended = true
		default:
			lines, kept.lines = append(lines, line), append(kept.lines, number)
		}
	}
	if opened > 0 {
		return kept, 0, &SyntaxError{Line: opened, Column: 1, Message: "the comment that begins with @/* here is never ended; a line must end with @*/"}
	}
	kept.text = strings.Join(lines, "")
	kept.lines = append(kept.lines, number+1)
	return kept, utf8.RuneCountInString(text) - utf8.RuneCountInString(kept.text), nil
}
