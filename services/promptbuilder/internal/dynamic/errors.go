package dynamic

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
)

// MaxErrors is how many things that are malformed in one text are told.
const MaxErrors = 20

// SyntaxError is a malformed group, or a comment that does not end.
type SyntaxError struct {
	// Line and Column, from 1; a column is a character (code point).
	Line, Column int
	// Message says what is wrong and what would be right.
	Message string
}

// Error says where and what.
func (e *SyntaxError) Error() string {
	return fmt.Sprintf("line %d, column %d: %s", e.Line, e.Column, e.Message)
}

// SyntaxErrors is everything that is malformed in a text.
type SyntaxErrors struct {
	// Told are at most MaxErrors of them, in the order of the text; More is how many there are beside.
	Told []*SyntaxError
	More int
}

// Error tells them.
func (e *SyntaxErrors) Error() string {
	text := errors.Join(e.Unwrap()...).Error()
	if e.More > 0 {
		text += fmt.Sprintf("\nand %d more", e.More)
	}
	return text
}

// Unwrap gives each.
func (e *SyntaxErrors) Unwrap() []error {
	all := make([]error, len(e.Told))
	for i, one := range e.Told {
		all[i] = one
	}
	return all
}

func (e *SyntaxErrors) sort() {
	slices.SortStableFunc(e.Told, func(a, b *SyntaxError) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
}
