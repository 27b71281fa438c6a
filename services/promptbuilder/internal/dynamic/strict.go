package dynamic

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
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
// unless a bar follows on its line. The error is a *SyntaxError, the first of the text; there is none with Lenient.
func Parse(text string, o Options) (*Template, error) {
	if strings.IndexByte(text, '{') < 0 && strings.IndexByte(text, '@') < 0 {
		return &Template{parts: []part{{text: text}}}, nil
	}
	t := &Template{}
	kept, left, err := strip(text)
	if wrong := (*SyntaxError)(nil); errors.As(err, &wrong) {
		if !o.Lenient {
			return nil, err
		}
		t.malformed = append(t.malformed, wrong)
		kept, left = whole(text), 0
	}
	t.left = left
	p := parser{text: kept.text, lines: kept.lines, sets: o.Sets, lenient: o.Lenient, braces: pair(kept.text), t: t}
	err = p.unclosed()
	if err == nil {
		p.t.parts, err = p.sequence(0, len(p.text), 0)
	}
	return p.t, err
}

// forgive is nil for an error that Lenient makes text of, which it notes; else the error.
func (p *parser) forgive(err error) error {
	wrong := (*SyntaxError)(nil)
	if !p.lenient || !errors.As(err, &wrong) {
		return err
	}
	p.t.malformed = append(p.t.malformed, wrong)
	return nil
}

// parser reads one text. Every place is an index into it.
type parser struct {
	text string
	// lines gives the number of each line in what the writer wrote, comments and all.
	lines   []int
	sets    Sets
	lenient bool
	braces  braces
	t       *Template
	// seen is the place whose position was asked for last: groups come in the order of the text.
	seen struct{ at, line, column int }
}

// fail makes the error of a place.
func (p *parser) fail(at int, format string, args ...any) error {
	line, column := p.position(at)
	return &SyntaxError{Line: line, Column: column, Message: fmt.Sprintf(format, args...)}
}

func (p *parser) position(at int) (line, column int) {
	if at < p.seen.at {
		p.seen.at, p.seen.line, p.seen.column = 0, 0, 0
	}
	between := p.text[p.seen.at:at]
	if n := strings.Count(between, "\n"); n > 0 {
		p.seen.line, p.seen.column = p.seen.line+n, 0
		between = between[strings.LastIndexByte(between, '\n')+1:]
	}
	p.seen.column += utf8.RuneCountInString(between)
	p.seen.at = at
	return p.lines[p.seen.line], p.seen.column + 1
}

// unclosed refuses a brace that is never closed and yet begins options on its line: a group was meant.
func (p *parser) unclosed() error {
	for i := 0; i < len(p.text); i++ {
		switch _, closed := p.braces.partner[i]; {
		case p.text[i] == '\\':
			i++
		case p.text[i] == '{' && !closed:
			if bars := p.braces.bars[i]; len(bars) > 0 && !strings.Contains(p.text[i:bars[0]], "\n") {
				if err := p.forgive(p.fail(i, `the group that begins here is never closed; end it with }, or write \{ for a brace`)); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// sequence reads text[start:end]; depth 0 is outside of all groups.
func (p *parser) sequence(start, end, depth int) ([]part, error) {
	var parts []part
	var plain strings.Builder
	for i := start; i < end; {
		if n := p.backslashes(i, end); n > 0 {
			i = p.escape(&plain, i, n, end, depth)
			continue
		}
		groups := len(p.t.groups)
		g, next, err := p.group(i, depth)
		if err != nil {
			if err := p.forgive(err); err != nil {
				return nil, err
			}
			g, p.t.groups = nil, p.t.groups[:groups]
		}
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
	return parts, nil
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
// { } | " \. Outside they mean something only in front of what would be a group, so that JSON and program code stay as
// they are: two stand for one, and an odd one makes the braces text.
func (p *parser) escape(plain *strings.Builder, i, n, end, depth int) int {
	after := i + n
	if depth == 0 {
		closed := p.braces.partner
		if n%2 == 0 && after < end && p.isGroup(after, closed[after]) {
			plain.WriteString(p.text[i : i+n/2])
			return after
		}
		if n%2 == 1 && after < end && p.text[after] == '{' {
			if last, ok := p.braces.escaped[after]; ok {
				plain.WriteString(p.text[i : i+n/2])
				plain.WriteString(unescape(p.text[after : last+1]))
				return last + 1
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
func unescape(text string) string {
	return strings.NewReplacer(`\\`, `\`, `\{`, `{`, `\}`, `}`, `\|`, `|`, `\"`, `"`).Replace(text)
}

// head is what may stand before the options: `2$$`, `1-2$$` and a separator; setName a named set.
var (
	head    = regexp.MustCompile(`^\s*(\d{1,6})(?:-(\d{1,6}))?\$\$`)
	setName = regexp.MustCompile(`^\s*@([\p{L}_][\p{L}\p{N}_-]*)\s*$`)
	weight  = regexp.MustCompile(`^\s*(\d{1,7})(?:\.(\d{1,6}))?::`)
)

// isGroup says that the braces from open to last are drawn.
func (p *parser) isGroup(open, last int) bool {
	if last == 0 || p.text[open] != '{' {
		return false
	}
	inside := p.text[open+1 : last]
	return len(p.braces.bars[open]) > 0 || setName.MatchString(p.afterHead(inside))
}

// afterHead is what stands behind `2$$` and its separator.
func (p *parser) afterHead(inside string) string {
	found := head.FindString(inside)
	if found == "" {
		return inside
	}
	rest := inside[len(found):]
	if at := strings.Index(rest, "$$"); at >= 0 && !strings.ContainsAny(rest[:at], "|{}") {
		rest = rest[at+2:]
	}
	return rest
}

// group reads the group that begins at i and gives where the text goes on; nil where none does.
func (p *parser) group(i, depth int) (g *group, next int, err error) {
	last := p.braces.partner[i]
	if !p.isGroup(i, last) {
		return nil, 0, nil
	}
	if depth == MaxNesting {
		return nil, 0, p.fail(i, "groups stand in each other more than %d deep", MaxNesting)
	}
	if len(p.t.groups) == MaxGroups {
		return nil, 0, p.fail(i, "there are more than %d groups", MaxGroups)
	}
	g = &group{index: len(p.t.groups), least: 1, most: 1}
	g.line, g.column = p.position(i)
	p.t.groups = append(p.t.groups, g)
	start := i + 1
	inside := p.text[start:last]
	counted := head.FindStringSubmatch(inside)
	if counted != nil {
		start = last - len(p.afterHead(inside))
		g.between = ", "
		if own := inside[len(counted[0]) : start-i-1]; own != "" {
			g.between = unescape(strings.TrimSuffix(own, "$$"))
		}
	}
	if err := p.options(g, i, start, last, depth); err != nil {
		return nil, 0, err
	}
	return g, last + 1, p.count(g, i, counted)
}

// count reads how many options are taken.
func (p *parser) count(g *group, at int, counted []string) error {
	if counted == nil {
		return nil
	}
	g.least, _ = strconv.Atoi(counted[1]) // digits, and few
	if g.most = g.least; counted[2] != "" {
		g.most, _ = strconv.Atoi(counted[2])
	}
	drawable := 0
	for _, o := range g.options {
		if o.weight > 0 {
			drawable++
		}
	}
	if g.least > g.most || g.most > drawable {
		return p.fail(at, "%s asks for %d to %d of %d options; the first number must not be over the second, nor that over the number of options with a weight",
			strings.TrimSpace(counted[0]), g.least, g.most, drawable)
	}
	return nil
}

// options reads the options between start and last of the group that opens at open.
func (p *parser) options(g *group, open, start, last, depth int) error {
	if name := setName.FindStringSubmatch(p.text[start:last]); name != nil {
		return p.set(g, open, name[1])
	}
	if n := len(p.braces.bars[open]) + 1; n > MaxOptions {
		return p.fail(open, "this group has %d options; at most %d are taken", n, MaxOptions)
	}
	var total uint64
	for _, end := range append(slices.Clone(p.braces.bars[open]), last) {
		o, err := p.option(start, end, depth+1)
		if err != nil {
			return err
		}
		g.options = append(g.options, o)
		total += o.weight
		start = end + 1
	}
	if total == 0 {
		return p.fail(open, "all options of this group have the weight 0")
	}
	return nil
}

func (p *parser) set(g *group, open int, name string) error {
	options, known := p.sets[name]
	if !known || len(options) == 0 {
		return p.fail(open, `there is no set @%s with options in sets; there are %s (write \{ for a brace)`, name, p.setNames())
	}
	for _, text := range options {
		g.options = append(g.options, option{parts: []part{{text: text}}, weight: one})
	}
	return nil
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

// one is the weight of an option that names none, in millionths.
const one = 1_000_000

// option reads one: its weight, then a text in quotes as it is, or any other without the blanks around it.
func (p *parser) option(start, end, depth int) (option, error) {
	o := option{weight: one}
	if found := weight.FindStringSubmatch(p.text[start:end]); found != nil {
		var err error
		if o.weight, err = millionths(found[1], found[2]); err != nil {
			return o, p.fail(start, "%s", err)
		}
		start += len(found[0])
	}
	start += blanks(p.text[start:end])
	end = start + len(strings.TrimRight(p.text[start:end], blankCharacters))
	if end > start+1 && p.text[start] == '"' && closing(p.text[:end], start) == end-1 {
		o.parts = []part{{text: unescape(p.text[start+1 : end-1])}}
		return o, nil
	}
	parts, err := p.sequence(start, end, depth)
	o.parts = parts
	return o, err
}

// blankCharacters are those around options that do not belong to them: White_Space of Unicode.
const blankCharacters = " \t\n\v\f\r\u0085\u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u2028\u2029\u202f\u205f\u3000"

// millionths reads a weight without floating point, so that all machines agree.
func millionths(whole, fraction string) (uint64, error) {
	n, _ := strconv.ParseUint(whole+(fraction + "000000")[:6], 10, 64) // at most 13 digits
	if n > MaxWeight*one {
		return 0, errors.New("a weight is over " + strconv.Itoa(MaxWeight))
	}
	return n, nil
}
