package dynamic

import (
	"strings"
	"unicode"
)

// braces is what a brace and its partner hold.
type braces struct {
	// size in bytes, both braces included.
	size int
	// bar says that there is a bar outside inner braces, inner that there are inner braces.
	bar, inner bool
}

// scan looks for the partner of the brace that text begins with; ok is false where there is none within MaxNesting.
func scan(text string) (b braces, ok bool) {
	depth := 0
	for i := range len(text) {
		switch text[i] {
		case '{':
			if depth++; depth > MaxNesting {
				return b, false
			}
			b.inner = depth > 1 || b.inner
		case '}':
			if depth--; depth == 0 {
				b.size = i + 1
				return b, true
			}
		case '|':
			b.bar = depth == 1 || b.bar
		}
	}
	return b, false
}

// split gives the options between two braces; none where there is no bar or nothing to choose.
func split(inside string) []string {
	var options []string
	bars := 0
	for rest := inside; ; bars++ {
		option, given, after, more := cutOption(rest)
		if given {
			options = append(options, option)
		}
		if !more {
			break
		}
		rest = after
	}
	if bars == 0 {
		return nil
	}
	return options
}

// cutOption takes the first option off; given is false where nothing stands there, more says that a bar follows.
func cutOption(s string) (option string, given bool, after string, more bool) {
	trimmed := strings.TrimLeftFunc(s, unicode.IsSpace)
	if trimmed != "" && (trimmed[0] == '"' || trimmed[0] == '\'') {
		if end := strings.IndexByte(trimmed[1:], trimmed[0]); end >= 0 {
			follow := strings.TrimLeftFunc(trimmed[end+2:], unicode.IsSpace)
			if after, more = strings.CutPrefix(follow, "|"); more || follow == "" {
				return trimmed[1 : end+1], true, after, more
			}
		}
	}
	at := bar(s)
	if more = at < len(s); more {
		after = s[at+1:]
	}
	option = strings.TrimFunc(s[:at], unicode.IsSpace)
	return option, option != "", after, more
}

// bar is where the first bar outside a pair of double quotes stands; the length of s if there is none.
func bar(s string) int {
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '|':
			return i
		case '"':
			if end := strings.IndexByte(s[i+1:], '"'); end >= 0 {
				i += end + 1
			}
		}
	}
	return len(s)
}
