package story_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"github.com/tsumugi-dev/tsumugi/services/internal/llm/tokenizer"
	"github.com/tsumugi-dev/tsumugi/services/internal/testkit"
	"github.com/tsumugi-dev/tsumugi/services/promptbuilder/internal/fit"
	"github.com/tsumugi-dev/tsumugi/services/promptbuilder/internal/story"
)

// first is the first n characters of a text.
func first(text string, n int) string {
	all := []rune(text)
	return string(all[:min(n, len(all))])
}

// englishProse is as many characters of English, in paragraphs of uneven length.
func englishProse(n int) string {
	sentences := []string{
		"The harbour lay under a slow rain, and nobody came down the steps. ", "She folded the old umbrella and looked up at the light. ",
		"\"You aren't going home yet?\" a voice behind her asked. ", "In the winter of 2026 everybody in the town knew about it. ",
		"But the letter said nothing; it was a blank sheet of paper. ", "No. ", "By the morning all of this would be gone, he thought. ",
	}
	rnd := rand.New(rand.NewPCG(7, 7))
	var b strings.Builder
	for b.Len() < n {
		for range 1 + rnd.IntN(6) {
			b.WriteString(sentences[rnd.IntN(len(sentences))])
		}
		b.WriteByte('\n')
	}
	return b.String()[:n]
}

// textsToFit are the texts of field/wannabe.md 5.
func textsToFit(novel string) map[string]string {
	english := englishProse(144_000)
	return map[string]string{
		"20k of Japanese": first(novel, 20_000), "160k of Japanese": novel, "480k of Japanese": novel + novel + novel, "144k of English": english,
		"English head, Japanese tail": english[:100_000] + first(novel, 44_000), "Japanese head, English tail": first(novel, 100_000) + "\n" + english[:44_000],
	}
}

// TestFewCounts holds the figures of field/wannabe.md 5 with real vocabularies, and that the next build of a text that grew
// by a turn is cheaper than the first.
func TestFewCounts(t *testing.T) {
	t.Parallel()
	file, err := os.ReadFile(testkit.Shared(t, "text/kokoro.txt"))
	if err != nil {
		t.Fatal(err)
	}
	novel := string(file)
	for _, name := range []string{"o200k_base", "cl100k_base"} {
		vocabulary, err := tokenizer.OpenAI(name)
		if err != nil {
			t.Fatal(err)
		}
		for kind, text := range textsToFit(novel) {
			for _, blind := range []bool{true, false} {
				for _, slack := range []int{0, 25} {
					t.Run(fmt.Sprint(name, "/", kind, "/blind=", blind, "/slack=", slack), func(t *testing.T) {
						t.Parallel()
						text := text
						s := &server{window: 8192, blind: blind, vocabulary: vocabulary}
						b := builder(s)
						for turn := range 4 {
							p, err := b.Build(t.Context(), story.Request{Body: text, Slack: &slack})
							if err != nil {
								t.Fatal(err)
							}
							most := map[bool]map[bool]int{true: {true: 5, false: 2}, false: {true: 4, false: 4}}[blind][turn == 0]
							least := 97 - slack
							if p.Counts > most || p.Tokens > p.Limit || p.Tokens*100 < p.Limit*least {
								t.Errorf("turn %d: %d counts, %d of %d tokens; want at most %d counts and %d %% used", turn, p.Counts, p.Tokens, p.Limit, most, least)
							}
							if got := vocabulary.Count(p.Text, tokenizer.Prompt); got != p.Tokens {
								t.Errorf("turn %d: %d tokens told, %d in the prompt", turn, p.Tokens, got)
							}
							text += first(novel[turn*9000:], 300) + "\n"
						}
					})
				}
			}
		}
	}
}

// TestBordersSettleIt: where token borders are known, at most four counts find a cut at every granularity, the same one
// whether lines are remembered or not, and one between characters uses nearly all of the limit.
func TestBordersSettleIt(t *testing.T) {
	t.Parallel()
	file, err := os.ReadFile(testkit.Shared(t, "text/kokoro.txt"))
	if err != nil {
		t.Fatal(err)
	}
	novel := []rune(string(file))
	vocabulary, err := tokenizer.OpenAI("o200k_base")
	if err != nil {
		t.Fatal(err)
	}
	for finest, used := range map[fit.Place]int{fit.Line: 980, fit.Sentence: 980, fit.Character: 998} {
		rnd := rand.New(rand.NewPCG(3, 5))
		warm := builder(&server{window: 4096, vocabulary: vocabulary})
		for i := range 24 {
			at := rnd.IntN(len(novel) - 40_000)
			text := string(novel[at : at+40_000])
			switch i % 3 {
			case 1:
				text = englishProse(50_000) + text
			case 2:
				text += englishProse(5000 + rnd.IntN(20_000))
			}
			for turn := range 2 {
				r := story.Request{Body: text, Finest: finest, MaxTokens: []int{64, 250, 1000}[i/3%3]}
				p, got := build(t, &server{window: 4096, vocabulary: vocabulary}, r), buildWith(t, warm, r)
				if p.Digest != got.Digest {
					t.Errorf("%d, text %d, turn %d: %d tokens, and with what is remembered %d", finest, i, turn, p.Tokens, got.Tokens)
				}
				if p.Counts > 4 || got.Counts > 4 || p.Tokens*1000 < p.Limit*used {
					t.Errorf("%d, text %d, turn %d: %d of %d tokens after %d counts, %d with what is remembered", finest, i, turn, p.Tokens, p.Limit, p.Counts, got.Counts)
				}
				text += string(novel[at : at+400])
			}
		}
	}
}

// TestMemoryChangesNothing: a server that tells borders gets the same prompts whether lines are remembered or not; of one
// that only counts, the same request gets the same prompt again.
func TestMemoryChangesNothing(t *testing.T) {
	t.Parallel()
	text := body40(900)
	warm, blind := builder(runesOf(4096)), builder(&server{window: 4096, blind: true})
	for turn := range 20 {
		r := story.Request{Body: text}
		got, err := warm.Build(t.Context(), r)
		if err != nil {
			t.Fatal(err)
		}
		if fresh := build(t, runesOf(4096), r); fresh.Digest != got.Digest {
			t.Errorf("turn %d: what is remembered changes the prompt", turn)
		}
		one, err := blind.Build(t.Context(), r)
		if err != nil {
			t.Fatal(err)
		}
		two, err := blind.Build(t.Context(), r)
		if err != nil || two.Digest != one.Digest || two.Counts != 1 {
			t.Errorf("turn %d: the same request gives another prompt, or costs %d counts; error %v", turn, two.Counts, err)
		}
		text += fmt.Sprintf("%d番目の続き。%s\n", turn, strings.Repeat("い", turn*7%40))
	}
}
