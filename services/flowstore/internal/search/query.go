package search

import (
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/node"
)

// Limits of a query.
const (
	// MaxQuery is the longest query, in bytes.
	MaxQuery = 4 << 10
	// MaxParts is the most words, filters and alternatives of a filter in a query.
	MaxParts = 64
)

// Violation is one thing that is wrong with a query.
type Violation struct {
	// At is the place in the query, in characters from 1; Part is what stands there.
	At   int
	Part string
	// Message says what is wrong and what would be right.
	Message string
}

// QueryError says everything that is wrong with a query.
type QueryError struct{ Violations []Violation }

func (e *QueryError) Error() string {
	all := make([]string, len(e.Violations))
	for i, v := range e.Violations {
		all[i] = fmt.Sprintf("at character %d, %q %s", v.At, v.Part, v.Message)
	}
	return "the query cannot be understood: " + strings.Join(all, "; ")
}

// Query is what somebody looks for, as Parse reads it.
type Query struct {
	words               []word
	tags, models, flows []filter
	// roles, where there are any, are those whose texts count.
	roles []string
	// after and before bound the time of creation: from after on, and earlier than before.
	after, before *bound
}

// bound is a time; zoneless says that the query has no zone of it, and that it is the same date and clock in whatever zone.
type bound struct {
	at       time.Time
	zoneless bool
}

// In gives the query with the times that say no zone in this one. Parse has them in UTC.
func (q *Query) In(zone *time.Location) *Query {
	there := *q
	there.after, there.before = q.after.in(zone), q.before.in(zone)
	return &there
}

func (b *bound) in(zone *time.Location) *bound {
	if b == nil || !b.zoneless {
		return b
	}
	year, month, day := b.at.Date()
	hour, minute, second := b.at.Clock()
	return &bound{time.Date(year, month, day, hour, minute, second, b.at.Nanosecond(), zone), true}
}

// word is a text that is looked for, folded.
type word struct {
	text string
	not  bool
	// kinds are those of its characters; simple says that folding leaves each of them as it is.
	kinds  kinds
	simple bool
}

// cost tells what is looked up later than something else: words that nodes must not hold last, and before these words of scripts
// with blanks, for which all of the index is looked through.
func (w word) cost() int {
	switch {
	case w.not:
		return 2
	case w.kinds == denseKind:
		return 0
	}
	return 1
}

// filter is satisfied by any of its values.
type filter struct {
	any []value
	not bool
}

// value is what stands behind the colon of a filter.
type value struct {
	text string
	// quoted says that the text is the whole name.
	quoted bool
	// at is its place in the query: a byte, and in a filter of a Query the number of the character.
	at int
}

// Parse reads a query:
//
//	検索 "quick fix" -word       texts that hold all of these, and not the word behind the hyphen
//	tag:夜 tag:駅,港             nodes with the first tag, and with one of the others; -tag: for those without
//	model:gemma                  nodes of a model with this in its name; model:"gpt-4" for the whole name; -model:
//	role:user,system             only the texts of these roles count
//	flow:UUID flow:"a name"      nodes of a flow; -flow: for those that are not in it
//	after:2026-05 before:2026-06-15T12:00:00+09:00   made from this time on; made earlier
//
// A year, month or day means its beginning; times without a zone are in UTC, or in that of Query.In. Quotes hold a text with blanks, or one that begins like a filter;
// "" within is a quotation mark. Colons, commas, hyphens and quotation marks may be of full width. QueryError.
func Parse(text string) (*Query, error) {
	p := parser{text: text, query: &Query{}}
	switch {
	case len(text) > MaxQuery:
		p.refuse(0, "", "is %d bytes long; the limit is %d bytes", len(text), MaxQuery)
	case !utf8.ValidString(text):
		p.refuse(0, "", "is not valid UTF-8; send it as UTF-8")
	case strings.TrimSpace(text) == "":
		p.refuse(0, "", "is empty; write a word, or a filter such as tag:draft")
	default:
		p.parse()
	}
	if len(p.violations) > 0 {
		slices.SortStableFunc(p.violations, func(a, b Violation) int { return a.At - b.At })
		return nil, &QueryError{p.violations}
	}
	return p.query, nil
}

type parser struct {
	text       string
	query      *Query
	parts      int
	violations []Violation
}

// refuse notes that what stands at a byte of the query is wrong.
func (p *parser) refuse(at int, part, format string, args ...any) {
	p.violations = append(p.violations, Violation{place(p.text, at), part, fmt.Sprintf(format, args...)})
}

// place is the number of the character at a byte, from 1.
func place(text string, at int) int { return utf8.RuneCountInString(text[:at]) + 1 }

func (p *parser) parse() {
	for _, t := range p.tokens() {
		if t.key == "" {
			p.word(t)
			continue
		}
		keys[t.key].read(p, t)
	}
	// Those that are found quickest leave least for the others to be looked up in.
	slices.SortStableFunc(p.query.words, func(a, b word) int { return a.cost() - b.cost() })
	if p.parts > MaxParts {
		p.refuse(0, "", "has %d words and values; the limit is %d", p.parts, MaxParts)
	}
}

func (p *parser) word(t token) {
	for _, v := range t.values {
		if folded := Fold(v.text); strings.TrimSpace(folded) == "" {
			p.refuse(v.at, t.text, "holds nothing to look for; write a word")
		} else {
			p.query.words = append(p.query.words, word{
				folded, t.not, kindsOf(folded),
				!strings.ContainsFunc(folded, func(r rune) bool { return simple(r) != r }),
			})
		}
	}
}

// key is a kind of filter.
type key struct {
	read func(*parser, token)
	// example is what would be right.
	example string
}

// keys by their names in queries.
var keys map[string]key

func init() {
	keys = map[string]key{
		"tag":    {func(p *parser, t token) { p.filter(t, &p.query.tags) }, "tag:draft"},
		"model":  {func(p *parser, t token) { p.once(t); p.filter(t, &p.query.models) }, "model:gemma"},
		"flow":   {func(p *parser, t token) { p.filter(t, &p.query.flows) }, `flow:"the name of a flow"`},
		"role":   {(*parser).roles, "role:user"},
		"after":  {func(p *parser, t token) { p.time(t, &p.query.after) }, "after:2026-05-01"},
		"before": {func(p *parser, t token) { p.time(t, &p.query.before) }, "before:2026-05-01"},
	}
}

// filter takes the values of a filter.
func (p *parser) filter(t token, to *[]filter) {
	f := filter{not: t.not}
	for _, v := range t.values {
		folded := tagKey(v.text)
		if folded == "" {
			p.refuse(v.at, t.text, "has no value; write %s", keys[t.key].example)
			continue
		}
		if t.key != "flow" {
			v.text = folded
		}
		v.at = place(p.text, v.at)
		f.any = append(f.any, v)
	}
	*to = append(*to, f)
}

// once refuses a second filter of a kind of which a node can satisfy only one.
func (p *parser) once(t token) {
	given := map[string]bool{
		"role": len(p.query.roles) > 0, "after": p.query.after != nil, "before": p.query.before != nil,
		"model": slices.ContainsFunc(p.query.models, func(f filter) bool { return !f.not }) && !t.not,
	}
	switch {
	case !given[t.key]:
	case t.key == "role" || t.key == "model":
		p.refuse(t.at, t.text, "is the second %s:; write one, with a comma between the values", t.key)
	default:
		p.refuse(t.at, t.text, "is the second %s:; write one", t.key)
	}
}

// positive refuses a filter that cannot be turned round.
func (p *parser) positive(t token) {
	if t.not {
		p.refuse(t.at, t.text, "cannot have a hyphen before it; write it without")
	}
}

func (p *parser) roles(t token) {
	p.once(t)
	p.positive(t)
	for _, v := range t.values {
		role := tagKey(v.text)
		if !slices.Contains(node.Roles, role) {
			p.refuse(v.at, t.text, "names no role; a role is one of %s", strings.Join(node.Roles, ", "))
			continue
		}
		p.query.roles = append(p.query.roles, role)
	}
}

// layouts are the times that a query may hold, those without a zone first.
var layouts = []string{"2006", "2006-01", "2006-01-02", "2006-01-02T15:04", "2006-01-02T15:04:05", time.RFC3339Nano}

func (p *parser) time(t token, to **bound) {
	p.once(t)
	p.positive(t)
	if len(t.values) > 1 {
		p.refuse(t.at, t.text, "has %d values; write one time, such as %s", len(t.values), keys[t.key].example)
		return
	}
	text := strings.ToUpper(tagKey(t.values[0].text))
	for _, layout := range layouts {
		if at, err := time.Parse(layout, text); err == nil {
			*to = &bound{at, layout != time.RFC3339Nano}
			return
		}
	}
	p.refuse(t.at, t.text, "has no time; write a year, a month, a day or a time: %s:2026, %[1]s:2026-05, %[1]s:2026-05-01, %[1]s:2026-05-01T12:00:00+09:00", t.key)
}
