package tokenizer_test

import (
	"bytes"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/tsumugi-dev/tsumugi/services/internal/llm/tokenizer"
	"github.com/tsumugi-dev/tsumugi/services/internal/localmodel"
	"github.com/tsumugi-dev/tsumugi/services/internal/testkit"
)

// TestRealServer: the .gguf files of the small models give the ids that a real llama.cpp server gives.
func TestRealServer(t *testing.T) {
	t.Parallel()
	all := append(randoms(2000), texts...)
	if novel, err := os.ReadFile(testkit.Shared(t, "text/kokoro.txt")); err == nil {
		all = append(all, string(novel))
	}
	for _, name := range localmodel.Models() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			address := testkit.Model(t, name)
			ours, err := tokenizer.Open(filepath.Join(testkit.ModelDir(t), name+".gguf"))
			if err != nil {
				t.Fatal(err)
			}
			for _, control := range []bool{true, false} {
				for _, text := range all {
					want := ask(t, address, text, control)
					got := ours.Append(nil, text, tokenizer.Options{Around: true, Control: control})
					if !slices.Equal(got, want) {
						t.Fatalf("%.200q: got %v, want %v", text, got[:min(len(got), 60)], want[:min(len(want), 60)])
					}
				}
			}
		})
	}
}

func ask(t *testing.T, address, text string, control bool) []int32 {
	t.Helper()
	body, err := json.Marshal(map[string]any{"content": text, "add_special": true, "parse_special": control})
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.Post(address+"/tokenize", "application/json", bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var answer struct {
		Tokens []int32 `json:"tokens"`
	}
	if err := json.NewDecoder(resp.Body).Decode(&answer); err != nil {
		t.Fatal(err)
	}
	return answer.Tokens
}
