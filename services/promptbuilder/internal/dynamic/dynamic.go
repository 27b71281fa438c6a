// Package dynamic draws dynamic prompts: of each group `{A|B|"C D"}` in a text, one option takes the group's place
// (seed 000, 2.2; field/wannabe.md 1.2).
//
// Pure: the draw depends on the seed, the name of the field and the number of the group in it, and on nothing else, so
// a text that grows at its end keeps its picks, and a group more in one field changes no other field.
//
// What is a group:
//   - `{`, options parted by bars, `}`. At least one bar: braces without one are text (JSON, program code).
//   - An option loses the spaces around it. One that stands in quotes ("…" or '…') keeps its spaces and bars and loses
//     the quotes; `""` is the empty option, an option with nothing in it is none. A pair of double quotes inside an
//     option protects bars too, and stays.
//   - A group may reach over line ends. A brace without a partner is text. There is no escape character.
//   - A group with braces inside it is not drawn: it stays as written, whole, and is counted by Nested. Without a bar of
//     its own it is text, and the groups inside it are drawn.
package dynamic

import "strings"

// MaxNesting is how deep braces may stand in each other; a brace that opens more is text. It bounds the work on
// hostile text to a fixed multiple of its length.
const MaxNesting = 16

// Pick is the option that was drawn for one group.
type Pick struct {
	// Group counts the groups of the text, Option those of the group, both from 0.
	Group, Option int
	// Text is what stands in place of the group.
	Text string
}

// Template is a text cut into groups and what stands between them.
type Template struct {
	// plain[i] stands before groups[i]; the last one after all groups.
	plain  []string
	groups [][]string
	nested int
}

// Parse never fails: what is no group is text.
func Parse(text string) Template {
	var t Template
	from := 0
	for i := next(text, 0); i < len(text); i = next(text, i) {
		g, ok := scan(text[i:])
		switch {
		case !ok, g.inner && !g.bar:
			i++
		case g.inner:
			t.nested++
			i += g.size
		default:
			end := i + g.size
			if options := split(text[i+1 : end-1]); len(options) > 0 {
				t.plain = append(t.plain, text[from:i])
				t.groups = append(t.groups, options)
				from = end
			}
			i = end
		}
	}
	t.plain = append(t.plain, text[from:])
	return t
}

// Groups is how many groups will be drawn.
func (t Template) Groups() int { return len(t.groups) }

// Nested is how many groups stay as written since they hold braces.
func (t Template) Nested() int { return t.nested }

// Draw puts an option in the place of each group. field parts the draws of one field from those of another.
func (t Template) Draw(seed uint32, field string) (string, []Pick) {
	if len(t.groups) == 0 {
		return t.plain[0], nil
	}
	var out strings.Builder
	picks := make([]Pick, 0, len(t.groups))
	draws := newSource(seed, field)
	for i, options := range t.groups {
		option := draws.below(len(options))
		out.WriteString(t.plain[i])
		out.WriteString(options[option])
		picks = append(picks, Pick{Group: i, Option: option, Text: options[option]})
	}
	out.WriteString(t.plain[len(t.groups)])
	return out.String(), picks
}

// next is where the first `{` at or after from stands; the length of text if there is none.
func next(text string, from int) int {
	if i := strings.IndexByte(text[from:], '{'); i >= 0 {
		return from + i
	}
	return len(text)
}
