package backends_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tsumugi-dev/tsumugi/services/internal/llm/backends"
	"github.com/tsumugi-dev/tsumugi/services/internal/llm/llmtest"
	"github.com/tsumugi-dev/tsumugi/services/internal/testkit"
)

// lines are what is told, what is wrong first.
func lines(told backends.Told) []string {
	if told.Taken == "" {
		return told.Wrong
	}
	return append(told.Wrong, told.Taken)
}

// choose gives the backends of a config.yaml, the default first, and what is told of them.
func choose(t *testing.T, config string) (names, said []string) {
	t.Helper()
	set, told, err := backends.Choose("", write(t, "config.yaml", config))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = set.Close() })
	names = append(names, set.Default()+":"+set.Kind(""))
	for _, name := range set.Names() {
		names = append(names, name+":"+set.Kind(name))
	}
	if _, err := set.Counter(""); err != nil {
		t.Errorf("the default: %v", err)
	}
	return names, lines(told)
}

const seedProviders = `version: "1.0"
settings:
  default_llm_provider: openai
  default_model: gpt-4
providers:
  openai:
    api_key_env: TEST_OPENAI_KEY
    window: 8192
  gemini:
    api_key_env: TEST_GEMINI_KEY
    model: gemini-2.5-flash
  ollama:
    host: http://localhost:11434
    model: gemma3:4b
`

func TestProvidersBecomeBackends(t *testing.T) {
	t.Setenv("TEST_OPENAI_KEY", "a")
	t.Setenv("TEST_GEMINI_KEY", "b")
	names, told := choose(t, seedProviders)
	if diff := cmp.Diff([]string{"openai:openai", "gemini:gemini", "ollama:ollama", "openai:openai"}, names); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"the backends are gemini, ollama, openai; the default is openai (openai)"}, told); diff != "" {
		t.Error(diff)
	}
}

// What a provider says reaches its server: address, key and the model that is the default.
func TestAProviderIsItsServer(t *testing.T) {
	t.Setenv("TEST_LLAMA_KEY", "hush")
	server := llmtest.New(t, llmtest.Options{APIKey: "hush", Window: 512})
	set, told, err := backends.Choose("", write(t, "config.yaml", "providers: {novel: {kind: llamacpp, host: '"+server.URL+"', api_key_env: TEST_LLAMA_KEY}}\nsettings: {default_model: x}\n"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = set.Close() })
	counter, err := set.Counter("")
	if err != nil {
		t.Fatal(err)
	}
	id, err := counter.Window(t.Context())
	if err != nil || id.Backend != "novel" || id.Window != 512 || id.Address != server.URL {
		t.Errorf("%+v, %v", id, err)
	}
	want := []string{
		"settings.default_model: has no effect: the server of providers.novel has the model that it runs",
		"the backends are novel; the default is novel (llamacpp)",
	}
	if diff := cmp.Diff(want, lines(told)); diff != "" {
		t.Error(diff)
	}
}

// A provider that cannot be used is told by its key, is no reason not to start, and nobody else gets its prompts.
func TestProvidersThatCannotBeUsed(t *testing.T) {
	t.Setenv("TEST_OPENAI_KEY", "")
	t.Setenv("TEST_GEMINI_KEY", "b")
	for name, c := range map[string]struct {
		config string
		names  []string
		told   []string
	}{
		"no key in the environment": {seedProviders, []string{"local:llamacpp", "gemini:gemini", "local:llamacpp", "ollama:ollama"}, []string{
			"providers.openai.api_key_env: the environment has no variable TEST_OPENAI_KEY, or it is empty; this provider is not used",
			"settings.default_llm_provider: openai cannot be used, and no other provider takes its place",
			"the backends are gemini, local, ollama; the default is local (llamacpp)",
		}},
		"no window, no such provider": {"providers: {openai: {}}\nsettings: {default_llm_provider: mistral, default_model: x}\n", []string{"local:llamacpp", "local:llamacpp"}, []string{
			"providers.openai.window: is missing; OpenAI does not tell how many tokens a model takes: 8192 for gpt-4, 128000 for gpt-4o; this provider is not used",
			"settings.default_model: has no effect, since no provider is the default",
			"settings.default_llm_provider: mistral cannot be used, and no other provider takes its place",
			"the backends are local; the default is local (llamacpp)",
		}},
		"no default": {"providers: {a: {kind: llamacpp, host: 'http://h'}, b: {kind: koboldcpp, address: 'http://h'}}\n", []string{"local:llamacpp", "a:llamacpp", "b:koboldcpp", "local:llamacpp"}, []string{
			"settings.default_llm_provider: is missing; it must name one of the providers",
			"the backends are a, b, local; the default is local (llamacpp)",
		}},
		"wrong keys": {"providers:\n  vllm: {host: 'http://h'}\n  gemini: {api_key_env: TEST_GEMINI_KEY, mood: x}\n  ollama: {host: h, address: i}\n  local: {kind: llamacpp, host: 'http://h'}\n  a: 5\n  gemini: {}\n",
			[]string{"local:llamacpp", "local:llamacpp"}, []string{
				"providers.gemini: line 7: stands there twice; the first counts",
				"providers.vllm.kind: is missing; only providers named gemini, ollama, openai need none; this provider is not used",
				"line 3: providers.gemini.mood: unknown key; this provider is not used",
				`providers.gemini.model: is ""; it must be the name of a model, such as gemini-2.5-flash; this provider is not used`,
				"providers.ollama.host: stands beside address; name one of them; this provider is not used",
				"providers.local: is the name of the backend that is there without providers; take another one; this provider is not used",
				"providers.a: must be a mapping of keys to values; this provider is not used",
				"settings.default_llm_provider: is missing; it must name one of the providers",
				"the backends are local; the default is local (llamacpp)",
			}},
		"no mapping": {"providers: [a]\nsettings: {default_model: [x]}\n", []string{"local:llamacpp", "local:llamacpp"}, []string{"settings.default_model: must be a name; it is left out", "providers: must be a mapping of names to keys; it is left out", "the backends are local; the default is local (llamacpp)"}},
		"nothing":    {"version: 1\n", []string{"local:llamacpp", "local:llamacpp"}, nil},
		"not YAML":   {"{", []string{"local:llamacpp", "local:llamacpp"}, []string{"cannot be read: is not YAML: line 1: did not find expected node content"}},
		"emptied":    {"providers:\n  # openai: {}\n", []string{"local:llamacpp", "local:llamacpp"}, []string{"the backends are local; the default is local (llamacpp)"}},
	} {
		t.Run(name, func(t *testing.T) {
			names, told := choose(t, c.config)
			if diff := cmp.Diff(c.names, names); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(c.told, told); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// The example of docs/backends.md works as it stands there.
func TestDocumentedProviders(t *testing.T) {
	t.Setenv("OPENAI_API_KEY", "key")
	page, err := os.ReadFile(filepath.Join(testkit.Root(t), "docs", "backends.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, text, _ := strings.Cut(string(page), "## From the data's own config.yaml")
	_, text, _ = strings.Cut(text, "```\n")
	text, _, found := strings.Cut(text, "```")
	names, told := choose(t, text)
	if diff := cmp.Diff([]string{"openai:openai", "ollama:ollama", "openai:openai"}, names); diff != "" || !found || len(told) != 1 {
		t.Errorf("%q %s", told, diff)
	}
}

// A backends file wins, and that is told; a folder without a config.yaml is like none.
func TestABackendsFileWinsOverProviders(t *testing.T) {
	t.Parallel()
	config := write(t, "config.yaml", seedProviders)
	set, told, err := backends.Choose(write(t, "b.yaml", "backends: {mine: {kind: llamacpp, address: 'http://h'}}"), config)
	if err != nil || set.Default() != "mine" || len(set.Names()) != 1 || !cmp.Equal(told, backends.Told{Taken: "providers: are not used, since `backends` names a file"}) {
		t.Errorf("%v %v %v", set, told, err)
	}
	for _, missing := range []string{"", filepath.Join(filepath.Dir(config), "nope", "config.yaml")} {
		if set, told, err := backends.Choose("", missing); err != nil || set.Default() != "local" || !cmp.Equal(told, backends.Told{}) {
			t.Errorf("%q: %v %v %v", missing, set, told, err)
		}
	}
	if _, _, err := backends.Choose("/nope.yaml", config); err == nil {
		t.Error("a backends file that is not there is no error")
	}
	if set, told, err := backends.Choose("", filepath.Dir(config)); err != nil || set.Default() != "local" || !cmp.Equal(told, backends.Told{Wrong: []string{"cannot be read: is no file"}}) {
		t.Errorf("a folder: %v %v", told, err)
	}
}

func TestProvidersAreBounded(t *testing.T) {
	t.Parallel()
	names, told := choose(t, strings.Replace(many(65, "{kind: llamacpp, host: 'http://h'}"), "default: n0\nbackends:", "settings: {default_llm_provider: n0}\nproviders:", 1))
	if len(names) != 64 || told[0] != "providers: there are more than 63; the others are left out" {
		t.Errorf("%d backends, %q", len(names), told)
	}
}

// FuzzProviders: whatever config.yaml says, there are backends, and a default among them.
func FuzzProviders(f *testing.F) {
	f.Add(seedProviders)
	f.Add("providers: {? [a] : b, a: {<<: {kind: x}, kind: ollama}}\nsettings: {default_llm_provider: a}\n")
	f.Add("providers: {a: {kind: llamacpp, kind: gemini, host: x, host: y}}\n")
	f.Fuzz(func(t *testing.T, text string) {
		if strings.Contains(text, "script") || strings.Contains(text, "_file") || strings.Contains(text, "tokenizer") || strings.Contains(text, "ca:") {
			return // reads files
		}
		choose(t, text)
	})
}
