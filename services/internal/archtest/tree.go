package archtest

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// pkg is a folder with Go files.
type pkg struct {
	// path is the folder, relative to the root.
	path  string
	files []*file
}

// file is a parsed Go file.
type file struct {
	path            string
	fset            *token.FileSet
	ast             *ast.File
	test, generated bool
}

func (f *file) line(p token.Pos) int { return f.fset.Position(p).Line }

// code are the files that are neither tests nor generated.
func (p *pkg) code() []*file {
	return slices.DeleteFunc(slices.Clone(p.files), func(f *file) bool { return f.test || f.generated })
}

// main says whether the package is a program.
func (p *pkg) main() bool {
	return slices.ContainsFunc(p.files, func(f *file) bool { return f.ast.Name.Name == "main" })
}

// load parses every Go file below root, but those in testdata, hidden folders and third-party folders.
func load(root string) ([]*pkg, error) {
	byPath := map[string]*pkg{}
	err := filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if name != root && skipped(d.Name()) {
				return fs.SkipDir
			}
			return nil
		}
		if filepath.Ext(name) != ".go" {
			return nil
		}
		f, err := parse(root, name)
		if err != nil {
			return err
		}
		dir := path.Dir(f.path)
		if byPath[dir] == nil {
			byPath[dir] = &pkg{path: dir}
		}
		byPath[dir].files = append(byPath[dir].files, f)
		return nil
	})
	out := make([]*pkg, 0, len(byPath))
	for _, dir := range slices.Sorted(maps.Keys(byPath)) {
		out = append(out, byPath[dir])
	}
	return out, err
}

func skipped(folder string) bool {
	return folder == "testdata" || folder == "node_modules" || strings.HasPrefix(folder, ".") || strings.HasPrefix(folder, "_")
}

func parse(root, name string) (*file, error) {
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	rel, err := filepath.Rel(root, name)
	if err != nil {
		return nil, err
	}
	f := &file{path: filepath.ToSlash(rel), fset: token.NewFileSet(), test: strings.HasSuffix(name, "_test.go")}
	f.ast, err = parser.ParseFile(f.fset, f.path, text, parser.ParseComments)
	if err != nil {
		return nil, fmt.Errorf("parsing: %w", err)
	}
	f.generated = ast.IsGenerated(f.ast)
	return f, nil
}

// imported is one import: its path, local ones without the module's prefix, and the name by which the file knows it.
type imported struct {
	path, name string
	line       int
}

func (f *file) imports() []imported {
	out := make([]imported, 0, len(f.ast.Imports))
	for _, s := range f.ast.Imports {
		p, err := strconv.Unquote(s.Path.Value)
		if err != nil { // the parser has seen it before
			continue
		}
		i := imported{path: strings.TrimPrefix(p, Module), name: base(p), line: f.line(s.Pos())}
		if s.Name != nil {
			i.name = s.Name.Name
		}
		out = append(out, i)
	}
	return out
}

// base is the name of a package, as far as its path tells: math/rand/v2 is rand.
func base(p string) string {
	last := path.Base(p)
	if len(last) > 1 && last[0] == 'v' && last[1] >= '0' && last[1] <= '9' {
		last = path.Base(path.Dir(p))
	}
	return last
}
