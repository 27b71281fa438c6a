package backends_test

import (
	"errors"
	"io"
	"path/filepath"
	"testing"

	"github.com/tsumugi-dev/tsumugi/services/internal/llm"
	"github.com/tsumugi-dev/tsumugi/services/internal/llm/backends"
	"github.com/tsumugi-dev/tsumugi/services/internal/llm/gemini/geminitest"
	"github.com/tsumugi-dev/tsumugi/services/internal/llm/koboldcpp/koboldcpptest"
	"github.com/tsumugi-dev/tsumugi/services/internal/llm/llmtest"
	"github.com/tsumugi-dev/tsumugi/services/internal/llm/ollama/ollamatest"
	"github.com/tsumugi-dev/tsumugi/services/internal/llm/openai/openaitest"
)

// answerOf asks a backend for an answer and gives its text.
func answerOf(t *testing.T, g llm.Generator, r llm.Request) string {
	t.Helper()
	stream, err := g.Generate(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Close()
	text := ""
	for {
		piece, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return text
		}
		if err != nil {
			t.Fatal(err)
		}
		text += piece
	}
}

// fake is a server of one kind that wants the key `hush`, and what a backends file says of it besides the address and the
// key: the kind and whatever that must have.
type fake struct {
	url, keys string
	window    int // its own
}

// everyKind starts a server of each kind.
func everyKind(t *testing.T) map[string]fake {
	t.Helper()
	gpt2 := "tokenizer: r50k_base"
	gemma, err := filepath.Abs("../tokenizer/testdata/gemma.json")
	if err != nil {
		t.Fatal(err)
	}
	return map[string]fake{
		"llamacpp":  {llmtest.New(t, llmtest.Options{APIKey: "hush", Window: 1024}).URL, "llamacpp", 1024},
		"koboldcpp": {koboldcpptest.New(t, koboldcpptest.Options{Password: "hush", Window: 1024}).URL, "koboldcpp", 1024},
		"ollama":    {ollamatest.New(t, ollamatest.Options{APIKey: "hush", Trained: 1024}).URL, "ollama, model: story, window: 1024, tokenizer: " + gemma, 1024},
		"gemini":    {geminitest.New(t, geminitest.Options{APIKey: "hush", Limit: 1024}).URL, "gemini, model: gemini-story, thinking_budget: 0", 1024},
		"openai":    {openaitest.New(t, openaitest.Options{APIKey: "hush"}).URL, "openai, window: 1024, " + gpt2, 9999},
		"vllm":      {openaitest.New(t, openaitest.Options{Program: openaitest.VLLM, APIKey: "hush", Window: 1024}).URL, "openai, server: vllm", 1024},
	}
}

// What a backends file says arrives at the server of each kind.
func TestKindsArrive(t *testing.T) {
	t.Setenv("TEST_KEY", "hush")
	kobold := koboldcpptest.New(t, koboldcpptest.Options{Password: "hush", Window: 512})
	vllm := openaitest.New(t, openaitest.Options{Program: openaitest.VLLM, APIKey: "hush", Models: []string{"m1", "m2"}, Around: 9})
	google := geminitest.New(t, geminitest.Options{APIKey: "hush", Thoughts: 99})
	gpt := openaitest.New(t, openaitest.Options{APIKey: "hush"})
	set, err := backends.Parse([]byte(`
default: kobold
backends:
  kobold: {kind: koboldcpp, address: ` + kobold.URL + `/, api_key_env: TEST_KEY}
  tools: {kind: openai, server: vllm, model: m1, tools: true, address: ` + vllm.URL + `, api_key_env: TEST_KEY}
  toolless: {kind: openai, tokenizer: r50k_base, window: 4096, tools: false, address: ` + gpt.URL + `, api_key_env: TEST_KEY}
  vllm: {kind: openai, server: vllm, api: chat, model: m2, window: 3000, address: ` + vllm.URL + `/v1/, api_key_env: TEST_KEY}
  untooled: {kind: gemini, model: gemini-story, tools: false, address: ` + google.URL + `, api_key_env: TEST_KEY}
  google: {kind: gemini, model: gemini-story, thinking_budget: 0, address: ` + google.URL + `, api_key_env: TEST_KEY}
  gpt: {kind: openai, tokenizer: r50k_base, window: 4096, address: ` + gpt.URL + `, api_key_env: TEST_KEY}
`))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = set.Close() })
	for name, want := range map[string]llm.Identity{
		"kobold": {Backend: "kobold", Kind: "koboldcpp", Address: kobold.URL, Model: "koboldcpp/fake", Window: 512},
		"vllm":   {Backend: "vllm", Kind: "openai", Address: vllm.URL, Model: "m2", Window: 2991},
		"google": {Backend: "google", Kind: "gemini", Address: google.URL, Model: "gemini-story", Window: 4032},
		"gpt":    {Backend: "gpt", Kind: "openai", Address: gpt.URL, Model: "fake", Window: 4096},
	} {
		model, err := set.Generator(name)
		if err != nil {
			t.Fatal(err)
		}
		id, err := model.Window(t.Context())
		id.Tokenizer = ""
		if err != nil || id != want {
			t.Errorf("the identity is %+v, %v; want %+v", id, err, want)
		}
		if got := answerOf(t, model, llm.Request{Prompt: "夜", Sampling: llm.Sampling{MaxTokens: 3}}); got != "糸は夜" {
			t.Errorf("the answer of %s is %q", name, got)
		}
	}
	for name, want := range map[string]bool{"gpt": true, "toolless": false, "vllm": false, "tools": true, "google": true, "untooled": false} {
		model, err := set.Generator(name)
		if err != nil {
			t.Fatal(err)
		}
		if got := model.(llm.Teller).Tells().Tools; got != want {
			t.Errorf("that %s takes tools is told as %v", name, got)
		}
	}
}
