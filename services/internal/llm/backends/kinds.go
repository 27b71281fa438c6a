package backends

import (
	"path/filepath"
	"strings"

	"github.com/tsumugi-dev/tsumugi/services/internal/llm/koboldcpp"
	"github.com/tsumugi-dev/tsumugi/services/internal/llm/llamacpp"
	"github.com/tsumugi-dev/tsumugi/services/internal/llm/scripted"
	"github.com/tsumugi-dev/tsumugi/services/internal/llm/tokenizer"
)

// kinds are the kinds of backend by the word in the file. Another kind is a line here, a struct with its keys below, and
// a package beside this one that passes the suite of package conformance.
var kinds = map[string]func(dir string) settings{
	koboldcpp.Kind: func(string) settings { return &koboldcppSettings{newEndpoint()} },
	llamacpp.Kind:  func(dir string) settings { return &llamacppSettings{endpoint: newEndpoint(), dir: dir} },
	scripted.Kind:  func(dir string) settings { return &scriptedSettings{dir: dir} },
}

// settings are what the file says of one backend.
type settings interface {
	// check notes what is wrong, by the key.
	check(add func(key, format string, args ...any))
	// open makes the backend; only called when check had nothing to note.
	open(name string) Backend
}

// llamacppSettings are the keys of kind llamacpp.
type llamacppSettings struct {
	endpoint  `yaml:",inline"`
	Tokenizer string `yaml:"tokenizer"`

	dir   string
	vocab *tokenizer.Tokenizer
}

func (s *llamacppSettings) check(add func(key, format string, args ...any)) {
	s.endpoint.check(add)
	if s.Tokenizer != "" {
		var err error
		if s.vocab, err = tokenizer.Open(beside(s.dir, s.Tokenizer)); err != nil {
			add("tokenizer", "%v", err)
		}
	}
}

func (s *llamacppSettings) open(name string) Backend {
	return llamacpp.New(llamacpp.Config{
		Name: name, Address: s.address(), APIKey: s.apiKey, Timeouts: s.Timeouts, Tokenizer: s.vocab,
	})
}

// koboldcppSettings are the keys of kind koboldcpp.
type koboldcppSettings struct {
	endpoint `yaml:",inline"`
}

func (s *koboldcppSettings) open(name string) Backend {
	return koboldcpp.New(koboldcpp.Config{Name: name, Address: s.address(), Password: s.apiKey, Timeouts: s.Timeouts})
}

// beside is a path as the backends file means it: seen from the folder of the file.
func beside(dir, path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(dir, path)
}

// scriptedSettings are the keys of kind scripted.
type scriptedSettings struct {
	Kind   string `yaml:"kind"`
	Script string `yaml:"script"`

	dir    string
	script *scripted.Script
}

func (s *scriptedSettings) check(add func(key, format string, args ...any)) {
	if s.Script == "" {
		add("script", "is missing; it must be the path of a YAML file with replies, seen from this file")
		return
	}
	text, err := read(beside(s.dir, s.Script))
	if err != nil {
		add("script", "cannot be read: %v", err)
		return
	}
	if s.script, err = scripted.Parse(text); err != nil {
		for line := range strings.Lines(err.Error()) {
			add("script", "%s: %s", s.Script, strings.TrimSuffix(line, "\n"))
		}
	}
}

func (s *scriptedSettings) open(name string) Backend { return scripted.New(name, s.Script, s.script) }
