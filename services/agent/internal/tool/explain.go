package tool

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// explainer finds everything in which arguments do not fit a schema. Whether they fit is the library's word, which stops at the
// first fault.
type explainer struct{ found []Violation }

func (e *explainer) add(field, format string, args ...any) {
	if len(e.found) <= maxViolations*2 {
		e.found = append(e.found, Violation{field, fmt.Sprintf(format, args...)})
	}
}

// explain adds the faults of a value.
func (e *explainer) explain(t tree, value any, path string) {
	if t.node == false {
		e.add(path, "may not be given")
		return
	}
	if target, there, err := t.ref(); there && err == nil {
		e.explain(target, value, path)
	}
	for _, sub := range t.list("allOf") {
		e.explain(sub, value, path)
	}
	if !e.kind(t, value, path) {
		return
	}
	e.choice(t, value, path)
	switch v := value.(type) {
	case float64:
		e.number(t, v, path)
	case string:
		e.text(t, v, path)
	case []any:
		e.list(t, v, path)
	case map[string]any:
		e.object(t, v, path)
	}
}

// kind says whether the type of a value is right.
func (e *explainer) kind(t tree, value any, path string) bool {
	var want []string
	switch k := t.object()["type"].(type) {
	case string:
		want = []string{k}
	case []any:
		for _, one := range k {
			if s, ok := one.(string); ok {
				want = append(want, s)
			}
		}
	}
	got := kindOf(value)
	if len(want) == 0 || slices.Contains(want, got) || got == "integer" && slices.Contains(want, "number") {
		return true
	}
	e.add(path, "must be of type %s, and is of type %s", strings.Join(want, " or "), got)
	return false
}

func kindOf(value any) string {
	switch v := value.(type) {
	case nil:
		return "null"
	case bool:
		return "boolean"
	case string:
		return "string"
	case []any:
		return "array"
	case float64:
		if v == math.Trunc(v) {
			return "integer"
		}
		return "number"
	}
	return "object"
}

// choice looks at enum, const and anyOf: what a value may be as a whole.
func (e *explainer) choice(t tree, value any, path string) {
	allowed, _ := t.object()["enum"].([]any)
	if only, ok := t.object()["const"]; ok {
		allowed = append(slices.Clone(allowed), only)
	}
	mine := brief(value)
	if len(allowed) > 0 && !slices.ContainsFunc(allowed, func(a any) bool { return brief(a) == mine }) {
		e.add(path, "must be %s", oneOf(allowed))
	}
	forms := t.list("anyOf")
	forms = append(forms, t.list("oneOf")...)
	for _, form := range forms {
		tried := explainer{}
		if tried.explain(form, value, path); len(tried.found) == 0 {
			return
		}
	}
	if len(forms) > 0 {
		e.add(path, "has none of the %d forms that are allowed", len(forms))
	}
}

// brief is a value as JSON; the whole of it, since it is compared too.
func brief(value any) string {
	text, err := json.Marshal(value)
	if err != nil {
		return ""
	}
	return string(text)
}

// oneOf names what is allowed.
func oneOf(values []any) string {
	const most = 20 // values that a sentence can name
	var out []string
	for _, v := range values[:min(len(values), most)] {
		out = append(out, PlainLine(brief(v), MaxTitle))
	}
	if len(values) > most {
		out = append(out, fmt.Sprintf("one of %d others", len(values)-most))
	}
	return strings.Join(out, " or ")
}

// limit is a keyword with a number.
func (t tree) limit(keyword string) (float64, bool) {
	n, ok := t.object()[keyword].(float64)
	return n, ok
}

func decimal(n float64) string { return strconv.FormatFloat(n, 'f', -1, 64) }

func (e *explainer) number(t tree, v float64, path string) {
	if n, ok := t.limit("minimum"); ok && v < n {
		e.add(path, "must be at least %s, and is %s", decimal(n), decimal(v))
	}
	if n, ok := t.limit("maximum"); ok && v > n {
		e.add(path, "must be at most %s, and is %s", decimal(n), decimal(v))
	}
	if n, ok := t.limit("exclusiveMinimum"); ok && v <= n {
		e.add(path, "must be above %s, and is %s", decimal(n), decimal(v))
	}
	if n, ok := t.limit("exclusiveMaximum"); ok && v >= n {
		e.add(path, "must be below %s, and is %s", decimal(n), decimal(v))
	}
}

// count looks at how many of something there are.
func (e *explainer) count(t tree, n int, path, least, most, what string) {
	if m, ok := t.limit(least); ok && float64(n) < m {
		e.add(path, "must have at least %s %s, and has %d", decimal(m), what, n)
	}
	if m, ok := t.limit(most); ok && float64(n) > m {
		e.add(path, "must have at most %s %s, and has %d", decimal(m), what, n)
	}
}

func (e *explainer) text(t tree, v, path string) {
	e.count(t, utf8.RuneCountInString(v), path, "minLength", "maxLength", "characters")
	if pattern, ok := t.object()["pattern"].(string); ok {
		if r, err := regexp.Compile(pattern); err == nil && !r.MatchString(v) {
			e.add(path, "must match the pattern %s", PlainLine(pattern, MaxTitle))
		}
	}
}

func (e *explainer) list(t tree, v []any, path string) {
	e.count(t, len(v), path, "minItems", "maxItems", "items")
	first := t.list("prefixItems")
	rest, all := t.child("items")
	for i, value := range v {
		switch at := fmt.Sprintf("%s[%d]", path, i); {
		case i < len(first):
			e.explain(first[i], value, at)
		case all:
			e.explain(rest, value, at)
		}
	}
}

func (e *explainer) object(t tree, v map[string]any, path string) {
	e.count(t, len(v), path, "minProperties", "maxProperties", "members")
	for _, name := range t.required() {
		if _, there := v[name]; !there {
			e.add(member(path, name), "is required, and is missing")
		}
	}
	properties := t.named("properties")
	more, bounded := t.child("additionalProperties")
	for _, name := range slices.Sorted(maps.Keys(v)) {
		at := member(path, name)
		matched := false
		for pattern, sub := range t.named("patternProperties") {
			if matches(pattern, name) {
				matched = true
				e.explain(sub, v[name], at)
			}
		}
		if sub, ok := properties[name]; ok {
			e.explain(sub, v[name], at)
		} else if bounded && !matched && more.node != false { // false: an unknown key, which is told as such.
			e.explain(more, v[name], at)
		}
	}
}

func matches(pattern, name string) bool {
	r, err := regexp.Compile(pattern)
	return err == nil && r.MatchString(name)
}
