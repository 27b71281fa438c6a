package testkit

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

var (
	caseHeading = regexp.MustCompile(`(?m)^##+ c?(\d+)\b`)
	number      = regexp.MustCompile(`\d+`)
)

// EveryCaseHasATest fails where a case of cases/<service>.md of the reference data is not found by its number in the name of a test of the given
// folders of the repository. A test TestAgent07... has case 7 of the agent and TestAgent07And31... has both; so does a scenario, or another test
// of a table, whose name ends in "(agent c7 c31)".
func EveryCaseHasATest(t testing.TB, service string, folders ...string) {
	t.Helper()
	text, err := os.ReadFile(Shared(t, "cases/"+service+".md"))
	if err != nil {
		t.Fatal(err)
	}
	cases := caseHeading.FindAllStringSubmatch(string(text), -1)
	if len(cases) == 0 {
		t.Fatalf("there is no case in cases/%s.md", service)
	}
	title := strings.ToUpper(service[:1]) + service[1:]
	names := []*regexp.Regexp{
		regexp.MustCompile(`^Test` + title + `\d+(And\d+)*`), regexp.MustCompile(`^"[^"]* \(` + service + `( c\d+)+\)"$`),
	}
	tested := map[int]bool{}
	for _, folder := range folders {
		testedCases(t, filepath.Join(Root(t), filepath.FromSlash(folder)), names[0], names[1], tested)
	}
	for _, found := range cases {
		if n := atoi(found[1]); !tested[n] {
			t.Errorf("no test is called Test%s%02d..., and no scenario \"... (%s c%d)\"", title, n, service, n)
		}
	}
}

// testedCases collects the numbers that stand in the names of tests: of functions, and of texts that name what a table has.
func testedCases(t testing.TB, folder string, function, scenario *regexp.Regexp, tested map[int]bool) {
	t.Helper()
	take := func(name string) {
		for _, n := range number.FindAllString(name, -1) {
			tested[atoi(n)] = true
		}
	}
	err := filepath.WalkDir(folder, func(path string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.FuncDecl:
				if n.Recv == nil {
					take(function.FindString(n.Name.Name))
				}
			case *ast.BasicLit:
				if name := scenario.FindString(n.Value); name != "" {
					take(name[strings.LastIndex(name, "("):])
				}
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// atoi reads digits that were matched.
func atoi(digits string) int {
	n, _ := strconv.Atoi(digits)
	return n
}
