package sysprompt

import (
	"fmt"
	"iter"
	"regexp"
	"slices"
	"strings"
)

// maxFindings bounds the values that the lint tells; where there are more, how many is told behind them.
const maxFindings = 50

// above is where they stand; the message of one that is moved says so instead.
const above = "above the cache boundary"

// volatile are forms of values that change with each build. What was found is the first group. No form goes over the end of a
// line, and most lines have none of what one needs: a look for that is many times as fast as an expression.
var volatile = []struct {
	kind string
	form *regexp.Regexp
	may  func(line string) bool
}{
	{"datetime", regexp.MustCompile(`(\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2})`), func(line string) bool { return strings.Contains(line, ":") && digits(line, 4) }},
	{"uuid", regexp.MustCompile(`\b([0-9A-Fa-f]{8}-(?:[0-9A-Fa-f]{4}-){3}[0-9A-Fa-f]{12})\b`), func(line string) bool { return strings.Count(line, "-") >= 4 }},
	{"epoch", regexp.MustCompile(`\b(1\d{9}(?:\d{3})?)\b`), func(line string) bool { return digits(line, 10) }},
	{"id_key", regexp.MustCompile(`(?i)\b(?:message|msg|request|req|trace|span|chat|run|turn|event)[_-]?id\b"?[ ]?[:=][ ]?"?([0-9A-Za-z_-]+)`), func(line string) bool {
		return assigns(line) && slices.ContainsFunc([]string{"id", "Id", "iD", "ID"}, func(id string) bool { return strings.Contains(line, id) })
	}},
	{"hash", regexp.MustCompile(`[:=][ ]?"?([0-9a-f]{5,64})\b`), func(line string) bool { return assigns(line) && digits(line, 1) }},
}

func assigns(line string) bool { return strings.ContainsAny(line, ":=") }

// digits says that a line has so many digits in a row.
func digits(line string, n int) bool {
	run := 0
	for i := range len(line) {
		if line[i] < '0' || line[i] > '9' {
			run = 0
		} else if run++; run == n {
			return true
		}
	}
	return false
}

// value is a place in a text, in bytes, at which stands what looks as if it changed with each build.
type value struct {
	kind       string
	start, end int
}

// values finds them, those of one kind after the other, each place once.
func values(text string) iter.Seq[value] {
	return func(yield func(value) bool) {
		seen := map[int]bool{}
		for _, v := range volatile {
			next := 0
			for line := range strings.Lines(text) {
				at := next
				next += len(line)
				if !v.may(line) {
					continue
				}
				for _, m := range v.form.FindAllStringSubmatchIndex(line, -1) {
					if seen[at+m[2]] || v.kind == "hash" && !digits(line[m[2]:m[3]], 1) {
						continue
					}
					seen[at+m[2]] = true
					if !yield(value{v.kind, at + m[2], at + m[3]}) {
						return
					}
				}
			}
		}
	}
}

// lint tells the first values above the cache boundary, and how many more there are.
func lint(p Prompt) []Diagnostic {
	var all []Diagnostic
	text, more := p.Text[:p.Cache.Byte], 0
	for v := range values(text) {
		if len(all) == maxFindings {
			more++
			continue
		}
		section, part := p.at(v.start)
		all = append(all, Diagnostic{Code: "volatile_" + v.kind, Section: section, Part: part, Byte: v.start,
			Message: "this looks like a value that changes with each build, " + above + ": " + shown(text[v.start:v.end])})
	}
	if more > 0 {
		all = append(all, Diagnostic{Code: "volatile_more", Message: fmt.Sprintf("%d more of such values stand %s", more, above)})
	}
	return all
}

// move makes the caller's own sections with a value above the cache boundary VOLATILE, and says whether there were any.
func (d *Draft) move(p Prompt) bool {
	moved := false
	d.Sections = slices.Clone(d.Sections)
	for _, s := range p.Sections {
		at := slices.IndexFunc(d.Sections, func(c Custom) bool { return c.ID == s.ID })
		if at < 0 || builtIn(s.ID) || s.Class > Stable {
			continue
		}
		for range values(p.Text[s.Start:s.End]) {
			d.Sections[at].Class, moved = Volatile, true
			break
		}
	}
	return moved
}

// follow moves findings to where their sections stand now.
func follow(findings []Diagnostic, before, now Prompt) {
	section := func(p Prompt, id string) Section {
		return p.Sections[slices.IndexFunc(p.Sections, func(s Section) bool { return s.ID == id })]
	}
	for i, f := range findings {
		if f.Section == "" {
			findings[i].Message += ", or stood there before their sections were moved"
			continue
		}
		is := section(now, f.Section)
		findings[i].Byte += is.Start - section(before, f.Section).Start
		if is.Class == Volatile {
			findings[i].Message = strings.Replace(f.Message, above, "moved below the cache boundary", 1)
		}
	}
}

// at names the section and the part that hold a byte of the text.
func (p Prompt) at(b int) (section, part string) {
	for _, s := range p.Sections {
		if b < s.Start || b >= s.End {
			continue
		}
		for _, q := range s.Parts {
			if b >= q.Start && b < q.End {
				return s.ID, q.ID
			}
		}
		return s.ID, ""
	}
	return "", ""
}
