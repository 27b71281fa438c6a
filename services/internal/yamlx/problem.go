package yamlx

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Problem is one thing that is wrong in a text.
type Problem struct {
	// Path is the key, such as `backends.gemma.address` or `hosts[2]`; empty for the whole.
	Path string
	// Node is where it is; nil where no place is known. Its Line counts from 1 and is 0 for Text.
	Node *Node
	// Message says what is wrong and what would be right, to be read behind the path.
	Message string
}

// String puts place, path and message together.
func (p Problem) String() string {
	var b strings.Builder
	if p.Node != nil && p.Node.Line > 0 {
		fmt.Fprintf(&b, "line %d: ", p.Node.Line)
	}
	if p.Path != "" {
		b.WriteString(p.Path + ": ")
	}
	b.WriteString(p.Message)
	return b.String()
}

// Error is everything that is wrong in a text, in the order of the text.
type Error struct{ Problems []Problem }

// Error gives each problem a line.
func (e *Error) Error() string {
	lines := make([]string, len(e.Problems))
	for i, p := range e.Problems {
		lines[i] = p.String()
	}
	return strings.Join(lines, "\n")
}

func fault(n *Node, format string, args ...any) *Error {
	return &Error{Problems: []Problem{{Node: n, Message: fmt.Sprintf(format, args...)}}}
}

// Closest gives the word of known that was probably meant; empty where none is near.
func Closest(word string, known []string) string {
	best, distance := "", 1+max(1, min(3, len(word)/3))
	for _, k := range slices.SortedFunc(slices.Values(known), cmp.Compare) {
		if d := edits(word, k); d < distance {
			best, distance = k, d
		}
	}
	return best
}

// edits counts the single letters to add, drop or change, or neighbours to swap, to make b of a. Words here are keys, short ones.
func edits(a, b string) int {
	if len(a) > 64 || len(b) > 64 {
		return 64
	}
	d := make([][]int, len(a)+1)
	for i := range d {
		d[i] = make([]int, len(b)+1)
		d[i][0] = i
	}
	for j := range d[0] {
		d[0][j] = j
	}
	for i := 1; i <= len(a); i++ {
		for j := 1; j <= len(b); j++ {
			change := d[i-1][j-1]
			if a[i-1] != b[j-1] {
				change++
			}
			d[i][j] = min(d[i-1][j]+1, d[i][j-1]+1, change)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				d[i][j] = min(d[i][j], d[i-2][j-2]+1)
			}
		}
	}
	return d[len(a)][len(b)]
}
