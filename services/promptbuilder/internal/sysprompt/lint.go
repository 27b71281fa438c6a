package sysprompt

import (
	"regexp"
	"strings"
)

// maxFindings bounds what the lint tells.
const maxFindings = 50

// volatile are forms of values that change with each build. What was found is the first group.
var volatile = []struct {
	kind string
	form *regexp.Regexp
}{
	{"datetime", regexp.MustCompile(`(\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2})`)},
	{"uuid", regexp.MustCompile(`\b([0-9A-Fa-f]{8}-(?:[0-9A-Fa-f]{4}-){3}[0-9A-Fa-f]{12})\b`)},
	{"epoch", regexp.MustCompile(`\b(1\d{9}(?:\d{3})?)\b`)},
	{"id_key", regexp.MustCompile(`(?i)\b(?:message|msg|request|req|trace|span|chat|run|turn|event)[_-]?id\b"?[ ]?[:=][ ]?"?([0-9A-Za-z_-]+)`)},
	{"hash", regexp.MustCompile(`[:=][ ]?"?([0-9a-f]{5,64})\b`)},
}

// lint finds values above the cache boundary that look as if they changed with each build.
func lint(p Prompt) []Diagnostic {
	var all []Diagnostic
	seen := map[int]bool{}
	text := p.Text[:p.Cache.Byte]
	for _, v := range volatile {
		for _, m := range v.form.FindAllStringSubmatchIndex(text, -1) {
			value := text[m[2]:m[3]]
			if seen[m[2]] || v.kind == "hash" && !strings.ContainsAny(value, "0123456789") {
				continue
			}
			if seen[m[2]] = true; len(all) < maxFindings {
				section, part := p.at(m[2])
				all = append(all, Diagnostic{Code: "volatile_" + v.kind, Section: section, Part: part, Byte: m[2],
					Message: "this looks like a value that changes with each build, above the cache boundary: " + shown(value)})
			}
		}
	}
	return all
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
