package dynamic

import (
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"
)

// What the program of seed 000 reads as a comment, a group and an option (field/wannabe.md 1.2).
var (
	compatBlock  = regexp.MustCompile(`(?s)@/\*.*?@\*/`)
	compatLine   = regexp.MustCompile(`@//[^\n]*`)
	compatGroup  = regexp.MustCompile(`(?s)\{(.*?)\}`)
	compatOption = regexp.MustCompile(`"([^"]*)"|'([^']*)'|([^|]+)`)
)

// ParseCompat reads what the program of seed 000 reads: a group ends at the first }, whatever stands in it; one option
// loses its braces, be it JSON or program code; there are no escapes; comments and markers count wherever their letters
// stand. The error is a *SyntaxError for more than MaxGroups groups.
func ParseCompat(text string) (*Template, error) {
	kept := compatLine.ReplaceAllString(compatBlock.ReplaceAllString(text, ""), "")
	for _, marker := range []string{"@break", "@startpoint"} {
		if at := strings.LastIndex(kept, marker); at >= 0 {
			kept = kept[at+len(marker):]
		}
	}
	kept, _, _ = strings.Cut(kept, "@endpoint")
	t := &Template{left: utf8.RuneCountInString(text) - utf8.RuneCountInString(kept)}
	from := 0
	for _, found := range compatGroup.FindAllStringSubmatchIndex(kept, -1) {
		options := compatOptions(kept[found[2]:found[3]])
		if len(options) == 0 {
			continue
		}
		before := kept[:found[0]]
		line, column := 1+strings.Count(before, "\n"), 1+utf8.RuneCountInString(before[strings.LastIndexByte(before, '\n')+1:])
		if len(t.groups) == MaxGroups {
			return nil, &SyntaxError{line, column, fmt.Sprintf("there are more than %d groups", MaxGroups)}
		}
		g := &group{index: len(t.groups), line: line, column: column, options: options, least: 1, most: 1}
		t.groups = append(t.groups, g)
		t.parts = append(t.parts, part{text: kept[from:found[0]]}, part{group: g})
		from = found[1]
	}
	t.parts = append(t.parts, part{text: kept[from:]})
	return t, nil
}

// compatOptions are those between two braces: one in quotes as it is, any other without the blanks around it, none for
// nothing.
func compatOptions(inside string) []option {
	var all []option
	for _, found := range compatOption.FindAllStringSubmatch(inside, -1) {
		text, given := found[1]+found[2], found[3] == ""
		if !given {
			text = strings.TrimFunc(found[3], isBlank)
			given = text != ""
		}
		if given {
			all = append(all, option{parts: []part{{text: text}}, weight: one})
		}
	}
	return all
}

// isBlank is what Python's strip takes off: White_Space of Unicode and the separators of ASCII.
func isBlank(r rune) bool {
	return strings.ContainsRune(blankCharacters, r) || r >= 0x1c && r <= 0x1f
}
