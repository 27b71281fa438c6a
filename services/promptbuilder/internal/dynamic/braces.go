package dynamic

import (
	"cmp"
	"slices"
	"strings"

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
	// escaped are the braces behind a backslash whose partner stands on the same line with a bar between: `\{A|B\}`. What
	// they hold is text, groups and all.
	escaped []brace
}

// brace is an opening brace.
type brace struct {
	// open and end are the places of the brace and its partner; end is 0 where there is none.
	open, end int32
	// bars is how many bars part its options; first and last are those, by their number in braces.bars.
	bars, first, last int32
}

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

// pair finds the braces. What a backslash stands before is no brace and no bar. Neither is what a quoted option holds; a
// pair of quotes inside of an option keeps the bars between them.
func pair(text string) braces {
	b := braces{escaped: escaped(text)}
	var open []int32 // by their number in all
	for i := 0; i < len(text); i++ {
		last := len(open) - 1
		switch text[i] {
		case '\\':
			i++
		case '{':
			open = append(open, int32(len(b.all)))
			b.all = append(b.all, brace{open: int32(i)})
			i = quoted(text, i)
		case '|':
			if last >= 0 {
				b.addBar(&b.all[open[last]], i)
				i = quoted(text, i)
			}
		case '"':
			if last >= 0 {
				i = quotes(text, i)
			}
		case '}':
			if last >= 0 {
				b.all[open[last]].end = int32(i)
				open = open[:last]
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
				if last >= 0 {
					open[last].bars++
				}
			case '}':
				if last < 0 {
					continue
				}
				if b := open[last]; b.bars > 0 && b.open > 0 && text[b.open-1] == '\\' {
					b.end = int32(start + i)
					found = append(found, b)
				}
				open = open[:last]
			}
		}
	}
	slices.SortFunc(found, func(a, b brace) int { return cmp.Compare(a.open, b.open) })
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

// quotes gives the place of the quote that makes a pair with that at i, on the same line and without a brace between; a
// quote behind a backslash is text. i where there is none.
func quotes(text string, i int) int {
	for at := i + 1; at < len(text); at++ {
		next := strings.IndexAny(text[at:], "\\\"{}\n")
		if next < 0 {
			return i
		}
		at += next
		switch {
		case text[at] == '\\':
			at++ // what it stands before is text
		case text[at] == '"' && !textline.Break(text[i+1:at]):
			return at
		default:
			return i
		}
	}
	return i
}

func blanks(text string) int {
	return len(text) - len(strings.TrimLeftFunc(text, textline.IsBlank))
}
