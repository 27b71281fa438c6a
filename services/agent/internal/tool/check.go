package tool

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/tsumugi-dev/tsumugi/services/agent/internal/canon"
)

// maxViolations is how many faults of one call are told.
const maxViolations = 50

// Checked are the arguments of a call that fit its tool.
type Checked struct {
	// Args are in canonical form, with the defaults of the schema. The tool gets exactly these bytes (S6).
	Args []byte
	// Defaulted are the fields that the schema has filled in.
	Defaulted []string
}

// Check brings the arguments of a call into canonical form, fills in the defaults of the schema, and holds them against it. The
// error is an *ArgumentsError with everything that is wrong. A key that the schema does not name is wrong even where the
// schema says nothing of further keys (cases/agent.md c2: approved, auto_approve), but for inner objects of which it names no
// key at all, and where it allows them itself by additionalProperties.
//
// Checked arguments are a fixed point: checked once more, they stay as they are.
func (t *Tool) Check(args []byte) (Checked, error) {
	text, err := canon.Object(args)
	if err != nil {
		return Checked{}, t.refuse(violation(err))
	}
	var values map[string]any
	if err := json.Unmarshal(text, &values); err != nil {
		return Checked{}, t.refuse(violation(err))
	}
	d := defaulter{}
	d.fill(t.schema.root, values, "")
	slices.Sort(d.filled)
	if text, err = json.Marshal(values); err == nil {
		text, err = canon.JSON(text) // Defaults may have more than one form too.
	}
	if err != nil {
		return Checked{}, t.refuse(violation(err))
	}
	// What the schema is held against is what the tool gets.
	if err := json.Unmarshal(text, &values); err != nil {
		return Checked{}, t.refuse(violation(err))
	}
	e := explainer{}
	e.unknown(t.schema.root, values, "")
	if err := t.schema.resolved.Validate(values); err != nil {
		e.explain(t.schema.root, values, "")
		if len(e.found) == 0 {
			e.add("", "do not fit the schema: %s", PlainLine(err.Error(), MaxTitle))
		}
	}
	if len(e.found) > 0 {
		return Checked{}, t.refuse(e.found...)
	}
	return Checked{Args: text, Defaulted: d.filled}, nil
}

// Violation is a fault of the arguments.
type Violation struct {
	// Field is the path of the value, such as `edits[2].line`; empty for the arguments as a whole.
	Field string `json:"field"`
	// Message follows the field in a sentence.
	Message string `json:"message"`
}

// String gives the sentence.
func (v Violation) String() string {
	if v.Field == "" {
		return "the arguments " + v.Message
	}
	return v.Field + " " + v.Message
}

func violation(err error) Violation {
	var e *canon.Error
	if errors.As(err, &e) {
		return Violation{e.Path, "cannot be read: " + e.Message}
	}
	return Violation{"", "cannot be read: " + err.Error()}
}

// ArgumentsError says why a call is refused.
type ArgumentsError struct {
	Tool       string
	Violations []Violation
}

// Error gives all sentences, one a line: it is what the model is told.
func (e *ArgumentsError) Error() string {
	lines := []string{"The arguments of " + e.Tool + " are refused:"}
	for _, v := range e.Violations {
		lines = append(lines, "- "+v.String())
	}
	return strings.Join(lines, "\n")
}

func (t *Tool) refuse(found ...Violation) error {
	slices.SortStableFunc(found, func(a, b Violation) int { return strings.Compare(a.Field, b.Field) })
	found = slices.Compact(found)
	if n := len(found) - maxViolations; n > 0 {
		found = append(found[:maxViolations:maxViolations], Violation{"", fmt.Sprintf("have %d more faults", n)})
	}
	return &ArgumentsError{Tool: t.Full(), Violations: found}
}

// defaulter fills in what a schema has defaults for: in objects that are there, for members that are not and need not be. Those of
// schemas under allOf, anyOf and the like are no defaults, since nobody knows which of them applies.
type defaulter struct{ filled []string }

func (d *defaulter) fill(t tree, value any, path string) {
	for range maxVisits { // References that lead to references: an end was seen when the schema was compiled.
		target, there, err := t.ref()
		if !there || err != nil {
			break
		}
		t = target
	}
	switch v := value.(type) {
	case map[string]any:
		required := t.required()
		properties := t.named("properties")
		for _, name := range slices.Sorted(maps.Keys(properties)) {
			sub := properties[name]
			if _, there := v[name]; !there && !slices.Contains(required, name) {
				if text, ok := sub.fallback(); ok {
					v[name] = text
					d.filled = append(d.filled, member(path, name))
				}
			}
			if inner, there := v[name]; there {
				d.fill(sub, inner, member(path, name))
			}
		}
	case []any:
		if items, ok := t.child("items"); ok {
			for i, inner := range v {
				d.fill(items, inner, fmt.Sprintf("%s[%d]", path, i))
			}
		}
	}
}

// fallback is a copy of the default of a schema, which a call may not change.
func (t tree) fallback() (any, bool) {
	value, ok := t.object()["default"]
	if !ok {
		return nil, false
	}
	text, err := json.Marshal(value)
	if err != nil {
		return nil, false
	}
	var own any
	err = json.Unmarshal(text, &own)
	return own, err == nil
}

func (t tree) required() []string {
	l, _ := t.object()["required"].([]any)
	var out []string
	for _, n := range l {
		if s, ok := n.(string); ok {
			out = append(out, s)
		}
	}
	return out
}

// member is the path of a member of an object.
func member(path, name string) string {
	name = PlainLine(name, MaxTitle)
	if path == "" {
		return name
	}
	return path + "." + name
}
