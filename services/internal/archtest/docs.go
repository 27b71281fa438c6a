package archtest

import (
	"go/ast"
	"go/token"
	"slices"
)

const (
	whyPackageDoc = "a reader who opens any package knows what it is for and what it may touch"
	whyDoc        = "the comment says units, limits, errors and where a rule comes from: what the name cannot"
	whyName       = "a name that fits everything says nothing; name the package for what it knows"
)

// empty are package names that say nothing.
var empty = []string{"util", "utils", "common", "helper", "helpers", "types", "misc", "base", "shared"}

// usual are methods whose name says all: those of the well-known interfaces.
var usual = []string{"Error", "Unwrap", "Is", "As", "String", "Len", "Less", "Swap", "Read", "Write", "Close", "ServeHTTP", "MarshalJSON", "UnmarshalJSON", "MarshalText", "UnmarshalText"}

func checkName(p *pkg) []Violation {
	code := p.code()
	if len(code) == 0 || !slices.Contains(empty, code[0].ast.Name.Name) {
		return nil
	}
	f := code[0]
	return []Violation{{f.path, f.line(f.ast.Name.Pos()), "package name", "the package is called " + f.ast.Name.Name, whyName}}
}

func checkDocs(p *pkg) []Violation {
	code := p.code()
	if len(code) == 0 {
		return nil
	}
	var out []Violation
	if !slices.ContainsFunc(code, func(f *file) bool { return f.ast.Doc != nil }) {
		out = append(out, Violation{code[0].path, code[0].line(code[0].ast.Name.Pos()), "package comment", "package " + code[0].ast.Name.Name + " has no comment", whyPackageDoc})
	}
	if p.main() {
		return out
	}
	for _, f := range code {
		for _, d := range f.ast.Decls {
			for _, name := range undocumented(d) {
				out = append(out, Violation{f.path, f.line(name.Pos()), "doc comment", name.Name + " has no comment", whyDoc})
			}
		}
	}
	return out
}

// undocumented gives the exported names of a declaration that no comment stands above.
func undocumented(d ast.Decl) []*ast.Ident {
	switch d := d.(type) {
	case *ast.FuncDecl:
		if d.Doc == nil && d.Name.IsExported() && exportedReceiver(d) && (d.Recv == nil || !slices.Contains(usual, d.Name.Name)) {
			return []*ast.Ident{d.Name}
		}
	case *ast.GenDecl:
		if d.Doc == nil && d.Tok != token.IMPORT {
			return bare(d.Specs)
		}
	}
	return nil
}

// exportedReceiver says whether others can reach a method: its type is exported. True for a function.
func exportedReceiver(d *ast.FuncDecl) bool {
	if d.Recv == nil {
		return true
	}
	t := d.Recv.List[0].Type
	if star, ok := t.(*ast.StarExpr); ok {
		t = star.X
	}
	switch g := t.(type) {
	case *ast.IndexExpr:
		t = g.X
	case *ast.IndexListExpr:
		t = g.X
	}
	name, ok := t.(*ast.Ident)
	return ok && name.IsExported()
}

func bare(specs []ast.Spec) []*ast.Ident {
	var out []*ast.Ident
	for _, s := range specs {
		switch s := s.(type) {
		case *ast.TypeSpec:
			if s.Doc == nil && s.Comment == nil && s.Name.IsExported() {
				out = append(out, s.Name)
			}
		case *ast.ValueSpec:
			if s.Doc == nil && s.Comment == nil && s.Names[0].IsExported() {
				out = append(out, s.Names[0])
			}
		}
	}
	return out
}
