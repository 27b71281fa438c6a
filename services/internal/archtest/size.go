package archtest

import (
	"fmt"
	"go/ast"
	"go/token"
)

// The largest file and function, in lines (design 6). The lines of a composite literal do not count: a table is data.
// A function that stands in one counts for itself.
const (
	maxFile = 400
	maxFunc = 60
)

const (
	whyFile = "a file is about one thing; split it by what its parts know"
	whyFunc = "a function is read at one glance"
)

func checkSizes(p *pkg) []Violation {
	var out []Violation
	for _, f := range p.code() {
		lines := f.fset.File(f.ast.Pos()).LineCount() - f.tables(f.ast)
		if lines > maxFile {
			out = append(out, Violation{f.path, maxFile, "file size", fmt.Sprintf("has %d lines, more than %d", lines, maxFile), whyFile})
		}
		out = append(out, f.functions()...)
	}
	return out
}

// functions checks every declared function, and every function literal in a table.
func (f *file) functions() []Violation {
	var out []Violation
	check := func(name string, n ast.Node) {
		if lines := f.span(n) - f.tables(n); lines > maxFunc {
			out = append(out, Violation{f.path, f.line(n.Pos()), "function size", fmt.Sprintf("%s has %d lines, more than %d", name, lines, maxFunc), whyFunc})
		}
	}
	for _, d := range f.ast.Decls {
		if fn, ok := d.(*ast.FuncDecl); ok {
			check(fn.Name.Name, fn)
		}
	}
	ast.Inspect(f.ast, func(n ast.Node) bool {
		table, ok := n.(*ast.CompositeLit)
		if !ok {
			return true
		}
		ast.Inspect(table, func(n ast.Node) bool {
			if lit, ok := n.(*ast.FuncLit); ok {
				check("a function in a table", lit)
			}
			return true
		})
		return false
	})
	return out
}

// span is how many lines a node covers, without the comment above it.
func (f *file) span(n ast.Node) int {
	start := n.Pos()
	if fn, ok := n.(*ast.FuncDecl); ok {
		start = fn.Type.Pos()
	}
	return f.line(n.End()) - f.line(start) + 1
}

// tables is how many lines of a node belong to composite literals: all but the first of each.
func (f *file) tables(n ast.Node) int {
	lines := 0
	ast.Inspect(n, func(n ast.Node) bool {
		table, ok := n.(*ast.CompositeLit)
		if !ok {
			return true
		}
		lines += f.lines(table.Lbrace, table.Rbrace)
		return false
	})
	return lines
}

func (f *file) lines(from, to token.Pos) int { return f.line(to) - f.line(from) }
