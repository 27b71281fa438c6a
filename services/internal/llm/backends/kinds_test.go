package backends_test

import (
	"errors"
	"io"
	"testing"

	"github.com/tsumugi-dev/tsumugi/services/internal/llm"
	"github.com/tsumugi-dev/tsumugi/services/internal/llm/backends"
	"github.com/tsumugi-dev/tsumugi/services/internal/llm/koboldcpp/koboldcpptest"
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

// What a backends file says arrives at the server of each kind.
func TestKindsArrive(t *testing.T) {
	t.Setenv("TEST_KEY", "hush")
	kobold := koboldcpptest.New(t, koboldcpptest.Options{Password: "hush", Window: 512})
	vllm := openaitest.New(t, openaitest.Options{Program: openaitest.VLLM, APIKey: "hush", Models: []string{"m1", "m2"}, Around: 9})
	gpt := openaitest.New(t, openaitest.Options{APIKey: "hush"})
	set, err := backends.Parse([]byte(`
default: kobold
backends:
  kobold: {kind: koboldcpp, address: ` + kobold.URL + `/, api_key_env: TEST_KEY}
  vllm: {kind: openai, server: vllm, api: chat, model: m2, window: 3000, address: ` + vllm.URL + `/v1/, api_key_env: TEST_KEY}
  gpt: {kind: openai, tokenizer: r50k_base, window: 4096, address: ` + gpt.URL + `, api_key_env: TEST_KEY}
`))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = set.Close() })
	for name, want := range map[string]llm.Identity{
		"kobold": {Backend: "kobold", Kind: "koboldcpp", Address: kobold.URL, Model: "koboldcpp/fake", Window: 512},
		"vllm":   {Backend: "vllm", Kind: "openai", Address: vllm.URL, Model: "m2", Window: 2991},
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
}
