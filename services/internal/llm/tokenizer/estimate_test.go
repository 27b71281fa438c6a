package tokenizer_test

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/tsumugi-dev/tsumugi/services/internal/llm/tokenizer"
)

// TestEstimate: no prose has more tokens than are estimated, in any of the vocabularies at hand.
func TestEstimate(t *testing.T) {
	t.Parallel()
	e := tokenizer.Estimate()
	if !e.Estimates() || e.Fingerprint() != tokenizer.Estimated || e.Size() != 0 {
		t.Errorf("%t %q %d", e.Estimates(), e.Fingerprint(), e.Size())
	}
	prose := []string{
		"夜の港に、雨が静かに降っていた。彼女は古い傘をたたみ、灯台の光を見上げた。「まだ帰らないの」と、後ろから声がした。\n",
		"The harbour lay under a slow rain, and nobody came down the steps. She folded the old umbrella.\n",
		"祖母の話によれば、この井戸には底がないという。赤い提灯が風に揺れて、影が壁を這った……。\n",
	}
	for _, name := range []string{"o200k_base", "cl100k_base"} {
		v, err := tokenizer.OpenAI(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, text := range prose {
			text = strings.Repeat(text, 20)
			told, counted := e.Count(text, tokenizer.Prompt), v.Count(text, tokenizer.Prompt)
			if told < counted || told > 2*counted {
				t.Errorf("%s: %.20s... has %d tokens, estimated %d", name, text, counted, told)
			}
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.String().Draw(t, "text")
		bytes := 0
		lengths := e.Lengths(text, tokenizer.Prompt)
		for _, n := range lengths {
			if n < 0 {
				t.Fatalf("a length of %d", n)
			}
			bytes += n
		}
		if bytes != len(text) || len(lengths) != e.Count(text, tokenizer.Prompt) {
			t.Fatalf("%q: lengths %v", text, lengths)
		}
	})
}
