// Package dynamic draws dynamic prompts: of each group `{A|B|"C D"}` in a text, options take the group's place
// (seed 000, 2.2; field/wannabe.md 1.2).
//
// Pure: a draw depends on the seed, the name of the field and the number of the group in it, and on nothing else, so that
// a text that grows at its end keeps its picks, and a group more in one field changes no other field.
//
// Two grammars. Parse reads the one that a writer can rely on (docs/story-prompt.md): groups in groups, escapes, weights,
// counts, named sets, and an error with line and column for what is malformed. ParseCompat reads what the program of seed
// 000 reads, faults and all.
package dynamic

import "strings"

// The limits of a text.
const (
	// MaxNesting is how deep groups may stand in each other.
	MaxNesting = 16
	// MaxGroups is how many groups a text may have.
	MaxGroups = 1000
	// MaxOptions is how many options a group may have.
	MaxOptions = 1000
	// MaxWeight is the largest weight of an option.
	MaxWeight = 1_000_000
)

// Template is a text cut into groups and what stands between them.
type Template struct {
	parts  []part
	groups []*group
	// malformed is what Options.Lenient made text of.
	malformed *SyntaxErrors
	// left are the characters (code points) of comments, and of what stands outside of the start and end markers.
	left int
}

// part is a text, or a group where that is not nil.
type part struct {
	text  string
	group *group
}

// group is one `{A|B}`.
type group struct {
	// index counts the groups of a text by their opening braces, those inside of options too.
	index        int
	line, column int
	options      []option
	// least and most are how many different options are taken; 1 and 1 for a plain group.
	least, most int
	// between stands between the options that are taken.
	between string
}

// option is one of a group. Its weight is in millionths.
type option struct {
	parts  []part
	weight uint64
}

// Groups is how many groups the text has, those inside of options too.
func (t *Template) Groups() int { return len(t.groups) }

// LeftOut is how many characters (code points) of the text are comments or stand outside of its markers.
func (t *Template) LeftOut() int { return t.left }

// Malformed is what is malformed and was taken for text, as Options.Lenient asked; nil where nothing is.
func (t *Template) Malformed() *SyntaxErrors { return t.malformed }

// Pick says what was taken of one group.
type Pick struct {
	// Group counts the groups of the text, Options those of the group, from 0 and in the order in which they were taken.
	Group   int
	Options []int
	// Text is what stands in place of the group.
	Text string
	// Line and Column, from 1, are where the group begins; a column is a character (code point).
	Line, Column int
}

// Chooser decides which options are taken of a group.
type Chooser interface {
	// Choose gives different numbers below len(weights), at least least and at most most of them.
	Choose(group int, weights []uint64, least, most int) []int
}

// Draw puts options in the place of each group. Groups inside of options that were not taken have no pick.
func (t *Template) Draw(c Chooser) (string, []Pick) {
	d := drawing{chooser: c}
	text := d.draw(t.parts)
	return text, d.picks
}

type drawing struct {
	chooser Chooser
	picks   []Pick
}

func (d *drawing) draw(parts []part) string {
	if len(parts) == 1 && parts[0].group == nil {
		return parts[0].text
	}
	var out strings.Builder
	for _, p := range parts {
		if p.group == nil {
			out.WriteString(p.text)
			continue
		}
		out.WriteString(d.take(p.group))
	}
	return out.String()
}

// keeper is a Chooser that looks at what its choice came to.
type keeper interface {
	// keeps says that the text may stand in place of the group; where not, the group is drawn once more.
	keeps(group int, text string) bool
}

func (d *drawing) take(g *group) string {
	weights := make([]uint64, len(g.options))
	for i, o := range g.options {
		weights[i] = o.weight
	}
	at := len(d.picks)
	d.once(g, weights)
	if k, looks := d.chooser.(keeper); looks && !k.keeps(g.index, d.picks[at].Text) {
		d.picks = d.picks[:at]
		d.once(g, weights)
	}
	return d.picks[at].Text
}

// once draws a group and those in its options, and notes the picks in the order of the text.
func (d *drawing) once(g *group, weights []uint64) {
	at := len(d.picks)
	d.picks = append(d.picks, Pick{Group: g.index, Line: g.line, Column: g.column})
	taken := d.chooser.Choose(g.index, weights, g.least, g.most)
	texts := make([]string, len(taken))
	for i, o := range taken {
		texts[i] = d.draw(g.options[o].parts)
	}
	d.picks[at].Options, d.picks[at].Text = taken, strings.Join(texts, g.between)
}
