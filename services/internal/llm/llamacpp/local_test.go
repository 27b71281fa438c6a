package llamacpp_test

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tsumugi-dev/tsumugi/services/internal/llm"
	"github.com/tsumugi-dev/tsumugi/services/internal/llm/conformance"
	"github.com/tsumugi-dev/tsumugi/services/internal/llm/llamacpp"
	"github.com/tsumugi-dev/tsumugi/services/internal/llm/tokenizer"
	"github.com/tsumugi-dev/tsumugi/services/internal/llm/wire"
	"github.com/tsumugi-dev/tsumugi/services/internal/testkit"
)

// own is a client of a real server that counts with the vocabulary in a model's file.
func own(t *testing.T, server, vocabulary string) *llamacpp.Client {
	t.Helper()
	address := testkit.Model(t, server)
	v, err := tokenizer.Open(filepath.Join(testkit.ModelDir(t), vocabulary+".gguf"))
	if err != nil {
		t.Fatal(err)
	}
	return llamacpp.New(llamacpp.Config{Endpoint: wire.Endpoint{Name: "own", Address: address, Timeouts: llm.DefaultTimeouts()}, Tokenizer: v})
}

// TestOwnVocabulary: a client that counts by itself is a backend like any other, on the real server.
func TestOwnVocabulary(t *testing.T) {
	c := own(t, "gemma", "gemma")
	if !c.CountsHere() {
		t.Error("it asks the server")
	}
	conformance.Run(t, conformance.Subject{Backend: c, Prompt: "むかしむかし、", NoTools: true})
}

// TestForeignVocabulary: the vocabulary of another model is noticed before anything is counted with it.
func TestForeignVocabulary(t *testing.T) {
	_, err := own(t, "gemma", "smollm2").Window(t.Context())
	var wrong *llm.Error
	if !errors.As(err, &wrong) || wrong.Fault != llm.FaultProtocol || !strings.Contains(err.Error(), "another model's") {
		t.Errorf("got %v", err)
	}
}
