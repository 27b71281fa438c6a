package dynamic

import (
	"strings"
	"unicode/utf8"

	"github.com/tsumugi-dev/tsumugi/services/promptbuilder/internal/textline"
)

// stripped is a text without its comments; lines gives the number of each line in what the writer wrote, nil where all are
// there.
type stripped struct {
	text  string
	lines []int
}

// stripping is a text whose comments are being taken off.
type stripping struct {
	kept  strings.Builder
	lines []int
	// opened is where the comment that is being read began, nil where none is; ended says that @endpoint was there.
	opened *SyntaxError
	ended  bool
}

// strip takes comments and what stands outside of the markers off; left is how many characters that are. All of them
// stand on lines of their own, so that an address with an @ in it, or the word @breakfast, is text:
//
//	@// a comment
//	@/* a comment of
//	several lines @*/
//	@startpoint (or @break) what stands before the last of these lines is left out
//	@endpoint  what stands behind the first of these lines after that is left out
func strip(text string) (kept stripped, left int, err *SyntaxError) {
	if strings.IndexByte(text, '@') < 0 {
		return stripped{text: text}, 0, nil
	}
	s, number := stripping{}, 0
	for _, line := range textline.All(text) {
		number++
		s.read(number, line)
	}
	if s.opened != nil && !s.ended {
		return kept, 0, s.opened
	}
	kept = stripped{s.kept.String(), append(s.lines, number+1)}
	return kept, utf8.RuneCountInString(text) - utf8.RuneCountInString(kept.text), nil
}

func (s *stripping) read(number int, line string) {
	words := textline.Strip(line)
	switch {
	case s.opened != nil:
		if strings.HasSuffix(words, "@*/") {
			s.opened = nil
		}
	case strings.HasPrefix(words, "@//"):
	case strings.HasPrefix(words, "@/*"):
		if len(words) < len("@/*@*/") || !strings.HasSuffix(words, "@*/") {
			column := 1 + utf8.RuneCountInString(line[:blanks(line)])
			s.opened = &SyntaxError{number, column, "the comment that begins with @/* here is never ended; a line must end with @*/"}
		}
	case words == "@startpoint", words == "@break":
		s.kept.Reset()
		s.lines, s.ended = s.lines[:0], false
	case words == "@endpoint":
		s.ended = true
	case !s.ended:
		s.kept.WriteString(line)
		s.lines = append(s.lines, number)
	}
}
