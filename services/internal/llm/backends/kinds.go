package backends

import (
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/tsumugi-dev/tsumugi/services/internal/llm"
	"github.com/tsumugi-dev/tsumugi/services/internal/llm/llamacpp"
	"github.com/tsumugi-dev/tsumugi/services/internal/llm/scripted"
	"github.com/tsumugi-dev/tsumugi/services/internal/llm/tokenizer"
)

// kinds are the kinds of backend by the word in the file. Another kind is a line here, a struct with its keys below, and
// a package beside this one that passes the suite of package conformance.
var kinds = map[string]func(dir string) settings{
	llamacpp.Kind: func(dir string) settings { return &llamacppSettings{Timeouts: llm.DefaultTimeouts(), dir: dir} },
	scripted.Kind: func(dir string) settings { return &scriptedSettings{dir: dir} },
}

// settings are what the file says of one backend.
type settings interface {
	// check notes what is wrong, by the key.
	check(add func(key, format string, args ...any))
	// open makes the backend; only called when check had nothing to note.
	open(name string) Backend
}

// maxTimeout is the longest time limit.
const maxTimeout = 24 * time.Hour

// llamacppSettings are the keys of kind llamacpp.
type llamacppSettings struct {
	Kind      string       `yaml:"kind"`
	Address   string       `yaml:"address"`
	APIKeyEnv string       `yaml:"api_key_env"`
	Timeouts  llm.Timeouts `yaml:"timeouts"`
	Tokenizer string       `yaml:"tokenizer"`

	dir    string
	apiKey string
	vocab  *tokenizer.Tokenizer
}

func (s *llamacppSettings) check(add func(key, format string, args ...any)) {
	if wrong := addressProblem(s.Address); wrong != "" {
		add("address", "%s", wrong)
	}
	if s.APIKeyEnv != "" {
		if s.apiKey = os.Getenv(s.APIKeyEnv); s.apiKey == "" {
			add("api_key_env", "the environment has no variable %s, or it is empty", s.APIKeyEnv)
		}
		if strings.ContainsFunc(s.apiKey, func(r rune) bool { return r <= ' ' || r > '~' }) {
			add("api_key_env", "the variable %s holds blanks or characters that no API key has", s.APIKeyEnv)
		}
	}
	if s.Tokenizer != "" {
		var err error
		if s.vocab, err = tokenizer.Open(beside(s.dir, s.Tokenizer)); err != nil {
			add("tokenizer", "%v", err)
		}
	}
	for _, limit := range []struct {
		key string
		d   time.Duration
	}{
		{"connect", s.Timeouts.Connect},
		{"window", s.Timeouts.Window},
		{"count", s.Timeouts.Count},
		{"first_byte", s.Timeouts.FirstByte},
		{"idle", s.Timeouts.Idle},
	} {
		if limit.d <= 0 || limit.d > maxTimeout {
			add("timeouts."+limit.key, "is %v; it must be more than 0s and at most %v", limit.d, maxTimeout)
		}
	}
}

func (s *llamacppSettings) open(name string) Backend {
	return llamacpp.New(llamacpp.Config{
		Name: name, Address: strings.TrimRight(s.Address, "/"), APIKey: s.apiKey, Timeouts: s.Timeouts, Tokenizer: s.vocab,
	})
}

// addressProblem says what is wrong with a base address. A secret in it would be in every error and every stored node.
func addressProblem(address string) string {
	u, err := url.Parse(address)
	switch {
	case address == "":
		return "is missing; it must be the base address of the server, such as http://127.0.0.1:8080"
	case err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Hostname() == "":
		return "must begin with http:// or https:// and a host, such as http://127.0.0.1:8080"
	case u.User != nil:
		return "must hold no user name and no password; name the variable with the API key in api_key_env"
	case u.RawQuery != "" || u.ForceQuery || u.Fragment != "":
		return "must end with host, port or path; what follows ? or # is not sent"
	}
	return ""
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
