package llm

import (
	"fmt"
	"strings"
)

// BadKnobsError says that a server does not take the values of knobs which it has: all of them where that is known before
// anything is sent, the one that the server names where it refuses.
type BadKnobsError struct {
	// Bad is at least one.
	Bad []BadKnob
}

// BadKnob is one value that is not taken.
type BadKnob struct {
	// Field is the name in Sampling as requests have it: a knob, or a field inside one, such as `dry.breakers`.
	Field string
	// Problem says what is wrong and what would be right, in the words of a violation.
	Problem string
}

// Error names them all.
func (e *BadKnobsError) Error() string {
	all := make([]string, len(e.Bad))
	for i, b := range e.Bad {
		all[i] = b.Field + " " + b.Problem
	}
	return strings.Join(all, "; ")
}

// Add notes a value.
func (e *BadKnobsError) Add(field, format string, args ...any) {
	e.Bad = append(e.Bad, BadKnob{Field: field, Problem: fmt.Sprintf(format, args...)})
}

// Found is e where something was noted, and nil where nothing was.
func (e *BadKnobsError) Found() error {
	if len(e.Bad) == 0 {
		return nil
	}
	return e
}

// Biases notes a bias that is beyond most in either direction, and, where the size of the vocabulary is known (not 0), of a
// token that is not in it: a server drops what it cannot use, or takes it and does something else.
func (e *BadKnobsError) Biases(s Sampling, most float64, vocabulary int) {
	for i, b := range s.LogitBias {
		field := fmt.Sprintf("%s[%d].", KnobLogitBias, i)
		if !(b.Bias >= -most && b.Bias <= most) {
			e.Add(field+"bias", "is %g; this kind of server takes -%g to %g", b.Bias, most, most)
		}
		if vocabulary > 0 && (b.Token < 0 || b.Token >= vocabulary) {
			e.Add(field+"token", "is %d, and the model has no such token; its tokens have the numbers 0 to %d", b.Token, vocabulary-1)
		}
	}
}
