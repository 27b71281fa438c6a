package backends

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/tsumugi-dev/tsumugi/services/internal/llm/gemini"
	"github.com/tsumugi-dev/tsumugi/services/internal/llm/ollama"
	"github.com/tsumugi-dev/tsumugi/services/internal/llm/openai"
	"github.com/tsumugi-dev/tsumugi/services/internal/yamlx"
)

// Choose gives the backends of the file at path, as Load does. Where path is empty, it takes the providers of a config.yaml
// of flowstore (seed 004, 6.3; docs/backends.md), and where there are none, a llama.cpp server, as Load.
//
// A provider that cannot be used is left out, and no other takes its place as the default: prompts would go elsewhere than
// they were meant to. It is no reason not to start, since the file lies beside the stories and is shared between machines.
func Choose(path, config string) (set *Set, told Told, err error) {
	if set, err = Load(path); err != nil {
		return nil, told, err
	}
	c, err := readProviders(config)
	switch {
	case err != nil:
		return set, Told{Wrong: []string{fmt.Sprintf("cannot be read: %v", err)}}, nil
	case c == nil:
		return set, told, nil
	case path != "":
		return set, Told{Taken: "providers: are not used, since `backends` names a file"}, nil
	}
	set = c.set(set)
	taken := fmt.Sprintf("the backends are %s; the default is %s (%s)", strings.Join(set.Names(), ", "), set.standard, set.kinds[set.standard])
	return set, Told{Taken: taken, Wrong: c.wrong}, nil
}

// Told is what became of the providers of a config.yaml, in sentences for a person; nothing where it has none.
type Told struct {
	// Taken is what the backends are now.
	Taken string
	// Wrong is what was left out, by key, and why.
	Wrong []string
}

// local is the name of the backend that is there without any file.
const local = "local"

// likeFiles says how a provider is read that has one of these names and no kind: what its entry leaves out.
var likeFiles = map[string][]string{
	openai.Kind: {"address", "https://api.openai.com", "api", "chat", "tokenizer", estimate},
	gemini.Kind: {},
	ollama.Kind: {"address", "http://127.0.0.1:11434", "tokenizer", estimate},
}

// providers is what a config.yaml says of model servers.
type providers struct {
	dir             string
	standard, model string
	entries         *yamlx.Node
	wrong           []string
}

// readProviders is nil where the file is not there, or says nothing of model servers.
func readProviders(path string) (*providers, error) {
	info, err := os.Stat(path)
	switch {
	case path == "" || errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, errors.New("is no file")
	}
	text, err := yamlx.ReadFile(path)
	if err != nil {
		return nil, err
	}
	root, err := yamlx.Parse(text)
	if err != nil {
		return nil, err
	}
	c := &providers{dir: filepath.Dir(path), entries: yamlx.Get(root, "providers")}
	settings := yamlx.Get(root, "settings")
	c.standard, c.model = c.word(settings, "default_llm_provider"), c.word(settings, "default_model")
	if c.entries == nil && c.standard == "" && c.model == "" && len(c.wrong) == 0 {
		return nil, nil
	}
	return c, nil
}

func (c *providers) tell(key, format string, args ...any) {
	c.wrong = append(c.wrong, key+": "+fmt.Sprintf(format, args...))
}

func (c *providers) word(settings *yamlx.Node, key string) string {
	n := yamlx.Get(settings, key)
	switch {
	case n == nil:
		return ""
	case n.Kind != yamlx.Scalar || n.Tag == "!!null":
		c.tell("settings."+key, "must be a name; it is left out")
		return ""
	}
	return n.Value
}

// set makes the backends; without is what there is without any.
func (c *providers) set(without *Set) *Set {
	names := c.names()
	if c.standard == "" && len(names) == 1 {
		c.standard = names[0]
	}
	set := &Set{standard: c.standard, kinds: map[string]string{}, open: map[string]func() Backend{}, made: map[string]Backend{}}
	for _, name := range names {
		c.add(set, name, yamlx.Get(c.entries, name))
	}
	if c.model != "" && !slices.Contains(names, c.standard) {
		c.tell("settings.default_model", "has no effect, since no provider is the default")
	}
	if set.open[c.standard] == nil {
		switch {
		case c.standard != "":
			c.tell("settings.default_llm_provider", "%s cannot be used, and no other provider takes its place", c.standard)
		case len(names) > 1:
			c.tell("settings.default_llm_provider", "is missing; it must name one of the providers")
		}
		set.standard = local
		set.open[local], set.kinds[local] = without.open[local], without.kinds[local]
	}
	return set
}

// names are those of the entries, each once, in their order.
func (c *providers) names() (names []string) {
	if c.entries == nil || c.entries.Tag == "!!null" {
		return nil
	}
	if c.entries.Kind != yamlx.Mapping {
		c.tell("providers", "must be a mapping of names to keys; it is left out")
		return nil
	}
	for i := 0; i < len(c.entries.Content); i += 2 {
		name := c.entries.Content[i].Value
		switch {
		case slices.Contains(names, name):
			c.tell("providers."+name, "line %d: stands there twice; the first counts", c.entries.Content[i].Line)
		case len(names) == maxBackends-1: // beside them there may be local
			c.tell("providers", "there are more than %d; the others are left out", maxBackends-1)
			return names
		default:
			names = append(names, name)
		}
	}
	return names
}

// add makes a backend of a provider, or says why it cannot be used.
func (c *providers) add(set *Set, name string, entry *yamlx.Node) {
	p := &parser{dir: c.dir}
	path := "providers." + name
	model := ""
	if name == c.standard {
		model = c.model
	}
	node, kind := c.entry(p, path, name, model, entry)
	if name == local {
		p.add(path, "is the name of the backend that is there without providers; take another one")
	}
	var open func() Backend
	if len(p.wrong.Problems) == 0 {
		open = p.backend(path, name, node)
	}
	if len(p.wrong.Problems) > 0 {
		for _, problem := range p.wrong.Problems {
			c.wrong = append(c.wrong, problem.String()+"; this provider is not used")
		}
		return
	}
	set.open[name], set.kinds[name], set.files = open, kind, append(set.files, p.files...)
}

// entry writes a provider as an entry of a backends file: `host` is the address there, and what a name or default_model
// stands for is written out.
func (c *providers) entry(p *parser, path, name, model string, entry *yamlx.Node) (node *yamlx.Node, kind string) {
	node = &yamlx.Node{Kind: yamlx.Mapping, Tag: "!!map", Line: entry.Line}
	switch {
	case entry.Kind == yamlx.Mapping:
		node.Content = slices.Clone(entry.Content)
	case entry.Tag != "!!null":
		p.add(path, "must be a mapping of keys to values")
		return node, ""
	}
	give := func(key, value string) {
		if yamlx.Get(node, key) == nil {
			node.Content = append(node.Content, &yamlx.Node{Kind: yamlx.Scalar, Tag: "!!str", Value: key, Line: entry.Line}, yamlx.Text(value))
		}
	}
	c.host(p, path, node)
	if n := yamlx.Get(node, "kind"); n != nil {
		kind = n.Value
	} else if left, known := likeFiles[name]; known {
		kind = name
		give("kind", kind)
		if kind == openai.Kind && yamlx.Get(node, "address") == nil && yamlx.Get(node, "window") == nil {
			p.add(path+".window", "is missing; OpenAI does not tell how many tokens a model takes: 8192 for gpt-4, 128000 for gpt-4o")
		}
		for i := 0; i < len(left); i += 2 {
			give(left[i], left[i+1])
		}
	} else {
		p.add(path+".kind", "is missing; only providers named %s need none", list(maps.Keys(likeFiles)))
	}
	if model != "" && slices.Contains([]string{openai.Kind, gemini.Kind, ollama.Kind}, kind) {
		give("model", model)
	} else if model != "" {
		c.tell("settings.default_model", "has no effect: the server of providers.%s has the model that it runs", name)
	}
	return node, kind
}

// host makes `address` of it.
func (c *providers) host(p *parser, path string, node *yamlx.Node) {
	for i := 0; i < len(node.Content); i += 2 {
		if node.Content[i].Value != "host" {
			continue
		}
		if yamlx.Get(node, "address") != nil {
			p.add(path+".host", "stands beside address; name one of them")
			return
		}
		key := *node.Content[i]
		key.Value = "address"
		node.Content[i] = &key
	}
}
