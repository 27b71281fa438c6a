package dynamic

import (
	"fmt"
	"slices"
	"strings"

	"github.com/tsumugi-dev/tsumugi/services/promptbuilder/internal/textline"
)

// Sets are named lists of options, for `{@name}`.
type Sets map[string][]string

// Options of Parse.
type Options struct {
	Sets Sets
	// Lenient takes what is malformed for text, and Template.Malformed tells of it. It is for what a model wrote: nobody
	// could mend that before the text goes on.
	Lenient bool
}

// Parse reads the grammar that a writer can rely on. Braces without a bar are text, and so is a brace without a partner
// unless a bar follows on its line. The error is a *SyntaxErrors; there is none with Lenient.
func Parse(text string, o Options) (*Template, error) {
	if strings.IndexByte(text, '{') < 0 && strings.IndexByte(text, '@') < 0 {
		return &Template{parts: []part{{text: text}}}, nil
	}
	kept, left, unended := strip(text)
	if unended != nil {
		if !o.Lenient {
			return nil, &SyntaxErrors{Told: []*SyntaxError{unended}}
		}
		kept = stripped{text: text}
	}
	p := parser{text: kept.text, lines: kept.lines, sets: o.Sets, braces: pair(kept.text), position: textline.NewPosition(kept.text)}
	if unended != nil {
		p.wrong.Told = append(p.wrong.Told, unended)
	}
	p.unclosed()
	p.t.parts, p.t.left = p.sequence(0, len(p.text), 0), left
	if len(p.wrong.Told) == 0 {
		return &p.t, nil
	}
	p.wrong.sort()
	if !o.Lenient {
		return nil, &p.wrong
	}
	p.t.malformed = &p.wrong
	return &p.t, nil
}

// parser reads one text. Every place is an index into it.
type parser struct {
	text string
	// lines gives the number of each line in what the writer wrote, comments and all; nil where all lines are there.
	lines    []int
	sets     Sets
	braces   braces
	position *textline.Position
	t        Template
	// wrong is what is malformed. It is read on as text, so that everything that is malformed is found at once.
	wrong SyntaxErrors
	// full says that the group that is one too many was told.
	full bool
}

// fail notes what is wrong at a place.
func (p *parser) fail(at int, format string, args ...any) {
	if len(p.wrong.Told) == MaxErrors {
		p.wrong.More++
		return
	}
	line, column := p.place(at)
	p.wrong.Told = append(p.wrong.Told, &SyntaxError{Line: line, Column: column, Message: fmt.Sprintf(format, args...)})
}

func (p *parser) place(at int) (line, column int) {
	line, column = p.position.Of(at)
	if p.lines != nil {
		line = p.lines[line-1]
	}
	return line, column
}

// unclosed refuses a brace that is never closed and yet begins options on its line, or a set: a group was meant.
func (p *parser) unclosed() {
	for i := range p.braces.all {
		b := &p.braces.all[i]
		if b.end > 0 || b.isCode() {
			continue
		}
		if b.bars > 0 && !textline.Break(p.text[b.open:p.braces.firstEnd(b)]) || p.beginsSet(p.text[b.open+1:]) {
			p.fail(int(b.open), `the group that begins here is never closed; end it with }, or write \{ for a brace`)
		}
	}
}

// sequence reads text[start:end]; depth 0 is outside of all groups.
func (p *parser) sequence(start, end, depth int) []part {
	var parts []part
	var plain strings.Builder
	for i := start; i < end; {
		if n := p.backslashes(i, end); n > 0 {
			i = p.escape(&plain, i, n, end, depth)
			continue
		}
		g, next := p.group(i, depth)
		if g == nil {
			plain.WriteByte(p.text[i])
			i++
			continue
		}
		if plain.Len() > 0 {
			parts = append(parts, part{text: plain.String()})
			plain.Reset()
		}
		parts, i = append(parts, part{group: g}), next
	}
	if plain.Len() > 0 || len(parts) == 0 {
		parts = append(parts, part{text: plain.String()})
	}
	return parts
}

// backslashes counts those that stand at i.
func (p *parser) backslashes(i, end int) int {
	n := 0
	for i+n < end && p.text[i+n] == '\\' {
		n++
	}
	return n
}

// escape writes n backslashes and what they escape, and gives where to go on. Inside of an option each escapes one of
// { } | " \. Outside they mean something only in front of what would be a group, or a malformed one, so that JSON and program
// code stay as they are: two stand for one, and an odd one makes the braces text.
func (p *parser) escape(plain *strings.Builder, i, n, end, depth int) int {
	after := i + n
	if depth == 0 {
		if n%2 == 0 && after < end && p.text[after] == '{' && p.isGroup(p.braces.at(after)) {
			plain.WriteString(p.text[i : i+n/2])
			return after
		}
		if n%2 == 1 && after < end && p.text[after] == '{' {
			if b := find(p.braces.escaped, after); b != nil || p.beginsSet(p.text[after+1:]) {
				plain.WriteString(p.text[i : i+n/2])
				end := after // of a brace that is never closed, it alone
				if b != nil && b.end > 0 {
					end = int(b.end)
				}
				plain.WriteString(unescape(p.text[after : end+1]))
				return end + 1
			}
		}
		plain.WriteString(p.text[i:after])
		return after
	}
	plain.WriteString(p.text[i : i+n/2])
	if n%2 == 0 {
		return after
	}
	if after < end && strings.IndexByte(`{}|"`, p.text[after]) >= 0 {
		plain.WriteByte(p.text[after])
		return after + 1
	}
	plain.WriteByte('\\')
	return after
}

// unescape takes the backslashes off that escape something.
func unescape(text string) string { return unescaper.Replace(text) }

var unescaper = strings.NewReplacer(`\\`, `\`, `\{`, `{`, `\}`, `}`, `\|`, `|`, `\"`, `"`)

// group reads the group that begins at i and gives where the text goes on; nil where none does. What is wrong with the
// group itself is known before what stands in it is read, so that nothing is read twice.
func (p *parser) group(i, depth int) (g *group, next int) {
	if p.text[i] != '{' {
		return nil, 0
	}
	b := p.braces.at(i)
	if !p.isGroup(b) {
		return nil, 0
	}
	switch {
	case depth == MaxNesting:
		p.fail(i, "groups stand in each other more than %d deep", MaxNesting)
		return nil, 0
	case len(p.t.groups) == MaxGroups:
		if !p.full {
			p.fail(i, "there are more than %d groups", MaxGroups)
		}
		p.full = true
		return nil, 0
	}
	h, err := p.head(b)
	if err != nil {
		p.fail(i, "%s", err)
		return nil, 0
	}
	options, ends, ok := p.options(b, h)
	if !ok {
		return nil, 0
	}
	g = &group{index: len(p.t.groups), options: options, least: h.least, most: h.most, between: h.between}
	g.line, g.column = p.place(i)
	p.t.groups = append(p.t.groups, g)
	for o, from := range ends.from {
		g.options[o].parts = p.option(from, ends.to[o], depth+1)
	}
	return g, int(b.end) + 1
}

// options reads how many options a group has, and their weights; those of a set are whole. from and to are between which
// places the others stand.
func (p *parser) options(b *brace, h head) (options []option, texts spans, ok bool) {
	start := int(b.open) + 1 + h.size
	if name := setName.FindStringSubmatch(p.text[start:b.end]); name != nil {
		options, ok = p.set(b, name[1])
		return options, texts, ok && p.enough(b, h, options)
	}
	if n := b.bars + 1; n > MaxOptions {
		p.fail(int(b.open), "this group has %d options; at most %d are taken", n, MaxOptions)
		return nil, texts, false
	}
	ok = true
	for _, end := range p.braces.ends(b) {
		weight, behind, err := p.weight(start, end)
		if err != nil {
			p.fail(start+blanks(p.text[start:end]), "%s", err)
			ok = false
		} else if name := setOption.FindString(p.text[behind:end]); name != "" && (len(p.sets) > 0 || h.written != "") {
			p.fail(behind+blanks(p.text[behind:end]), `%.40q names a set and does not stand alone in its braces; write {@name}, in an option too, as in {{@name}|A}, or put the option in quotes for text`,
				strings.TrimSpace(name))
			ok = false
		}
		options = append(options, option{weight: weight})
		texts.from, texts.to = append(texts.from, behind), append(texts.to, end)
		start = end + 1
	}
	return options, texts, ok && p.enough(b, h, options)
}

// spans are stretches of a text.
type spans struct{ from, to []int }

// enough says that as many options have a weight as the group takes.
func (p *parser) enough(b *brace, h head, options []option) bool {
	drawable := 0
	for _, o := range options {
		if o.weight > 0 {
			drawable++
		}
	}
	switch {
	case drawable == 0:
		p.fail(int(b.open), "all options of this group have the weight 0")
	case h.least > h.most || h.most > drawable:
		p.fail(int(b.open), "%s asks for %d to %d of %d options; the first number must not be over the second, nor that over the number of options with a weight",
			h.written, h.least, h.most, drawable)
	default:
		return true
	}
	return false
}

func (p *parser) set(b *brace, name string) (options []option, ok bool) {
	texts := p.sets[name]
	if len(texts) == 0 {
		p.fail(int(b.open), `there is no set @%s with options in sets; there are %s (write \{ for a brace)`, name, p.setNames())
		return nil, false
	}
	for _, text := range texts {
		options = append(options, option{parts: []part{{text: text}}, weight: one})
	}
	return options, true
}

func (p *parser) setNames() string {
	names := make([]string, 0, len(p.sets))
	for name := range p.sets {
		names = append(names, "@"+name)
	}
	if len(names) == 0 {
		return "none"
	}
	slices.Sort(names)
	return strings.Join(names, ", ")
}

// option reads the text of one: in quotes as it is, any other without the blanks around it.
func (p *parser) option(start, end, depth int) []part {
	start += blanks(p.text[start:end])
	end = start + len(strings.TrimRightFunc(p.text[start:end], textline.IsBlank))
	if end > start+1 && p.text[start] == '"' && closing(p.text[:end], start) == end-1 {
		return []part{{text: unescape(p.text[start+1 : end-1])}}
	}
	return p.sequence(start, end, depth)
}
