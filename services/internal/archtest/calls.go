package archtest

import (
	"go/ast"
	"slices"
)

// callRule says which functions of a package may not be used: neither called nor passed on.
type callRule struct {
	name         string
	from, except []string
	// programs says that package main may use them.
	programs bool
	// path is the package, names are its functions.
	path  string
	names []string
	why   string
}

const (
	whyClock = "the domain calls no clock and no randomness: the time and new ids come in as values, so that the same request gives the same bytes"
	whyExit  = "only main ends the process; anywhere else it skips every Close, and with it what is not written yet"
	whyPrint = "a library says things by its result or its logger; standard output belongs to the person at the terminal"
)

var callRules = []callRule{
	{name: "no clock in the domain", from: domain, except: outer, path: "time", names: []string{"Now", "Since", "Until", "Sleep"}, why: whyClock},
	{
		name: "no randomness in the domain", from: domain, except: outer, path: "github.com/google/uuid",
		names: []string{"New", "NewString", "NewRandom", "NewUUID", "NewV6", "NewV7"}, why: whyClock,
	},
	{name: "exit in main", from: []string{"..."}, programs: true, path: "os", names: []string{"Exit"}, why: whyExit},
	{name: "exit in main", from: []string{"..."}, path: "log", names: []string{"Fatal", "Fatalf", "Fatalln", "Panic", "Panicf", "Panicln"}, why: whyExit},
	{
		name: "print in main", from: []string{"..."}, except: []string{"services/*/bench/...", "services/internal/benchtable", "services/*/internal/demo"},
		programs: true, path: "fmt", names: []string{"Print", "Printf", "Println"}, why: whyPrint,
	},
	{
		name: "one server", from: []string{"services/..."}, except: []string{"services/internal/grpcserver", "services/*/bench/..."},
		path: "google.golang.org/grpc", names: []string{"NewServer"},
		why: "a server made elsewhere has no limits, no interceptors and no error translation",
	},
	{
		name: "one client", from: []string{"services/..."}, except: []string{"services/internal/grpcclient", "services/*/bench/...", "services/*/crash/..."},
		path: "google.golang.org/grpc", names: []string{"NewClient", "Dial", "DialContext"},
		why: "a connection made elsewhere has grpc's 4 MiB limit, and passes on neither request id nor namespace",
	},
	{
		name: "no endless HTTP", from: []string{"services/..."}, path: "net/http", names: []string{"Get", "Head", "Post", "PostForm", "DefaultClient", "ListenAndServe"},
		why: "these have no time limit",
	},
}

func checkCalls(p *pkg) []Violation {
	var out []Violation
	for _, r := range callRules {
		if !matchAny(r.from, p.path) || matchAny(r.except, p.path) || r.programs && p.main() {
			continue
		}
		for _, f := range p.code() {
			out = append(out, r.find(f)...)
		}
	}
	return out
}

// find looks for selectors on the imported package. An identifier that the parser could resolve is a variable.
func (r callRule) find(f *file) []Violation {
	i := slices.IndexFunc(f.imports(), func(i imported) bool { return i.path == r.path })
	if i < 0 {
		return nil
	}
	name := f.imports()[i].name
	var out []Violation
	ast.Inspect(f.ast, func(n ast.Node) bool {
		s, ok := n.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		x, ok := s.X.(*ast.Ident)
		if ok && x.Name == name && x.Obj == nil && slices.Contains(r.names, s.Sel.Name) {
			out = append(out, Violation{f.path, f.line(s.Pos()), r.name, "uses " + name + "." + s.Sel.Name, r.why})
		}
		return true
	})
	return out
}
