package dynamic

import (
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/tsumugi-dev/tsumugi/services/promptbuilder/internal/textline"
)

// What the program of seed 000 reads as a comment and an option (field/wannabe.md 1.2).
var (
	compatBlock  = regexp.MustCompile(`(?s)@/\*.*?@\*/`)
	compatLine   = regexp.MustCompile(`@//[^\n]*`)
	compatOption = regexp.MustCompile(`"([^"]*)"|'([^']*)'|([^|]+)`)
)

// ParseCompat reads what the program of seed 000 reads: a group ends at the first }, whatever stands in it; one option
// loses its braces, be it JSON or program code; there are no escapes; comments and markers count wherever their letters
// stand. The error is a *SyntaxErrors for more than MaxGroups groups.
func ParseCompat(text string) (*Template, error) {
	kept := compatLine.ReplaceAllString(compatBlock.ReplaceAllString(text, ""), "")
	for _, marker := range []string{"@break", "@startpoint"} {
		if at := strings.LastIndex(kept, marker); at >= 0 {
			kept = kept[at+len(marker):]
		}
	}
	kept, _, _ = strings.Cut(kept, "@endpoint")
	t := &Template{left: utf8.RuneCountInString(text) - utf8.RuneCountInString(kept)}
	from, position := 0, textline.NewPosition(kept)
	for open, end := compatGroup(kept, 0); end > 0; open, end = compatGroup(kept, end+1) {
		options := compatOptions(kept[open+1 : end])
		if len(options) == 0 {
			continue
		}
		line, column := position.Of(open)
		if len(t.groups) == MaxGroups {
			return nil, &SyntaxErrors{Told: []*SyntaxError{{line, column, fmt.Sprintf("there are more than %d groups", MaxGroups)}}}
		}
		g := &group{index: len(t.groups), line: line, column: column, options: options, least: 1, most: 1}
		t.groups = append(t.groups, g)
		t.parts = append(t.parts, part{text: kept[from:open]}, part{group: g})
		from = end + 1
	}
	t.parts = append(t.parts, part{text: kept[from:]})
	return t, nil
}

// compatGroup gives the places of the first brace from a place on, and of the first } behind it; end is 0 where there is none.
func compatGroup(text string, from int) (open, end int) {
	at := strings.IndexByte(text[from:], '{')
	if at < 0 {
		return 0, 0
	}
	open = from + at
	if at = strings.IndexByte(text[open:], '}'); at < 0 {
		return 0, 0
	}
	return open, open + at
}

// compatOptions are those between two braces: one in quotes as it is, any other without the blanks around it, none for
// nothing.
func compatOptions(inside string) []option {
	var all []option
	for _, found := range compatOption.FindAllStringSubmatch(inside, -1) {
		text, given := found[1]+found[2], found[3] == ""
		if !given {
			text = strings.TrimFunc(found[3], textline.IsBlank)
			given = text != ""
		}
		if given {
			all = append(all, option{parts: []part{{text: text}}, weight: one})
		}
	}
	return all
}
