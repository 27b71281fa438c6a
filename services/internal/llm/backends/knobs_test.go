package backends_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/tsumugi-dev/tsumugi/services/internal/llm"
	"github.com/tsumugi-dev/tsumugi/services/internal/llm/backends"
	"github.com/tsumugi-dev/tsumugi/services/internal/testkit"
)

// columns are the kinds in the order of the table of docs/generation.md, as the backends file names them.
var columns = []string{
	"llamacpp", "koboldcpp", "ollama, model: m, tokenizer: GEMMA", "openai, tokenizer: r50k_base, window: 1024", "openai, server: vllm", "openai, server: llamacpp",
	"gemini, model: gemini-2.5-flash, api_key_env: GEMINI_KEY",
}

// TestTableOfKnobs: the table says of each knob exactly which kinds have it.
func TestTableOfKnobs(t *testing.T) {
	t.Setenv("GEMINI_KEY", "key")
	gemma, err := filepath.Abs("../tokenizer/testdata/gemma.json")
	if err != nil {
		t.Fatal(err)
	}
	file := "default: k0\nbackends:\n"
	for i, c := range columns {
		file += fmt.Sprintf("  k%d: {kind: %s, address: \"http://127.0.0.1:1\"}\n", i, strings.ReplaceAll(c, "GEMMA", gemma))
	}
	set, err := backends.Parse([]byte(file))
	if err != nil {
		t.Fatal(err)
	}
	has := map[llm.Knob]string{}
	for i := range columns {
		g, err := set.Generator(fmt.Sprintf("k%d", i))
		if err != nil {
			t.Fatal(err)
		}
		known := g.(llm.Sampler).Knobs()
		for _, k := range allKnobs() {
			if slices.Contains(known, k) {
				has[k] += " yes |"
			} else {
				has[k] += " |"
			}
		}
	}
	text, err := os.ReadFile(filepath.Join(testkit.Root(t), "docs", "generation.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(text), "## Sampling\n")
	section, _, _ = strings.Cut(section, "\n## ")
	rows := regexp.MustCompile("(?m)^\\| `([a-z_]+)` \\|[^|]*\\|(.*)$").FindAllStringSubmatch(section, -1)
	if len(rows) != len(allKnobs()) {
		t.Errorf("the table has %d rows, want one for each of %v", len(rows), allKnobs())
	}
	for _, row := range rows {
		if want := has[llm.Knob(row[1])]; row[2] != want {
			t.Errorf("%s:\n%s\nwant\n%s", row[1], row[2], want)
		}
	}
}

// allKnobs are those that a sampling sets that leaves nothing open.
func allKnobs() []llm.Knob {
	return llm.Knobs(llm.Sampling{
		Temperature: new(float64), TopK: new(int), TopP: new(float64), MinP: new(float64), TypicalP: new(float64), TopA: new(float64), TailFree: new(float64),
		RepeatPenalty: new(float64), RepeatRange: new(int), RepeatSlope: new(float64), PresencePenalty: new(float64), FrequencyPenalty: new(float64),
		DRY: &llm.DRY{}, XTC: &llm.XTC{}, Mirostat: &llm.Mirostat{}, DynamicTemperature: &llm.DynamicTemperature{}, Smoothing: &llm.Smoothing{},
		LogitBias: []llm.Bias{{}}, BanEOS: true, Grammar: "root ::= x", Seed: new(uint32),
	})
}
