// Package check collects what is wrong with a value that somebody wants to store, so that all of it is told at once.
package check

import (
	"fmt"
	"math"
)

// Violation is one thing that is wrong.
type Violation struct {
	// Field is its path in the contract, such as `texts[2].role`.
	Field string
	// Message says what would be right.
	Message string
}

// List is what was found. The zero value is ready to use.
type List struct{ Found []Violation }

// Add notes that a field is wrong.
func (l *List) Add(field, format string, args ...any) {
	l.Found = append(l.Found, Violation{Field: field, Message: fmt.Sprintf(format, args...)})
}

// Bytes refuses a text that is longer than so many bytes.
func (l *List) Bytes(field, text string, limit int) { l.Total(field, len(text), limit) }

// Total refuses texts that are longer than so many bytes together.
func (l *List) Total(field string, bytes, limit int) {
	switch {
	case bytes <= limit:
	case limit >= 1<<20:
		l.Add(field, "is %d bytes long; the limit is %d bytes (%d MiB)", bytes, limit, limit>>20)
	default:
		l.Add(field, "is %d bytes long; the limit is %d bytes", bytes, limit)
	}
}

// Items refuses a list of more than so many items.
func (l *List) Items(field string, n, limit int) {
	if n > limit {
		l.Add(field, "has %d items; the limit is %d", n, limit)
	}
}

// Positive refuses a negative number, and what is no number.
func (l *List) Positive(field string, v float64) {
	if v >= 0 && v <= math.MaxFloat64 {
		return
	}
	l.Add(field, "is %v; it must be a number of at least 0", v)
}
