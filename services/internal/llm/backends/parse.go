package backends

import (
	"errors"
	"fmt"
	"iter"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/tsumugi-dev/tsumugi/services/internal/llm"
	"github.com/tsumugi-dev/tsumugi/services/internal/yamlx"
)

// maxBackends bounds the file: names are labels of metrics.
const maxBackends = 64

// nameForm is what a name looks like.
var nameForm = regexp.MustCompile(`^[a-z0-9][a-z0-9._-]{0,62}$`)

// file is a backends file. What stands under a name depends on the kind.
type file struct {
	Default  string                `yaml:"default"`
	Backends map[string]yamlx.Node `yaml:"backends"`
}

// parser reads a file and collects what is wrong with it.
type parser struct {
	dir   string // where files that the file names are looked for
	wrong yamlx.Error
	files []string
}

func parse(text []byte, dir string) (*Set, error) {
	root, err := yamlx.Parse(text)
	if err != nil {
		return nil, err
	}
	p := &parser{dir: dir}
	var f file
	p.decode("", root, &f)
	set := &Set{standard: f.Default, kinds: map[string]string{}, open: map[string]func() Backend{}, made: map[string]Backend{}}
	for _, name := range slices.Sorted(maps.Keys(f.Backends)) {
		node := f.Backends[name]
		set.open[name] = p.backend("backends."+name, name, &node)
		if kind := yamlx.Get(&node, "kind"); kind != nil {
			set.kinds[name] = kind.Value
		}
	}
	set.files = p.files
	p.choose(set)
	if len(p.wrong.Problems) > 0 {
		return nil, &p.wrong
	}
	return set, nil
}

func (p *parser) add(path, format string, args ...any) {
	p.wrong.Problems = append(p.wrong.Problems, yamlx.Problem{Path: path, Message: fmt.Sprintf(format, args...)})
}

// decode fills dst from the node at path.
func (p *parser) decode(path string, node *yamlx.Node, dst any) {
	var wrong *yamlx.Error
	if !errors.As(yamlx.DecodeNode(node, dst), &wrong) {
		return
	}
	for _, problem := range wrong.Problems {
		problem.Path = join(path, problem.Path)
		p.wrong.Problems = append(p.wrong.Problems, problem)
	}
}

func list(words iter.Seq[string]) string { return strings.Join(slices.Sorted(words), ", ") }

func join(path, key string) string {
	if path == "" || key == "" {
		return path + key
	}
	return path + "." + key
}

// choose settles which backend is the default: the only one needs no name.
func (p *parser) choose(s *Set) {
	names := s.Names()
	switch {
	case len(names) == 0 || len(names) > maxBackends:
		p.add("backends", "there are %d; there must be from 1 to %d", len(names), maxBackends)
	case s.standard == "" && len(names) == 1:
		s.standard = names[0]
	case s.standard == "":
		p.add("default", "must name one of the backends: %s", list(slices.Values(names)))
	case !slices.Contains(names, s.standard):
		p.add("default", "%v", &llm.UnknownBackendError{Name: s.standard, Known: names})
	}
}

// backend reads what stands under a name, at path, and gives what makes the backend.
func (p *parser) backend(path, name string, node *yamlx.Node) func() Backend {
	if !nameForm.MatchString(name) {
		p.add(path, "a name is 1 to 63 small letters, digits, dots, dashes and underscores, and begins with a letter or digit")
	}
	var word string
	if k := yamlx.Get(node, "kind"); k != nil {
		word = k.Value
	}
	kind, ok := kinds[word]
	if !ok {
		p.add(path+".kind", "is %q; it must be one of %s", word, list(maps.Keys(kinds)))
		return nil
	}
	settings := kind(p.dir)
	p.decode(path, node, settings)
	settings.check(func(key, format string, args ...any) { p.add(join(path, key), format, args...) })
	p.files = append(p.files, settings.files()...)
	return func() Backend { return settings.open(name) }
}
