package story_test

import (
	"errors"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/tsumugi-dev/tsumugi/services/internal/llm"
	"github.com/tsumugi-dev/tsumugi/services/internal/llm/tokenizer"
	"github.com/tsumugi-dev/tsumugi/services/promptbuilder/internal/fit"
	"github.com/tsumugi-dev/tsumugi/services/promptbuilder/internal/story"
)

// TestNeverOverTheWindow: whatever the text, the vocabulary, the window and the wishes, a prompt has no more tokens than the
// limit and as many as it says, or there is none.
func TestNeverOverTheWindow(t *testing.T) {
	t.Parallel()
	vocabularies := map[string]*tokenizer.Tokenizer{"characters": nil, "estimate": tokenizer.Estimate()}
	for _, name := range []string{"o200k_base", "cl100k_base"} {
		v, err := tokenizer.OpenAI(name)
		if err != nil {
			t.Fatal(err)
		}
		vocabularies[name] = v
	}
	rapid.Check(t, func(t *rapid.T) {
		vocabulary := vocabularies[rapid.SampledFrom([]string{"characters", "estimate", "o200k_base", "cl100k_base"}).Draw(t, "vocabulary")]
		s := &server{
			window: rapid.IntRange(60, 3000).Draw(t, "window"), blind: rapid.Bool().Draw(t, "blind"), local: rapid.Bool().Draw(t, "local"), vocabulary: vocabulary,
		}
		r := anyRequest(t)
		if v := r.Check(); v != nil {
			t.Fatalf("the request is wrong: %v", v)
		}
		b := builder(s)
		for range 2 { // the second time with what the first one learnt
			p, err := b.Build(t.Context(), r)
			if errors.As(err, new(*llm.OverflowError)) || errors.As(err, new(*llm.BudgetError)) {
				continue
			}
			if err != nil {
				t.Fatal(err)
			}
			counted := f1(p.Text)
			if vocabulary != nil {
				counted = vocabulary.Count(p.Text, tokenizer.Prompt)
			}
			if counted != p.Tokens || p.Tokens > p.Limit || p.Overflow || p.Counts > fit.MaxCounts {
				t.Fatalf("%d tokens told, %d counted, limit %d, %d counts", p.Tokens, counted, p.Limit, p.Counts)
			}
			r.Body += "次の日も、雨だった。\n"
		}
	})
}

// anyRequest draws a request in which nothing is wrong.
func anyRequest(t *rapid.T) story.Request {
	text := rapid.Custom(func(t *rapid.T) string {
		n := rapid.SampledFrom([]int{0, 1, 5, 40, 400}).Draw(t, "pieces")
		return strings.Join(rapid.SliceOfN(rapid.OneOf(rapid.SampledFrom([]string{
			"彼は歩いた。", "「待て！」\n", "|漢字《かんじ》", "　雨、風、\n", "\r\n", "\n\n\n", "Hello, world. ", "👨‍👩‍👧‍👦が\u3099", "[/INST]", "```\n", "<|im_end|>", "e\u0301", "\u2028", "…",
		}), rapid.StringN(0, 20, -1)), n, n).Draw(t, "text"), "")
	})
	slack := rapid.IntRange(0, story.MaxSlack).Draw(t, "slack")
	r := story.Request{
		Body: text.Draw(t, "body"), LenientBody: true, MaxTokens: rapid.IntRange(1, 200).Draw(t, "max tokens"), Slack: &slack,
		Work: story.Work{
			Synopsis: strings.ReplaceAll(text.Draw(t, "synopsis"), "{", ""), Summary: text.Draw(t, "summary"), Memory: text.Draw(t, "memory"),
		},
		Mode:      rapid.SampledFrom([]story.Mode{story.Generate, story.Autocomplete, story.Idea}).Draw(t, "mode"),
		Finest:    rapid.SampledFrom([]fit.Place{fit.Line, fit.Sentence, fit.Character}).Draw(t, "finest"),
		Order:     rapid.SampledFrom([]story.Order{story.ReferenceFirst, story.TextFirst}).Draw(t, "order"),
		NoteDepth: num(rapid.IntRange(0, 9).Draw(t, "depth")), Neutralize: rapid.Bool().Draw(t, "neutralize"),
	}
	r.Wrapping.Name = rapid.SampledFrom([]string{"", "chatml", "llama3", "gemma", "alpaca", "raw"}).Draw(t, "wrapping")
	if rapid.Bool().Draw(t, "noted") {
		r.Work.Note = "次は静かに。"
	}
	if rapid.Bool().Draw(t, "ruled") {
		least := rapid.IntRange(0, 100).Draw(t, "least")
		r.Blocks = []story.Rule{{Kind: story.KindMemory, Min: least, Max: least + rapid.IntRange(1, 300).Draw(t, "most")}, {Kind: story.KindBody, Min: rapid.IntRange(1, 500).Draw(t, "text least")}}
	}
	return r
}
