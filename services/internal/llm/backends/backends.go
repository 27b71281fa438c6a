// Package backends reads the backends file: which model servers there are, by name.
//
// promptbuilder and agent read the same file, since a prompt is measured by the one and sent by the other.
// docs/backends.md describes the file.
package backends

import (
	"cmp"
	_ "embed"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"sync"

	"github.com/tsumugi-dev/tsumugi/services/internal/llm"
	"github.com/tsumugi-dev/tsumugi/services/internal/yamlx"
)

//go:embed default.yaml
var standard []byte

// Backend is one model server, as Counter and as Generator.
type Backend interface {
	llm.Counter
	llm.Generator
	Close() error
}

// Set is the backends of one file. Each is made when it is first asked for, and shared by all who ask. Safe for
// concurrent use.
type Set struct {
	standard string
	kinds    map[string]string
	open     map[string]func() Backend
	files    []string

	mu   sync.Mutex
	made map[string]Backend
}

// Load reads a backends file; an empty path gives a llama.cpp server at http://127.0.0.1:8080, named `local`. The error
// names the file and every problem in it.
func Load(path string) (*Set, error) {
	if path == "" {
		return Parse(standard)
	}
	text, err := yamlx.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("the backends file: %w", err)
	}
	set, err := parse(text, filepath.Dir(path))
	if err != nil {
		return nil, fmt.Errorf("the backends file %s:\n%w", path, err)
	}
	return set, nil
}

// Parse reads the text of a backends file; files that it names are looked for from the working directory. The error is a
// *yamlx.Error with every problem.
func Parse(text []byte) (*Set, error) { return parse(text, "") }

// Names gives the names of all backends, sorted.
func (s *Set) Names() []string { return slices.Sorted(maps.Keys(s.open)) }

// Kind gives the kind of the backend of that name, the default for the empty name; empty for one that there is not.
func (s *Set) Kind(name string) string { return s.kinds[cmp.Or(name, s.standard)] }

// Files are the paths of the files that the file names: keys, certificates, scripts. What a model may read must hold none of them
// (field/review-agent.md S12).
func (s *Set) Files() []string { return s.files }

// Default is the name of the backend that an empty name means.
func (s *Set) Default() string { return s.standard }

// Counter gives the backend of that name, the default for the empty name, or an *llm.UnknownBackendError.
func (s *Set) Counter(name string) (llm.Counter, error) { return s.backend(name) }

// Generator gives the backend of that name, the default for the empty name, or an *llm.UnknownBackendError.
func (s *Set) Generator(name string) (llm.Generator, error) { return s.backend(name) }

func (s *Set) backend(name string) (Backend, error) {
	if name == "" {
		name = s.standard
	}
	open, ok := s.open[name]
	if !ok {
		return nil, &llm.UnknownBackendError{Name: name, Known: s.Names()}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.made[name] == nil {
		s.made[name] = open()
	}
	return s.made[name], nil
}

// Close closes the connections that are not in use. Counters and generators can still be used.
func (s *Set) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var failed []error
	for _, b := range s.made {
		failed = append(failed, b.Close())
	}
	return errors.Join(failed...)
}
