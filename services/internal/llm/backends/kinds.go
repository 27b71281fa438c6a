package backends

import (
	"path/filepath"
	"regexp"
	"strings"

	"github.com/tsumugi-dev/tsumugi/services/internal/llm/gemini"
	"github.com/tsumugi-dev/tsumugi/services/internal/llm/koboldcpp"
	"github.com/tsumugi-dev/tsumugi/services/internal/llm/llamacpp"
	"github.com/tsumugi-dev/tsumugi/services/internal/llm/ollama"
	"github.com/tsumugi-dev/tsumugi/services/internal/llm/openai"
	"github.com/tsumugi-dev/tsumugi/services/internal/llm/scripted"
	"github.com/tsumugi-dev/tsumugi/services/internal/yamlx"
)

// kinds are the kinds of backend by the word in the file. Another kind is a line here, a struct with its keys below, and
// a package beside this one that passes the suite of package conformance.
var kinds = map[string]func(dir string) settings{
	gemini.Kind: func(dir string) settings {
		s := &geminiSettings{endpoint: newEndpoint(dir), Tools: true}
		s.Address, s.Margin = gemini.Address, gemini.Margin
		return s
	},
	koboldcpp.Kind: func(dir string) settings {
		s := &koboldcppSettings{newEndpoint(dir)}
		s.Concurrency = 1 // it makes one answer at a time, and turns away whoever is the eighth to wait
		return s
	},
	llamacpp.Kind: func(dir string) settings { return &llamacppSettings{endpoint: newEndpoint(dir)} },
	ollama.Kind:   func(dir string) settings { return &ollamaSettings{endpoint: newEndpoint(dir)} },
	openai.Kind: func(dir string) settings {
		return &openaiSettings{endpoint: newEndpoint(dir), Server: openai.OpenAI, API: openai.Completions}
	},
	scripted.Kind: func(dir string) settings { return &scriptedSettings{dir: dir} },
}

// settings are what the file says of one backend.
type settings interface {
	// check notes what is wrong, by the key.
	check(add func(key, format string, args ...any))
	// files are the paths of those that it names.
	files() []string
	// open makes the backend; only called when check had nothing to note.
	open(name string) Backend
}

// llamacppSettings are the keys of kind llamacpp.
type llamacppSettings struct {
	endpoint   `yaml:",inline"`
	vocabulary `yaml:",inline"`
}

func (s *llamacppSettings) check(add func(key, format string, args ...any)) {
	s.endpoint.check(add)
	s.vocabulary.check(s.dir, words{}, add)
}

func (s *llamacppSettings) open(name string) Backend {
	return llamacpp.New(llamacpp.Config{Endpoint: s.at(name), Tokenizer: s.opened})
}

// koboldcppSettings are the keys of kind koboldcpp.
type koboldcppSettings struct {
	endpoint `yaml:",inline"`
}

func (s *koboldcppSettings) open(name string) Backend {
	return koboldcpp.New(koboldcpp.Config{Endpoint: s.at(name)})
}

// geminiSettings are the keys of kind gemini.
type geminiSettings struct {
	endpoint       `yaml:",inline"`
	Model          string `yaml:"model"`
	ThinkingBudget *int   `yaml:"thinking_budget"`
	Tools          bool   `yaml:"tools"`
}

// maxThinking is the largest thinking budget, in tokens: what docs/backends.md says. Models have lower ones of their own.
const maxThinking = 1 << 16

// geminiModel is what the name of a model looks like: it becomes a part of an address.
var geminiModel = regexp.MustCompile(`^(models/|tunedModels/)?[A-Za-z0-9][A-Za-z0-9._-]{0,127}$`)

func (s *geminiSettings) check(add func(key, format string, args ...any)) {
	s.endpoint.check(add)
	if s.APIKeyEnv == "" && s.APIKeyFile == "" {
		add("api_key_env", "is missing; it must be the name of the environment variable that holds the API key, or api_key_file must name a file with it")
	}
	if !geminiModel.MatchString(s.Model) {
		add("model", "is %q; it must be the name of a model, such as gemini-2.5-flash", s.Model)
	}
	if s.ThinkingBudget != nil {
		between(add, "thinking_budget", "tokens, or be left out so that the model decides", *s.ThinkingBudget, 0, maxThinking)
	}
}

func (s *geminiSettings) open(name string) Backend {
	return gemini.New(gemini.Config{Endpoint: s.at(name), Model: s.Model, ThinkingBudget: s.ThinkingBudget, NoTools: !s.Tools})
}

// ollamaSettings are the keys of kind ollama.
type ollamaSettings struct {
	endpoint   `yaml:",inline"`
	vocabulary `yaml:",inline"`
	Model      string `yaml:"model"`
}

func (s *ollamaSettings) check(add func(key, format string, args ...any)) {
	s.endpoint.check(add)
	s.vocabulary.check(s.dir, words{estimate: true}, add)
	if strings.TrimSpace(s.Model) == "" {
		add("model", "is missing; it must be a name that `ollama list` shows, such as gemma3:4b")
	}
	if s.Tokenizer == "" {
		add("tokenizer", "is missing; an Ollama server does not count, so the model's vocabulary must be named: the path of its tokenizer.json, or of the .gguf file that it was made from, or `estimate` for a guess that is rather too high")
	}
}

func (s *ollamaSettings) open(name string) Backend {
	return ollama.New(ollama.Config{Endpoint: s.at(name), Model: s.Model, Tokenizer: s.opened})
}

// openaiSettings are the keys of kind openai.
type openaiSettings struct {
	endpoint   `yaml:",inline"`
	vocabulary `yaml:",inline"`
	Server     openai.Program `yaml:"server"`
	API        openai.API     `yaml:"api"`
	Model      string         `yaml:"model"`
	Tools      *bool          `yaml:"tools"`
}

func (s *openaiSettings) check(add func(key, format string, args ...any)) {
	s.endpoint.check(add)
	s.vocabulary.check(s.dir, words{encodings: true, estimate: s.Server == openai.OpenAI}, add)
	if s.Server != openai.OpenAI && s.Server != openai.VLLM && s.Server != openai.LlamaCpp {
		add("server", "is %q; it must be %s, %s or %s", s.Server, openai.OpenAI, openai.VLLM, openai.LlamaCpp)
	}
	if s.API != openai.Completions && s.API != openai.Chat {
		add("api", "is %q; it must be %s or %s", s.API, openai.Completions, openai.Chat)
	}
	if s.Tokenizer == "" && s.Server == openai.OpenAI {
		add("tokenizer", "is missing; this server does not count, so the model's vocabulary must be named: an encoding of OpenAI such as o200k_base, or the path of a tokenizer.json or .gguf file, or `estimate` for a guess that is rather too high (or say `server: vllm` or `server: llamacpp` where one of these answers)")
	}
}

func (s *openaiSettings) open(name string) Backend {
	tools := s.Server == openai.OpenAI // vLLM takes them with flags of its own, and llama.cpp drops them where the model's template has no place for them
	if s.Tools != nil {
		tools = *s.Tools
	}
	return openai.New(openai.Config{Endpoint: s.at(name), Program: s.Server, API: s.API, Model: s.Model, Tokenizer: s.opened, Tools: tools})
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
	text, err := yamlx.ReadFile(beside(s.dir, s.Script))
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

func (s *scriptedSettings) files() []string { return []string{beside(s.dir, s.Script)} }

func (s *scriptedSettings) open(name string) Backend { return scripted.New(name, s.Script, s.script) }
