// Package archtest holds the walls of the house: who may import whom, what may not be called where, how large files and
// functions may be, and what must be documented. Each rule says why it is there, and the sentence is printed when it is
// broken.
//
// It parses the whole tree, every module in it, without asking the go command. Its test runs with -count=1: Go's test
// cache sees changes of its own module only.
package archtest

import (
	"fmt"
	"slices"
	"strings"
)

// Module is the path that all our import paths begin with.
const Module = "github.com/tsumugi-dev/tsumugi/"

// Violation is a broken rule.
type Violation struct {
	// File is relative to the root of the tree.
	File string
	Line int
	// Rule is its name, What is what was found, Why is the reason of the rule.
	Rule, What, Why string
}

// String gives the violation as a compiler would, with the reason.
func (v Violation) String() string {
	return fmt.Sprintf("%s:%d: %s (%s: %s)", v.File, v.Line, v.What, v.Rule, v.Why)
}

// Check applies every rule to the tree below root and gives what is broken, by file and line.
func Check(root string) ([]Violation, error) {
	packages, err := load(root)
	if err != nil {
		return nil, err
	}
	var out []Violation
	for _, p := range packages {
		for _, check := range []func(*pkg) []Violation{checkImports, checkCalls, checkSizes, checkDocs, checkName} {
			out = append(out, check(p)...)
		}
	}
	slices.SortStableFunc(out, func(a, b Violation) int {
		if c := strings.Compare(a.File, b.File); c != 0 {
			return c
		}
		return a.Line - b.Line
	})
	return out, nil
}
