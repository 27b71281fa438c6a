package dynamic

import (
	"strings"
	"unicode"
)

// braces are the pairs of braces of a text, found in one pass: a group is looked at only where its partner is known, so
// that the time is in proportion to the length of the text whatever stands in it.
type braces struct {
	// partner gives the place of the closing brace by that of the opening one.
	partner map[int]int
	// escaped gives the place of the closing brace by that of an opening one behind a backslash, where both stand on one
	// line with a bar between: `\{A|B\}`. What they hold is text, groups and all.
	escaped map[int]int
	// bars are the places of the bars that part options, by the opening brace.
	bars map[int][]int
}

// pair finds the braces. What a backslash stands before is no brace and no bar. Neither is what a quoted option holds; a
// pair of quotes inside of an option keeps the bars between them.
func pair(text string) braces {
	b := braces{partner: map[int]int{}, escaped: escaped(text), bars: map[int][]int{}}
	var open []int
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case '{':
			open = append(open, i)
			i = quoted(text, i)
		case '|':
			if len(open) > 0 {
				b.bars[open[len(open)-1]] = append(b.bars[open[len(open)-1]], i)
				i = quoted(text, i)
			}
		case '"':
			if len(open) > 0 {
				i = quotes(text, i)
			}
		case '}':
			if len(open) > 0 {
				b.partner[open[len(open)-1]] = i
				open = open[:len(open)-1]
			}
		}
	}
	return b
}

func escaped(text string) map[int]int {
	found := map[int]int{}
	type brace struct {
		at  int
		bar bool
	}
	var open []brace
	for i := range len(text) {
		last := len(open) - 1
		switch text[i] {
		case '\n':
			open = open[:0]
		case '{':
			open = append(open, brace{at: i})
		case '|':
			if last >= 0 {
				open[last].bar = true
			}
		case '}':
			if last < 0 {
				continue
			}
			if b := open[last]; b.bar && b.at > 0 && text[b.at-1] == '\\' {
				found[b.at] = i
			}
			open = open[:last]
		}
	}
	return found
}

// quoted gives the place of the closing quote where the option behind i stands in quotes, else i.
func quoted(text string, i int) int {
	start := i + 1 + blanks(text[i+1:])
	if start == len(text) || text[start] != '"' {
		return i
	}
	end := closing(text, start)
	if end < 0 {
		return i
	}
	behind := end + 1 + blanks(text[end+1:])
	if behind < len(text) && (text[behind] == '|' || text[behind] == '}') {
		return end
	}
	return i
}

// closing gives the place of the quote that ends the one at start, -1 where there is none.
func closing(text string, start int) int {
	for i := start + 1; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case '"':
			return i
		}
	}
	return -1
}

// quotes gives the place of the quote that makes a pair with that at i, on the same line and without a brace between;
// i where there is none.
func quotes(text string, i int) int {
	end := strings.IndexAny(text[i+1:], "\"{}\n")
	if end >= 0 && text[i+1+end] == '"' {
		return i + 1 + end
	}
	return i
}

func blanks(text string) int {
	return len(text) - len(strings.TrimLeftFunc(text, unicode.IsSpace))
}
