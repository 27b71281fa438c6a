// Package idea reads what a model answers to the prompt of an idea: title, keywords, genres, synopsis, setting and plot,
// each under its header (seed 000, 2.4 to 2.6.1; field/wannabe.md 1.5).
//
// Pure. Nothing of the answer is lost: what the model thought, what stands before the first header, under a header that is
// none of the six, or under one that was there before is told beside the fields.
package idea

import (
	"slices"
	"strings"

	"github.com/tsumugi-dev/tsumugi/services/promptbuilder/internal/textline"
)

// Field is a part of an idea.
type Field string

// The parts, in the order in which they are asked for.
const (
	Title    Field = "title"
	Keywords Field = "keywords"
	Genres   Field = "genres"
	Synopsis Field = "synopsis"
	Setting  Field = "setting"
	Plot     Field = "plot"
)

// prose says that a part may have headings of its own, such as the chapters of a plot.
func (f Field) prose() bool { return f == Synopsis || f == Setting || f == Plot }

// Fields gives all parts in their order.
func Fields() []Field { return []Field{Title, Keywords, Genres, Synopsis, Setting, Plot} }

// Idea is an answer in its parts.
type Idea struct {
	Title, Synopsis, Setting, Plot string
	Keywords, Genres               []string
	// Missing are the wanted parts that are not there, or are empty.
	Missing []Field
	// Extra is what belongs to none of the parts, in the order of the answer.
	Extra []Extra
	// Rest is what stands behind the last wanted part, from the next header on; it was not read.
	Rest string
}

// Extra is a stretch of an answer that is no part of the idea.
type Extra struct {
	// Header is the line over it, as the model wrote it; empty for what the model thought and for what stands before the first
	// header or behind the fence around the answer.
	Header string
	Text   string
}

// section is a header and what stands under it, with its ends of line.
type section struct {
	field  Field
	header string
	// level is how many # the header has; chapters says that the text begins with a header of its own.
	level    int
	chapters bool
	// fence is the mark of the one that is open in the text.
	fence string
	text  strings.Builder
}

// Parse reads an answer. wanted are the parts to look for, all where it is empty: when they have been read, the next
// header ends it, since a model that was asked for a title writes on.
func Parse(text string, wanted []Field) Idea {
	if len(wanted) == 0 {
		wanted = Fields()
	}
	thought, answer := thinking(text)
	sections, rest := cut(answer, wanted)
	idea := Idea{Rest: rest}
	if thought != "" {
		idea.Extra = append(idea.Extra, Extra{Text: thought})
	}
	read := map[Field]string{}
	for _, s := range sections {
		value := textline.Strip(s.text.String())
		if s.field == Title {
			value = s.takeLine(value, &idea)
		}
		switch {
		case slices.Contains(wanted, s.field) && read[s.field] == "":
			read[s.field] = value
		case value != "" || s.header != "":
			idea.Extra = append(idea.Extra, Extra{Header: s.header, Text: value})
		}
	}
	idea.Title, idea.Synopsis, idea.Setting, idea.Plot = unbold(read[Title]), read[Synopsis], read[Setting], read[Plot]
	idea.Keywords, idea.Genres = list(read[Keywords]), list(read[Genres])
	for _, f := range Fields() {
		if slices.Contains(wanted, f) && read[f] == "" {
			idea.Missing = append(idea.Missing, f)
		}
	}
	return idea
}

// takeLine gives the first line of a title. What stands under it is told beside the parts.
func (s *section) takeLine(value string, idea *Idea) string {
	end, _ := textline.End(value)
	if rest := textline.Strip(value[end:]); rest != "" {
		idea.Extra = append(idea.Extra, Extra{Header: s.header, Text: rest})
	}
	return value[:end]
}

// cut parts an answer at its headers. It ends at the header behind the last wanted part. Inside of wanted prose a header that
// is none of the six is text, but where all that was wanted has been read, and that was not everything: then keeps decides. So
// is in prose under a # what an item of a list could be, and what stands in a fence. A fence around headers is no part of what
// they stand over. In the other parts any heading ends them.
func cut(text string, wanted []Field) (sections []*section, rest string) {
	current, around := &section{}, ""
	left := slices.Clone(wanted)
	for _, l := range linesOf(text) {
		line := l.text
		switch {
		case around == "" && current.opensAround(l.mark, l.bare, text[l.at+len(line):]):
			around = l.mark
			continue
		case around != "" && l.bare && strings.HasPrefix(l.mark, around):
			around = ""
			sections, current = append(sections, current), &section{}
			continue
		}
		if current.fenced(l) {
			current.text.WriteString(line)
			continue
		}
		h, ok := headerOf(line)
		if part := current.field; part != "" && !part.prose() && !ok && isHeading(line) {
			h, ok = header{}, true
		}
		inProse := current.field.prose() && slices.Contains(wanted, current.field)
		if !ok || h.weak && current.level > 0 && current.field.prose() || h.field == "" && inProse && (len(left) > 0 || len(wanted) == len(Fields()) || current.keeps(h)) {
			current.text.WriteString(line)
			continue
		}
		if len(left) == 0 {
			return append(sections, current), text[l.at:]
		}
		sections = append(sections, current)
		current = &section{field: h.field, header: strip(line), level: h.level}
		current.text.WriteString(h.value)
		left = slices.DeleteFunc(left, func(f Field) bool { return f == h.field })
	}
	return append(sections, current), ""
}

// keeps says that a header that is none of the six belongs to the text of a part, be it a chapter of a plot: it is a smaller one
// than that of the part, or the text begins with one.
func (s *section) keeps(h header) bool {
	if textline.Strip(s.text.String()) == "" {
		s.chapters = true
	}
	return s.chapters || h.level > s.level
}
