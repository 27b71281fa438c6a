package backends_test

import (
	"errors"
	"io"
	"testing"

	"github.com/tsumugi-dev/tsumugi/services/internal/llm"
	"github.com/tsumugi-dev/tsumugi/services/internal/llm/backends"
	"github.com/tsumugi-dev/tsumugi/services/internal/llm/koboldcpp/koboldcpptest"
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
	t.Setenv("TEST_KOBOLD_PASSWORD", "hush")
	kobold := koboldcpptest.New(t, koboldcpptest.Options{Password: "hush", Window: 512})
	set, err := backends.Parse([]byte("backends: {a: {kind: koboldcpp, address: '" + kobold.URL + "/', api_key_env: TEST_KOBOLD_PASSWORD}}"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = set.Close() })
	model, err := set.Generator("a")
	if err != nil {
		t.Fatal(err)
	}
	id, err := model.Window(t.Context())
	id.Tokenizer = ""
	if want := (llm.Identity{Backend: "a", Kind: "koboldcpp", Address: kobold.URL, Model: "koboldcpp/fake", Window: 512}); err != nil || id != want {
		t.Errorf("the identity is %+v, %v; want %+v", id, err, want)
	}
	if got := answerOf(t, model, llm.Request{Prompt: "夜", Sampling: llm.Sampling{MaxTokens: 3}}); got != "糸は夜" {
		t.Errorf("the answer is %q", got)
	}
}
