package dynamic

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/tsumugi-dev/tsumugi/services/promptbuilder/internal/textline"
)

// braces are the pairs of braces of a text, found in one pass: a group is looked at only where its partner is known, so
// that the time is in proportion to the length of the text whatever stands in it. They are lists and no maps, since a text
// may be nothing but braces.
type braces struct {
	// all are the opening braces, in the order of the text.
	all []brace
	// bars part options; each names the next one of its group.
	bars []bar
	// escaped are the braces behind a backslash with a bar behind them on the same line: `\{A|B\}`. What they hold is text,
	// groups and all, where their partner stands on that line too.
	escaped []brace
}

// brace is an opening brace.
type brace struct {
	// open and end are the places of the brace and its partner; end is 0 where there is none.
	open, end int32
	// bars is how many bars part its options; first and last are those, by their number in braces.bars.
	bars, first, last int32
}

// isCode says that a bar of its own is one of ` || `, as in `{ if (a || b) return; }`: the braces of a program are text. Such a
// brace has no bars.
func (b *brace) isCode() bool { return b.first < 0 }

func (b *brace) setCode() { b.bars, b.first = 0, -1 }

type bar struct{ at, next int32 }

// at finds the opening brace at a place; nil where there is none.
func (b *braces) at(place int) *brace { return find(b.all, place) }

func find(all []brace, place int) *brace {
	i, found := slices.BinarySearchFunc(all, int32(place), func(b brace, place int32) int { return cmp.Compare(b.open, place) })
	if !found {
		return nil
	}
	return &all[i]
}

// ends are the places at which the options of a group end.
func (b *braces) ends(of *brace) []int {
	places := make([]int, 0, of.bars+1)
	for at := of.first; len(places) < int(of.bars); at = b.bars[at].next {
		places = append(places, int(b.bars[at].at))
	}
	return append(places, int(of.end))
}

// firstEnd is the place of the first bar of a group, and of its closing brace where it has none.
func (b *braces) firstEnd(of *brace) int {
	if of.bars == 0 {
		return int(of.end)
	}
	return int(b.bars[of.first].at)
}

func (b *braces) addBar(to *brace, place int) {
	if to.isCode() {
		return
	}
	at := int32(len(b.bars))
	b.bars = append(b.bars, bar{at: int32(place)})
	if to.bars == 0 {
		to.first = at
	} else {
		b.bars[to.last].next = at
	}
	to.last = at
	to.bars++
}

// pair finds the braces. What a backslash stands before is no brace and no bar. Neither is what a quoted option or a string
// of JSON holds; a pair of quotes inside of an option keeps the bars between them.
func pair(text string) braces {
	b := braces{escaped: escaped(text)}
	// By their number in all, doubled, and one more for an object of JSON: a text may be nothing but braces.
	var open []int32
	for i := 0; i < len(text); i++ {
		var in *brace // the one whose inside this is
		json := false
		if last := len(open) - 1; last >= 0 {
			in, json = &b.all[open[last]/2], open[last]%2 == 1
		}
		switch text[i] {
		case '\\':
			i++
		case '[':
			i = lastString(text, i)
		case '{':
			number := 2 * int32(len(b.all))
			if isObject(text, i) {
				number++
			}
			open = append(open, number)
			b.all = append(b.all, brace{open: int32(i)})
			i = quoted(text, i)
		case '|':
			if in != nil {
				b.addBar(in, i)
				if isOr(text, i) {
					in.setCode()
				}
				i = quoted(text, i)
			}
		case '"':
			if in != nil {
				i = quotes(text, i, json)
			}
		case '}':
			if in != nil {
				in.end = int32(i)
				open = open[:len(open)-1]
			}
		}
	}
	return b
}

func escaped(text string) (found []brace) {
	if !strings.Contains(text, `\{`) {
		return nil
	}
	var open []brace
	for start, line := range textline.All(text) {
		open = open[:0]
		for i := range len(line) {
			last := len(open) - 1
			switch line[i] {
			case '{':
				open = append(open, brace{open: int32(start + i)})
			case '|':
				if last < 0 || open[last].isCode() {
					continue
				}
				if open[last].bars++; isOr(line, i) {
					open[last].setCode()
				}
			case '}':
				if last >= 0 {
					open[last].end = int32(start + i)
					found = appendEscaped(found, text, open[last])
					open = open[:last]
				}
			}
		}
		for _, unclosed := range open {
			found = appendEscaped(found, text, unclosed)
		}
	}
	slices.SortFunc(found, func(a, b brace) int { return cmp.Compare(a.open, b.open) })
	return found
}

// appendEscaped adds a brace that would begin a group, closed or not, if there were no backslash before it.
func appendEscaped(to []brace, text string, b brace) []brace {
	if b.bars > 0 && b.open > 0 && text[b.open-1] == '\\' {
		return append(to, b)
	}
	return to
}

// isOr says that the bar at i is the first of two with a blank, or an end of the text, on both sides.
func isOr(text string, i int) bool {
	if !strings.HasPrefix(text[i:], "||") {
		return false
	}
	before, size := utf8.DecodeLastRuneInString(text[:i])
	after, more := utf8.DecodeRuneInString(text[i+2:])
	return (size == 0 || textline.IsBlank(before)) && (more == 0 || textline.IsBlank(after))
}

// isObject says that the brace at i begins an object of JSON: a string and a colon stand behind it.
func isObject(text string, i int) bool {
	_, behind := stringAt(text, i+1)
	return behind == ':'
}

// lastString gives the place of the last string of JSON that stands in the array at i with nothing but strings, numbers, true,
// false and null before it, i where none is.
func lastString(text string, i int) int {
	for at := i; ; {
		if word := scalar.FindString(text[at+1:]); word != "" {
			at += len(word)
			continue
		}
		end, behind := stringAt(text, at+1)
		if behind != ',' && behind != ']' {
			return i
		}
		if i = end; behind == ']' {
			return i
		}
		at = end + 1 + blanks(text[end+1:])
	}
}

// scalar is a value of JSON that is no string, in an array before the next one.
var scalar = regexp.MustCompile(`^\s*(?:-?[0-9][0-9.eE+-]*|true|false|null)\s*,`)

// stringAt gives the place of the closing quote where a string of JSON and blanks around it stand at i, and the character
// behind them; 0 and 0 where none does.
func stringAt(text string, i int) (end int, behind byte) {
	i += blanks(text[i:])
	if i == len(text) || text[i] != '"' {
		return 0, 0
	}
	end = quotes(text, i, true)
	if end == i {
		return 0, 0
	}
	if after := end + 1 + blanks(text[end+1:]); after < len(text) {
		behind = text[after]
	}
	return end, behind
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

// quotes gives the place of the quote that makes a pair with that at i, on the same line and, but in JSON, without a brace
// between; a quote behind a backslash is text. i where there is none.
func quotes(text string, i int, json bool) int {
	for at := i + 1; at < len(text); at++ {
		next := strings.IndexAny(text[at:], "\\\"{}\n")
		if next < 0 {
			return i
		}
		at += next
		switch c := text[at]; {
		case c == '\\':
			at++ // what it stands before is text
		case c == '"' && !textline.Break(text[i+1:at]):
			return at
		case json && (c == '{' || c == '}'):
		default:
			return i
		}
	}
	return i
}

func blanks(text string) int {
	return len(text) - len(strings.TrimLeftFunc(text, textline.IsBlank))
}
