package backends_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tsumugi-dev/tsumugi/services/internal/llm"
	"github.com/tsumugi-dev/tsumugi/services/internal/llm/backends"
	"github.com/tsumugi-dev/tsumugi/services/internal/llm/llmtest"
	"github.com/tsumugi-dev/tsumugi/services/internal/testkit"
)

func TestMain(m *testing.M) { testkit.Main(m) }

func TestWithoutAFile(t *testing.T) {
	t.Parallel()
	set, err := backends.Load("")
	if err != nil {
		t.Fatal(err)
	}
	if set.Default() != "local" || !cmp.Equal(set.Names(), []string{"local"}) {
		t.Errorf("the default is %q of %q", set.Default(), set.Names())
	}
	if _, err := set.Counter(""); err != nil {
		t.Error(err)
	}
}

// write puts files into a folder and gives the path of the first.
func write(t *testing.T, files ...string) string {
	t.Helper()
	dir := t.TempDir()
	for i := 0; i < len(files); i += 2 {
		if err := os.WriteFile(filepath.Join(dir, files[i]), []byte(files[i+1]), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return filepath.Join(dir, files[0])
}

func TestLoad(t *testing.T) {
	server := llmtest.New(t, llmtest.Options{APIKey: "hush", Window: 512})
	t.Setenv("TEST_LLAMA_KEY", "hush")
	path := write(t, "backends.yaml", `
default: novel
backends:
  novel:
    kind: llamacpp
    address: `+server.URL+`/
    api_key_env: TEST_LLAMA_KEY
    timeouts: {count: 1m}
  play:
    kind: scripted
    script: replies.yaml
`, "replies.yaml", "window: 99\nreplies: [{text: a}]")
	set, err := backends.Load(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := set.Close(); err != nil {
			t.Error(err)
		}
	})
	for name, want := range map[string]llm.Identity{
		"":      {Backend: "novel", Kind: "llamacpp", Address: server.URL, Model: "fake.gguf", Window: 512},
		"novel": {Backend: "novel", Kind: "llamacpp", Address: server.URL, Model: "fake.gguf", Window: 512},
		"play":  {Backend: "play", Kind: "scripted", Address: "replies.yaml", Model: "scripted", Window: 99},
	} {
		counter, err := set.Counter(name)
		if err != nil {
			t.Fatal(err)
		}
		generator, err := set.Generator(name)
		if err != nil || any(generator) != any(counter) {
			t.Errorf("%q: the generator is another backend than the counter, %v", name, err)
		}
		id, err := counter.Window(t.Context())
		id.Tokenizer = ""
		if err != nil || id != want {
			t.Errorf("%q is %+v, %v; want %+v", name, id, err, want)
		}
	}
}

func TestUnknownName(t *testing.T) {
	t.Parallel()
	set, err := backends.Load("")
	if err != nil {
		t.Fatal(err)
	}
	_, counter := set.Counter("gpt")
	_, generator := set.Generator("gpt")
	for _, err := range []error{counter, generator} {
		var unknown *llm.UnknownBackendError
		if !errors.As(err, &unknown) || unknown.Name != "gpt" || !cmp.Equal(unknown.Known, []string{"local"}) {
			t.Errorf("the error is %v", err)
		}
	}
	if want := `there is no backend "gpt"; the backends file has: local`; counter.Error() != want {
		t.Errorf("the error is %q, not %q", counter, want)
	}
}

func TestProblemsAllAtOnce(t *testing.T) {
	t.Setenv("TEST_EMPTY_KEY", "")
	t.Setenv("TEST_ODD_KEY", "two words")
	path := write(t, "backends.yaml", `
default: nobody
hosts: 3
backends:
  Upper: {kind: llamacpp, address: "http://h"}
  a: {kind: nonesuch}
  b: {address: "http://h"}
  c: {kind: llamacpp, address: "localhost:8080", api_key_env: TEST_EMPTY_KEY, script: x}
  d: {kind: llamacpp, timeouts: {connect: 0s, window: -1s, count: 25h, first_byte: 5, idle: 1m, total: 3s}}
  e: {kind: llamacpp, address: "https://me:secret@h/llama", api_key_env: TEST_ODD_KEY}
  f: {kind: llamacpp, address: "http://h?x=1"}
  g: {kind: scripted, address: "http://h"}
  h: {kind: scripted, script: missing.yaml}
  i: {kind: scripted, script: bad.yaml}
  j: 5
  k: {kind: openai, address: "http://h", server: tgi, api: text, window: -1}
  l: {kind: openai, address: "http://h"}
  m: {kind: openai, address: "http://h", tokenizer: o1k}
  n: {kind: openai, address: "http://h", server: vllm, tokenizer: missing.json}
  o: {kind: ollama, address: "http://h", api: chat}
  p: {kind: gemini, address: "ftp://h", model: ../x, thinking_budget: -1}
  q: {kind: ollama, address: "http://h", model: m, tokenizer: cl100k_base}
  r: {kind: llamacpp, address: "http://h", tokenizer: o200k_base}
  s: {kind: llamacpp, address: "http://h", tokenizer: gemma}
  t: {kind: llamacpp, address: "http://h", tokenizer: estimate}
`, "bad.yaml", "window: x\nreplies: []")
	_, err := backends.Load(path)
	if err == nil {
		t.Fatal("no error")
	}
	want := []string{
		"the backends file " + path + ":",
		"line 3: hosts: unknown key",
		"backends.Upper: a name is 1 to 63 small letters, digits, dots, dashes and underscores, and begins with a letter or digit",
		`backends.a.kind: is "nonesuch"; it must be one of gemini, koboldcpp, llamacpp, ollama, openai, scripted`,
		`backends.b.kind: is ""; it must be one of gemini, koboldcpp, llamacpp, ollama, openai, scripted`,
		"line 8: backends.c.script: unknown key",
		"backends.c.address: must begin with http:// or https:// and a host, such as http://127.0.0.1:8080",
		"backends.c.api_key_env: the environment has no variable TEST_EMPTY_KEY, or it is empty",
		`line 9: backends.d.timeouts.first_byte: "5" must be a duration with its unit, such as 500ms, 15s or 2m`,
		"line 9: backends.d.timeouts.total: unknown key",
		"backends.d.address: is missing; it must be the base address of the server, such as http://127.0.0.1:8080",
		"backends.d.timeouts.connect: is 0s; it must be more than 0s and at most 24h0m0s",
		"backends.d.timeouts.window: is -1s; it must be more than 0s and at most 24h0m0s",
		"backends.d.timeouts.count: is 25h0m0s; it must be more than 0s and at most 24h0m0s",
		"backends.e.address: must hold no user name and no password; name the variable with the API key in api_key_env",
		"backends.e.api_key_env: the variable TEST_ODD_KEY holds blanks or characters that no API key has",
		"backends.f.address: must end with host, port or path; what follows ? or # is not sent",
		"line 12: backends.g.address: unknown key",
		"backends.g.script: is missing; it must be the path of a YAML file with replies, seen from this file",
		"backends.h.script: cannot be read: open " + filepath.Join(filepath.Dir(path), "missing.yaml") + ": no such file or directory",
		`backends.i.script: bad.yaml: line 1: window: "x" must be a whole number from -9223372036854775808 to 9223372036854775807`,
		"backends.i.script: bad.yaml: replies: are 0; there must be from 1 to 10000",
		`backends.j.kind: is ""; it must be one of gemini, koboldcpp, llamacpp, ollama, openai, scripted`,
		"backends.k.window: is -1; it must be from 1 to 16777216 tokens, or be left out where the server tells it",
		`backends.k.server: is "tgi"; it must be openai, vllm or llamacpp`,
		`backends.k.api: is "text"; it must be completions or chat`,
		"backends.l.tokenizer: is missing; this server does not count, so the model's vocabulary must be named: an encoding of OpenAI such as o200k_base, or the path of a tokenizer.json or .gguf file, or `estimate` for a guess that is rather too high (or say `server: vllm` or `server: llamacpp` where one of these answers)",
		`backends.m.tokenizer: the encoding "o1k" is not known; known are cl100k_base, o200k_base, p50k_base and r50k_base, and a file has an extension`,
		"backends.n.tokenizer: " + filepath.Join(filepath.Dir(path), "missing.json") + ": open " + filepath.Join(filepath.Dir(path), "missing.json") + ": no such file or directory",
		"line 20: backends.o.api: unknown key",
		"backends.o.model: is missing; it must be a name that `ollama list` shows, such as gemma3:4b",
		"backends.o.tokenizer: is missing; an Ollama server does not count, so the model's vocabulary must be named: the path of its tokenizer.json, or of the .gguf file that it was made from, or `estimate` for a guess that is rather too high",
		"backends.p.address: must begin with http:// or https:// and a host, such as http://127.0.0.1:8080",
		"backends.p.api_key_env: is missing; it must be the name of the environment variable that holds the API key, or api_key_file must name a file with it",
		`backends.p.model: is "../x"; it must be the name of a model, such as gemini-2.5-flash`,
		"backends.p.thinking_budget: is -1; it must be from 0 to 65536 tokens, or be left out so that the model decides",
		"backends.q.tokenizer: is cl100k_base, an encoding of OpenAI; of the models here it must be the path of the tokenizer.json or .gguf file",
		"backends.r.tokenizer: is o200k_base, an encoding of OpenAI; of the models here it must be the path of the tokenizer.json or .gguf file",
		`backends.s.tokenizer: is "gemma"; it must be the path of a tokenizer.json or .gguf file, and a file has an extension`,
		"backends.t.tokenizer: is `estimate`, but this server counts; leave it out, or name the model's vocabulary",
		`default: there is no backend "nobody"; the backends file has: Upper, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t`,
	}
	if diff := cmp.Diff(want, strings.Split(err.Error(), "\n")); diff != "" {
		t.Errorf("want -, got +:\n%s", diff)
	}
}

func TestDefault(t *testing.T) {
	t.Parallel()
	one := "{kind: llamacpp, address: 'http://h'}"
	for text, want := range map[string]string{
		"backends: {only: " + one + "}":                          "only",
		"default: b\nbackends: {a: " + one + ", b: " + one + "}": "b",
		"backends: {a: " + one + ", b: " + one + "}":             "default: must name one of the backends: a, b",
		"backends: {}":               "backends: there are 0; there must be from 1 to 64",
		"":                           "backends: there are 0; there must be from 1 to 64",
		many(65, one):                "backends: there are 65; there must be from 1 to 64",
		"default: [a]\nbackends: {}": "line 1: default: must be a single value, not a list or a mapping\nbackends: there are 0; there must be from 1 to 64",
	} {
		set, err := backends.Parse([]byte(text))
		var got string
		if err != nil {
			got = err.Error()
		} else {
			got = set.Default()
		}
		if got != want && !strings.Contains(got, want) {
			t.Errorf("%.80q gives %q, not %q", text, got, want)
		}
	}
}

func many(n int, entry string) string {
	var b strings.Builder
	b.WriteString("default: n0\nbackends:\n")
	for i := range n {
		fmt.Fprintf(&b, "  n%d: %s\n", i, entry)
	}
	return b.String()
}

func TestNoFile(t *testing.T) {
	t.Parallel()
	_, err := backends.Load("/nowhere/backends.yaml")
	if want := "the backends file: open /nowhere/backends.yaml: no such file or directory"; err == nil || err.Error() != want {
		t.Errorf("the error is %v, not %q", err, want)
	}
}

// The time limits of the file are those of the client.
func TestTimeoutsArrive(t *testing.T) {
	t.Parallel()
	server := llmtest.New(t, llmtest.Options{})
	server.Break(llmtest.Faults{Hang: true})
	set, err := backends.Parse([]byte("backends: {a: {kind: llamacpp, address: '" + server.URL + "', timeouts: {count: 2ms}}}"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = set.Close() })
	counter, err := set.Counter("a")
	if err != nil {
		t.Fatal(err)
	}
	var e *llm.Error
	if _, err = counter.Count(t.Context(), "x"); !errors.As(err, &e) || e.Message != fmt.Sprintf("no answer within %v (timeouts.count)", 2*time.Millisecond) {
		t.Errorf("the error is %v", err)
	}
}

// FuzzParse: whatever the text says, reading it ends with a set or an error.
func FuzzParse(f *testing.F) {
	f.Add("backends: {a: {kind: llamacpp, address: 'http://h'}}")
	f.Add("default: a\nbackends: {a: {kind: scripted, script: /dev/null}}")
	f.Add("backends: [1]")
	f.Fuzz(func(t *testing.T, text string) {
		if strings.Contains(text, "script") {
			return // reads files
		}
		set, err := backends.Parse([]byte(text))
		if err != nil {
			return
		}
		for _, name := range append(set.Names(), "") {
			if _, err := set.Counter(name); err != nil {
				t.Errorf("%q: %v", name, err)
			}
		}
	})
}
